package cluster_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/cluster/memlog"
	"github.com/copilot-portal/portal/copilot/store"
)

func TestOneNodeAcquiresASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, c := trio(t)
		require.NoError(t, a.create(t, "s", 5).Release(t.Context()))
		settle()
		var work sync.WaitGroup
		won := make(chan *store.Lease, 12)
		for _, m := range []*member{a, b, c, a, b, c} {
			work.Go(func() {
				if l, err := m.Store.Acquire(t.Context(), "s"); err == nil {
					won <- l
				}
			})
		}
		work.Wait()
		require.Len(t, won, 1)
		require.EqualValues(t, 2, (<-won).Epoch())
		settle()
		same(t, a, b, c)
	})
}

func TestAcquiringAndDeletingAtTheSameTimeHasOneWinner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, c := trio(t)
		a.create(t, "other", 1)
		for range 20 {
			require.NoError(t, a.create(t, "s", 5).Release(t.Context()))
			settle()
			a.gate(func(_ context.Context, o memlog.Operation) (any, error) {
				if o.Name == "Append" { // so that both are on their way
					time.Sleep(10 * time.Millisecond)
				}
				return o.Run()
			})
			var work sync.WaitGroup
			var acquired, deleted error
			var l *store.Lease
			work.Go(func() { l, acquired = a.Store.Acquire(t.Context(), "s") })
			work.Go(func() { deleted = a.Store.Delete(t.Context(), "s") })
			work.Wait()
			a.gate(nil)
			require.NotEqual(t, acquired == nil, deleted == nil, "%v, %v", acquired, deleted)
			settle()
			same(t, a, b, c)
			if acquired == nil {
				require.NoError(t, l.Release(t.Context()))
				require.NoError(t, a.Store.Delete(t.Context(), "s"))
			}
			settle()
		}
	})
}

func TestSessionOfALiveMemberIsNotAcquired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, a, _, _ := trio(t)
		a.create(t, "s", 5)
		settle()
		d := connect(t, server, "d", t.TempDir())
		d.gate(func(ctx context.Context, o memlog.Operation) (any, error) {
			if o.Name == "Watch" { // it has not heard a yet
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return o.Run()
		})
		d.start(t)
		settle()
		require.True(t, d.IsMember(a.Store.Name()))
		var held *store.InUseError
		_, err := d.Store.Acquire(t.Context(), "s")
		require.ErrorAs(t, err, &held)
	})
}

func TestNodeThatHearsNobodyTakesNobodyForGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, _ := trio(t)
		a.create(t, "s", 5)
		settle()
		b.gate(func(ctx context.Context, o memlog.Operation) (any, error) {
			if o.Name == "Watch" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return o.Run()
		})
		time.Sleep(10 * time.Second)
		var held *store.InUseError
		_, err := b.Store.Acquire(t.Context(), "s")
		require.ErrorAs(t, err, &held)
	})
}

func TestLostSessionIsKeptAsABranch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, c := trio(t)
		l := a.create(t, "s", 5)
		settle()
		a.silence()
		require.Error(t, a.Accepting())
		fill(t, a.Store, l, 6, 9)
		require.NoError(t, l.Index(store.Text{Number: 9, Kind: "prompt", Body: "alone"}))
		require.NoError(t, l.Update(store.Session{Title: "title of a"}))
		require.NoError(t, a.Store.Flush(t.Context()))
		require.NoError(t, l.Append(entry(10))) // not stored yet
		taken, err := b.Store.Acquire(t.Context(), "s")
		require.NoError(t, err)
		require.EqualValues(t, 2, taken.Epoch())
		fill(t, b.Store, taken, 6, 7)
		a.gate(nil)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.NoError(t, a.Accepting())
		require.True(t, l.IsLost())
		require.ErrorIs(t, l.Append(entry(11)), store.ErrLost)
		same(t, a, b, c)
		require.Equal(t, upTo(7), a.record(t, "s"))
		page, err := c.Store.List(t.Context(), store.Cursor{}, 10)
		require.NoError(t, err)
		require.Len(t, page, 2)
		for _, head := range page {
			if head.ID == "s" {
				require.Equal(t, "title of s", head.Title, "what a said of it alone is in the branch")
				continue
			}
			require.Equal(t, "title of a (branch of a)", head.Title)
			require.True(t, head.Closed)
			require.Equal(t, upTo(10), c.record(t, head.ID))
			require.Zero(t, head.Owner)
		}
		found, err := c.Store.Search(t.Context(), "alone", 10)
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.NotEqual(t, "s", found[0].Session)
	})
}

