package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSimulatedClusterKeepsTheRules drives a cluster of three nodes, with their stores, through random clients, crashes, restarts,
// partitions and failures of the log. It checks the rules with each message and, when everything works again, that
// all nodes have the same; see [checker]. PORTAL_SEED replays a seed; only
// the long run takes new ones.
func TestSimulatedClusterKeepsTheRules(t *testing.T) {
	const steps = 400
	const longest = 10 * time.Minute // of a machine's time
	seeds, first := 12, uint64(1)
	if os.Getenv("PORTAL_SOAK") != "" {
		seeds, first = 1000, rand.Uint64()>>1 // about a million steps
	}
	if given := os.Getenv("PORTAL_SEED"); given != "" {
		seed, err := strconv.ParseUint(given, 10, 64)
		require.NoError(t, err)
		seeds, first = 1, seed
	}
	began, total, messages, claims, branches := time.Now(), 0, 0, 0, 0
	done := 0
	for i := 0; i < seeds && time.Since(began) < longest; i++ {
		done++
		seed := first + uint64(i)
		directory := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(rand.New(rand.NewPCG(seed, 0)), directory)
			defer func() {
				if r := recover(); r != nil {
					w.abandon()
					t.Fatalf("replay with PORTAL_SEED=%d\nstep %d: %v\n%s", seed, w.steps, r, w.trace(traced()))
				}
			}()
			for range steps {
				w.step()
			}
			w.settle()
			total += w.steps
			messages, claims, branches = messages+w.check.messages, claims+w.check.claims, branches+w.check.branches
		})
		_ = os.RemoveAll(directory)
	}
	t.Logf("%d seeds from %d, %d steps, %d messages, %d claims, %d branches, %.0f steps/s", done, first, total, messages, claims, branches, float64(total)/time.Since(began).Seconds())
}

// traced returns how many lines of a failed simulation are printed: PORTAL_TRACE, or 60.
func traced() int {
	if n, err := strconv.Atoi(os.Getenv("PORTAL_TRACE")); err == nil {
		return n
	}
	return 60
}

func chance(rng *rand.Rand, percent int) bool { return rng.IntN(100) < percent }

func pick[T any](rng *rand.Rand, from []T) (one T) {
	if len(from) == 0 {
		return one
	}
	return from[rng.IntN(len(from))]
}

func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("unexpected: %v", err))
	}
}
