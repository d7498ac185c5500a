package session_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSimulatedSessionsKeepTheRules drives sessions with random clients, agents and stores, which fail,
// hang, die and answer late. It checks the rules after each step; see [checker]. PORTAL_SEED replays a seed;
// only the long run takes new ones.
func TestSimulatedSessionsKeepTheRules(t *testing.T) {
	t.Parallel()
	const steps = 2_000
	seeds, first := 150, uint64(1)
	if os.Getenv("PORTAL_SOAK") != "" {
		seeds, first = 50_000, rand.Uint64()>>1
	}
	if given := os.Getenv("PORTAL_SEED"); given != "" {
		seed, err := strconv.ParseUint(given, 10, 64)
		require.NoError(t, err)
		seeds, first = 1, seed
	}
	began, total := time.Now(), 0
	for i := range seeds {
		seed := first + uint64(i)
		n, err := simulate(seed, steps)
		total += n
		require.NoError(t, err, "replay with PORTAL_SEED=%d", seed)
	}
	t.Logf("%d seeds from %d, %d steps, %.0f steps/s", seeds, first, total, float64(total)/time.Since(began).Seconds())
}

// simulate drives one session through so many steps, and then to its end.
func simulate(seed uint64, steps int) (taken int, err error) {
	w := newWorld(rand.New(rand.NewPCG(seed, 0)))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("step %d: %v\n%s", taken, r, w.trace(traced()))
		}
	}()
	for ; taken < steps; taken++ {
		w.step()
	}
	w.settle()
	return taken, nil
}

// traced returns how many lines of a failed simulation are printed: PORTAL_TRACE, or 60.
func traced() int {
	if n, err := strconv.Atoi(os.Getenv("PORTAL_TRACE")); err == nil {
		return n
	}
	return 60
}
