package jobs_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/jobs"
)

// tree returns a random work.
func tree(r *rand.Rand, depth int) string {
	kind := r.IntN(5)
	if depth == 0 {
		kind = 0
	}
	some := func() (list []string) {
		for range 1 + r.IntN(3) {
			list = append(list, tree(r, depth-1))
		}
		return list
	}
	switch kind {
	case 1:
		return seq(some()...)
	case 2:
		return par(some()...)
	case 3:
		condition := []string{
			"", fmt.Sprintf("preCondition: [%v, %s], ", r.IntN(2) == 0, tree(r, depth-1)),
			fmt.Sprintf("postCondition: [%v, %s], ", r.IntN(2) == 0, tree(r, depth-1)),
		}[r.IntN(3)]
		return "{kind: Loop, " + condition + "body: " + tree(r, depth-1) + ", maxIterations: " + fmt.Sprint(1+r.IntN(3)) + "}"
	case 4:
		return "{kind: Alt, condition: " + tree(r, depth-1) + ", trueWork: " + tree(r, depth-1) + ", falseWork: " + tree(r, depth-1) + "}"
	}
	return ref(string(rune('a' + r.IntN(4))))
}

// whims returns a script with random reactions.
func whims(r *rand.Rand) func(*fake.Turn) {
	var mu sync.Mutex
	return func(t *fake.Turn) {
		mu.Lock()
		what, long := r.IntN(20), r.IntN(3000)
		mu.Unlock()
		t.Wait(time.Duration(long) * time.Millisecond)
		switch what {
		case 0:
			crash(t)
		case 1:
			never(t)
		case 2, 3, 4:
			no(t)
		default:
			yes(t)
		}
	}
}

// TestAnyJobEndsWell checks that, whatever the tree and the agent, a job ends once, starts and ends its works in pairs
// (check), opens no session after a cancellation, and can be continued until it succeeds.
func TestAnyJobEndsWell(t *testing.T) {
	for seed := range uint64(24) {
		r := rand.New(rand.NewPCG(seed, 1))
		work := tree(r, 3)
		onMachine(t, fmt.Sprintf("seed %d", seed), func(m *machine) {
			p := m.portal(nil, withWork(work), nil)
			defer p.stop()
			m.agents.Script = whims(r)
			j := p.start("j")
			if seed%3 == 0 {
				time.Sleep(time.Duration(seed) * 200 * time.Millisecond)
				if err := j.Cancel(context.Background()); err != nil {
					require.ErrorIs(m.t, err, jobs.ErrJobClosed)
				}
				assert.Zero(m.t, p.openSessions())
				opened := m.agents.Count(fake.Open)
				wait(time.Hour)
				assert.Equal(m.t, opened, m.agents.Count(fake.Open))
			}
			all(m.t, j)
			for i := 0; i < 100 && j.Info().Status != jobs.Succeeded; i++ {
				j, _ = p.continueJob(j)
			}
			assert.Equal(m.t, jobs.Succeeded, j.Info().Status)
			assert.Zero(m.t, p.openSessions())
		})
	}
}