func TestConflictThatIsReportedLateDoesNotBlockTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, c := trio(t)
		l := a.create(t, "s", 5)
		settle()
		a.gate(func(_ context.Context, o memlog.Operation) (any, error) {
			switch o.Name {
			case "Announce": // the others take a for dead
				return nil, errLog
			case "Append": // the claim of b comes first, and is applied at a before a knows that it was late
				time.Sleep(4 * time.Second)
				v, err := o.Run()
				time.Sleep(time.Second)
				return v, err
			}
			return o.Run()
		})
		time.Sleep(time.Second)
		fill(t, a.Store, l, 6, 6)
		time.Sleep(2 * time.Second)
		taken, err := b.Store.Acquire(t.Context(), "s")
		require.NoError(t, err)
		require.NoError(t, taken.Release(t.Context()))
		time.Sleep(10 * time.Second)
		require.True(t, l.IsLost())
		a.gate(nil)
		time.Sleep(10 * time.Second)
		_, err = a.Store.Acquire(t.Context(), "s")
		require.NoError(t, err)
		settle()
		require.Zero(t, a.Status().Waiting)
		same(t, a, b, c)
	})
}

func TestLostAnswersDoNotBlockTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, c := trio(t)
		l := a.create(t, "s", 5)
		settle()
		var n atomic.Int32
		a.gate(func(_ context.Context, o memlog.Operation) (any, error) {
			v, err := o.Run()
			if o.Name == "Append" && n.Add(1)%2 == 0 {
				time.Sleep(200 * time.Millisecond) // the message comes back first
				return nil, errLog
			}
			return v, err
		})
		for i := uint64(0); i < 10; i++ {
			fill(t, a.Store, l, 6+2*i, 7+2*i)
			settle()
		}
		a.gate(nil)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Zero(t, a.Status().Waiting)
		require.False(t, l.IsLost())
		require.Equal(t, upTo(25), b.record(t, "s"))
		same(t, a, b, c)
	})
}

func TestClaimWithoutAnswerDoesNotBlockTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, c := trio(t)
		require.NoError(t, a.create(t, "s", 5).Release(t.Context()))
		settle()
		b.gate(func(_ context.Context, o memlog.Operation) (any, error) {
			v, err := o.Run()
			if o.Name == "Append" {
				return nil, errLog
			}
			return v, err
		})
		_, err := b.Store.Acquire(t.Context(), "s")
		require.ErrorIs(t, err, errLog)
		b.gate(nil)
		settle()
		var held *store.InUseError
		_, err = a.Store.Acquire(t.Context(), "s")
		require.ErrorAs(t, err, &held, "b may believe that it has it")
		l, err := b.Store.Acquire(t.Context(), "s")
		require.NoError(t, err)
		require.EqualValues(t, 3, l.Epoch())
		settle()
		same(t, a, b, c)
	})
}

// TestRestartAfterACrash kills a node while each of its appends waits, has happened without an answer, or has been answered.
func TestRestartAfterACrash(t *testing.T) {
	for _, at := range []string{"before the append", "before the answer", "between claim and transaction"} {
		t.Run(at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, a, b, c := trio(t)
				l := a.create(t, "s", 5)
				if at == "between claim and transaction" {
					require.NoError(t, l.Release(t.Context()))
				}
				settle()
				hung := make(chan struct{}, 10)
				a.gate(func(ctx context.Context, o memlog.Operation) (any, error) {
					if o.Name != "Append" {
						return o.Run()
					}
					if at != "before the append" {
						_, _ = o.Run()
					}
					hung <- struct{}{}
					<-ctx.Done()
					return nil, ctx.Err()
				})
				acquired := make(chan error, 1)
				if at == "between claim and transaction" {
					go func() { _, err := a.Store.Acquire(t.Context(), "s"); acquired <- err }()
				} else {
					fill(t, a.Store, l, 6, 8)
					close(acquired)
				}
				<-hung
				a.stop(true)
				<-acquired
				a = join(t, server, "a", a.directory)
				settle()
				require.Zero(t, a.Status().Waiting)
				taken, err := a.Store.Acquire(t.Context(), "s")
				require.NoError(t, err)
				last := taken.Stored()
				fill(t, a.Store, taken, last+1, last+2)
				settle()
				same(t, a, b, c)
				if at == "between claim and transaction" {
					require.Equal(t, upTo(7), c.record(t, "s"))
				} else {
					require.Equal(t, upTo(10), c.record(t, "s"))
				}
				page, err := c.Store.List(t.Context(), store.Cursor{}, 10)
				require.NoError(t, err)
				require.Len(t, page, 1, "nothing is branched")
			})
		})
	}
}

