package cluster_test

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/cluster"
	"github.com/copilot-portal/portal/copilot/cluster/memlog"
	"github.com/copilot-portal/portal/copilot/ipc"
)

// serve lets a node answer calls, and counts them.
func (m *member) serve(t *testing.T, answer func(context.Context)) *atomic.Int32 {
	t.Helper()
	calls := &atomic.Int32{}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.Serve(ctx, func(ctx context.Context, path string, body []byte) (int, []byte) {
			calls.Add(1)
			answer(ctx)
			return http.StatusOK, []byte(`["` + path + `",` + string(body) + `]`)
		})
	}()
	t.Cleanup(func() { stop(); <-ended })
	synctest.Wait()
	return calls
}

func TestCallIsExecutedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, _ := trio(t)
		calls := b.serve(t, func(context.Context) { time.Sleep(time.Second) })
		a.gate(func(_ context.Context, o memlog.Operation) (any, error) {
			v, err := o.Run()
			if o.Name == "Request" {
				v, err = o.Run() // it comes twice, and the second answer counts
			}
			return v, err
		})
		status, answer, err := a.Call(t.Context(), b.Store.Name(), "/path", []byte(`"body"`))
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, `["/path","body"]`, string(answer))
		require.EqualValues(t, 1, calls.Load())
	})
}

func TestMemberSaysThatItDoesNotKnowACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, _ := trio(t)
		ctx, stop := context.WithCancel(t.Context())
		var work sync.WaitGroup
		work.Go(func() {
			b.Serve(ctx, func(context.Context, string, []byte) (int, []byte) {
				return http.StatusNotFound, []byte("404 page not found")
			})
		})
		defer work.Wait()
		defer stop()
		synctest.Wait()
		status, _, err := a.Call(t.Context(), b.Store.Name(), "/unknown", []byte("{}"))
		require.NoError(t, err)
		require.Equal(t, http.StatusNotFound, status)
		require.ErrorContains(t, cluster.Ask(t.Context(), a.Log, b.Store.Name(), "/unknown", true, nil), "does not know this call")
	})
}

func TestCallToASilentMemberEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, c := trio(t)
		ended := make(chan error, 1)
		b.serve(t, func(ctx context.Context) { <-ctx.Done(); ended <- ctx.Err() })
		require.ElementsMatch(t, []string{b.Store.Name(), c.Store.Name()}, a.Others())
		time.AfterFunc(time.Second, func() { b.gate(refuse) })
		_, _, err := a.Call(t.Context(), b.Store.Name(), "/path", []byte("{}"))
		require.ErrorIs(t, err, context.Canceled)
		require.False(t, a.IsMember(b.Store.Name()))
		require.Equal(t, []string{c.Store.Name()}, a.Others())
		_, _, err = a.Call(t.Context(), b.Store.Name(), "/path", []byte("{}"))
		require.ErrorIs(t, err, ipc.ErrUnreachable)
		_, _, err = a.Call(t.Context(), "unknown", "/path", []byte("{}"))
		require.ErrorIs(t, err, ipc.ErrUnreachable)
		time.Sleep(5 * time.Second)
		require.ErrorIs(t, <-ended, context.Canceled, "b does not hear the caller either")
	})
}

func TestMembersSayWhatTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, c := trio(t)
		list := a.Members()
		require.Len(t, list, 3)
		for i, m := range []*member{a, b, c} {
			require.Equal(t, m.Store.Name(), list[i].Process)
			require.Equal(t, 7, list[i].PID)
		}
		c.stop(false) // it says that it leaves
		synctest.Wait()
		require.False(t, a.IsMember(c.Store.Name()))
		require.Len(t, b.Members(), 2)
		require.NoError(t, a.Accepting())
		a.silence()
		require.Error(t, a.Accepting())
		require.False(t, a.Status().Connected)
	})
}

func TestCallsAreRememberedUntilNobodyRepeatsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := cluster.NewCalls()
		others := 0
		busy := func() { // others come and end at once
			for range 10_000 {
				others++
				end, _, _ := s.Begin(t.Context(), strconv.Itoa(others))
				end(nil)
			}
		}
		end, _, first := s.Begin(t.Context(), "slow")
		require.True(t, first)
		for range 3 {
			time.Sleep(time.Minute)
			busy()
			_, _, first = s.Begin(t.Context(), "slow")
			require.False(t, first, "it has not ended")
		}
		end([]byte("answer"))
		busy()
		_, wait, first := s.Begin(t.Context(), "slow")
		require.False(t, first, "it has just ended")
		require.Equal(t, "answer", string(wait()))
		time.Sleep(2 * time.Minute)
		busy()
		_, _, first = s.Begin(t.Context(), "slow")
		require.True(t, first, "it is forgotten")
	})
}

func TestNewestAnswersOfCallsAreKept(t *testing.T) {
	s := cluster.NewCalls()
	for i := range 20 {
		end, _, _ := s.Begin(t.Context(), strconv.Itoa(i))
		end(make([]byte, 1<<20))
	}
	for i, want := range map[int]int{0: 0, 3: 0, 4: 1 << 20, 19: 1 << 20} {
		_, wait, first := s.Begin(t.Context(), strconv.Itoa(i))
		require.False(t, first)
		require.Len(t, wait(), want, i)
	}
}
