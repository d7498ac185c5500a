package soak_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sample is what the portal uses at one time.
type sample struct {
	memory      int // resident, in MB
	goroutines  int
	descriptors int
	processes   int // started by it
	data        int // files in its data directory
	temporary   int // files in its directory of temporary files
}

// The tolerances at rest, compared with a portal that no client has used.
const (
	spareGoroutines  = 10
	spareDescriptors = 10
)

// resident finds the number in /proc/PID/status.
var resident = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

// sample measures the portal.
func (h *host) sample(t *testing.T) sample {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s := sample{processes: len(h.portal.Children()), data: len(files(h.portal.DataDir())), temporary: len(files(h.temp))}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.portal.PID))
	require.NoError(t, err)
	s.memory = number(resident, status) * 1024 / 1e6
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", h.portal.PID))
	require.NoError(t, err)
	s.descriptors = len(open)
	metrics, err := h.request(ctx, "GET", "/metrics", "")
	require.NoError(t, err)
	s.goroutines = number(regexp.MustCompile(`(?m)^go_goroutines (\d+)$`), metrics)
	return s
}

func number(pattern *regexp.Regexp, text []byte) int {
	m := pattern.FindSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(bytes.TrimSpace(m[1]))) // digits
	return n
}

// awaitRest waits until the portal uses as little as before the first client. It returns the last sample.
func (h *host) awaitRest(t *testing.T, fresh sample) (now sample) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		now = h.sample(t)
		if now.isAtRest(fresh) {
			return now
		}
		if !wait(ctx, 500*time.Millisecond) {
			_ = syscall.Kill(h.portal.PID, syscall.SIGQUIT) // logs where its goroutines are
			return now
		}
	}
}

func (s sample) isAtRest(fresh sample) bool {
	return s.processes == 0 && s.goroutines <= fresh.goroutines+spareGoroutines && s.descriptors <= fresh.descriptors+spareDescriptors
}
