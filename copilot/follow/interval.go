package follow

import (
	"context"
	"strconv"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
)

// maxInterval limits the interval that a client may ask for.
const maxInterval = time.Second

// ParseInterval parses the least time between two batches that a client asks for, in milliseconds; "" is 0. Its error is of kind
// [fault.Invalid].
func ParseInterval(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if d := time.Duration(n) * time.Millisecond; err == nil && d <= maxInterval {
		return d, nil
	}
	return 0, fault.Errorf(fault.Invalid, "the interval %.20q is not a number of milliseconds from 0 to %d", text, maxInterval.Milliseconds())
}

// PauseUntil waits until a time, or until ctx ends.
func PauseUntil(ctx context.Context, t time.Time) {
	d := time.Until(t)
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