func TestOneNodeAdoptsAnActivity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, c := trio(t)
		require.NoError(t, a.Store.Begin(t.Context(), store.Activity{Kind: "job", ID: "j", Head: []byte("head")}))
		_, err := a.Store.AppendActivity(t.Context(), store.Activity{Kind: "job", ID: "j"}, []byte("one"))
		require.NoError(t, err)
		settle()
		a.silence()
		_, err = a.Store.AppendActivity(t.Context(), store.Activity{Kind: "job", ID: "j", Head: []byte("alone"), Done: true}, []byte("lost"))
		require.NoError(t, err)
		var work sync.WaitGroup
		var mu sync.Mutex
		adopted := 0
		for _, m := range []*member{b, c, b, c} {
			work.Go(func() {
				list, err := m.Store.Adopt(t.Context(), "job")
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					adopted += len(list)
				}
			})
		}
		work.Wait()
		require.Equal(t, 1, adopted)
		a.gate(nil)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		_, err = a.Store.AppendActivity(t.Context(), store.Activity{Kind: "job", ID: "j"}, []byte("late"))
		require.ErrorIs(t, err, store.ErrLost)
		same(t, a, b, c)
	})
}

func TestRemovalReachesAllNodesAndTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, a, b, c := trio(t)
		l := a.create(t, "s", 5)
		require.NoError(t, l.Position("page", 3))
		require.NoError(t, l.Release(t.Context()))
		a.create(t, "other", 1)
		require.NoError(t, a.Store.Begin(t.Context(), store.Activity{Kind: "job", ID: "j"}))
		_, err := a.Store.AppendActivity(t.Context(), store.Activity{Kind: "job", ID: "j", Done: true}, []byte("one"))
		require.NoError(t, err)
		settle()
		require.NoError(t, b.Store.Delete(t.Context(), "s"))
		ids, err := c.Store.DeleteDone(t.Context(), "job", time.Now().Add(time.Hour))
		require.NoError(t, err)
		require.Equal(t, []string{"j"}, ids)
		settle()
		same(t, a, b, c)
		_, err = a.Store.Session(t.Context(), "s")
		require.ErrorIs(t, err, store.ErrNotFound)
		_, err = a.Store.Activity(t.Context(), "job", "j")
		require.ErrorIs(t, err, store.ErrNotFound)
		left := map[string]int{}
		for _, m := range server.Messages() {
			left[m.Subject]++
		}
		require.Equal(t, 1, left["session/s"], "only the removal")
		require.Equal(t, 1, left["job/j"])
		require.Zero(t, left["position/s/page"])
		require.NotZero(t, left["session/other"])
		d := join(t, server, "d", t.TempDir())
		settle()
		same(t, a, d)
	})
}

func TestRetentionGoesOnAfterWhatCannotBeShipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, _ := trio(t)
		a.gate(func(_ context.Context, o memlog.Operation) (any, error) {
			if o.Name == "Append" && strings.HasSuffix(o.Subject, "/stuck") {
				return nil, errLog
			}
			return o.Run()
		})
		for _, id := range []string{"stuck", "old"} {
			l, err := a.Store.Create(t.Context(), store.Session{ID: id, Title: id})
			require.NoError(t, err)
			require.NoError(t, l.Release(t.Context()))
			require.NoError(t, a.Store.Begin(t.Context(), store.Activity{Kind: "job", ID: id, Done: true}))
			settle()
		}
		time.Sleep(time.Hour)
		deleted, err := a.Store.DeleteExpired(t.Context(), time.Minute, 0)
		require.NoError(t, err)
		require.Equal(t, []store.Deleted{{ID: "old"}}, deleted)
		ids, err := a.Store.DeleteDone(t.Context(), "job", time.Now().Add(-time.Minute))
		require.NoError(t, err)
		require.Equal(t, []string{"old"}, ids)
		settle()
		_, err = b.Store.Session(t.Context(), "old")
		require.ErrorIs(t, err, store.ErrNotFound)
	})
}

func TestRetentionRemovesASessionOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, a, b, c := trio(t)
		for _, id := range []string{"s", "t", "u"} {
			require.NoError(t, a.create(t, id, 2).Release(t.Context()))
		}
		a.create(t, "held", 2)
		time.Sleep(time.Hour)
		var work sync.WaitGroup
		for _, m := range []*member{a, b, c} {
			work.Go(func() {
				if _, err := m.Store.DeleteExpired(t.Context(), time.Minute, 0); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		settle()
		same(t, a, b, c)
		page, err := c.Store.List(t.Context(), store.Cursor{}, 10)
		require.NoError(t, err)
		require.Len(t, page, 1)
		for _, m := range server.Messages() {
			if strings.HasPrefix(m.Subject, "session/") && m.Subject != "session/held" {
				require.Less(t, len(m.Data), 300, "only removals are left")
			}
		}
	})
}
