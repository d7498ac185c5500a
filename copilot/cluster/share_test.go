package cluster_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/cluster"
	"github.com/copilot-portal/portal/copilot/cluster/memlog"
	"github.com/copilot-portal/portal/copilot/store"
)

func TestEverythingIsFoundOnAllNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, c := trio(t)
		l := a.create(t, "s", 30)
		require.NoError(t, l.Index(store.Text{Number: 30, Kind: "prompt", Body: "words to find"})) // after its entry was stored
		require.NoError(t, l.Update(store.Session{Title: "new title", Model: "model", Directory: "/project", Meta: []byte("new"), Pinned: true}))
		require.NoError(t, l.Position("page", 7))
		require.NoError(t, a.Store.SetPosition("s", "console", 9))
		require.NoError(t, a.Store.Admit(t.Context(), []byte("hash"), store.Visitor{User: "somebody", Until: time.Now().Add(time.Hour)}))
		added, err := a.Store.AddShare(t.Context(), store.Share{ID: "x", Session: "s", Hash: []byte("h"), Created: time.Now(), Expires: time.Now().Add(time.Hour)}, 5)
		require.NoError(t, err)
		require.True(t, added)
		require.NoError(t, a.Store.Begin(t.Context(), store.Activity{Kind: "job", ID: "j", Head: []byte("head")}, []byte("one")))
		last, err := a.Store.AppendActivity(t.Context(), store.Activity{Kind: "job", ID: "j"}, []byte("two"))
		require.NoError(t, err)
		require.EqualValues(t, 2, last)
		settle()
		same(t, a, b, c)
		found, err := c.Store.Search(t.Context(), "find", 10)
		require.NoError(t, err)
		require.Len(t, found, 1)
		head, err := c.Store.Session(t.Context(), "s")
		require.NoError(t, err)
		require.Equal(t, a.Store.Name(), head.OwnerName, "a live member holds it")
		require.Equal(t, "new title", head.Title)
		require.EqualValues(t, 1, head.Epoch)
		require.Equal(t, upTo(30), c.record(t, "s"))
		require.Contains(t, <-b.changed, "s")
		positions, err := b.Store.Positions(t.Context(), "s")
		require.NoError(t, err)
		require.Equal(t, map[string]uint64{"page": 7, "console": 9}, positions)
		visitor, err := b.Store.Admitted(t.Context(), []byte("hash"))
		require.NoError(t, err)
		require.Equal(t, "somebody", visitor.User)
		lines, err := b.Store.Lines(t.Context(), "job", "j", 0, 0)
		require.NoError(t, err)
		require.Equal(t, [][]byte{[]byte("one"), []byte("two")}, lines)
	})
}

func TestSearchFindsTheSameOnAllNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, _ := trio(t)
		l := a.create(t, "s", 1)
		require.NoError(t, l.Index(store.Text{Number: 1, Kind: "prompt", Body: "a \x02marked\x03 text\x00 to find\xff"}))
		require.NoError(t, a.Store.Flush(t.Context()))
		settle()
		want, err := a.Store.Search(t.Context(), "find", 10)
		require.NoError(t, err)
		require.Len(t, want, 1)
		found, err := b.Store.Search(t.Context(), "find", 10)
		require.NoError(t, err)
		require.Equal(t, want, found)
		same(t, a, b)
	})
}

func TestPositionThatOtherNodesCannotKnowIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, _ := trio(t)
		a.create(t, "s", 1)
		settle()
		require.NoError(t, a.Store.SharePosition(t.Context(), "s", "live", 1))
		a.gate(refuse)
		require.Error(t, a.Store.SharePosition(t.Context(), "s", "live", 2))
		positions, err := b.Store.Positions(t.Context(), "s")
		require.NoError(t, err)
		require.Equal(t, map[string]uint64{"live": 1}, positions)
	})
}

// The client's next request may reach any node.
func TestNewActivityAndSessionAreKnownEverywhereAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, _ := trio(t)
		a.gate(func(_ context.Context, o memlog.Operation) (any, error) {
			if o.Name == "Append" {
				time.Sleep(100 * time.Millisecond)
			}
			return o.Run()
		})
		require.NoError(t, a.Store.Begin(t.Context(), store.Activity{Kind: "operation", ID: "o", Head: []byte("{}")}))
		_, err := b.Store.Activity(t.Context(), "operation", "o")
		require.NoError(t, err)
		a.create(t, "s", 1)
		require.NoError(t, a.Store.Flush(t.Context()))
		require.NoError(t, a.Store.AwaitShared(t.Context(), "s"))
		_, err = b.Store.Session(t.Context(), "s")
		require.NoError(t, err)
	})
}

// A server that starts may answer before it has found the messages.
func TestNodeAsksAgainWhenTheLogSeemsEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, a, b, _ := trio(t)
		a.create(t, "s", 1)
		settle()
		var asked atomic.Int32
		b.gate(func(_ context.Context, o memlog.Operation) (any, error) {
			switch {
			case o.Name == "Read": // b lags
				time.Sleep(50 * time.Millisecond)
			case o.Name == "Last" && asked.Add(1) == 1:
				return uint64(0), nil
			}
			return o.Run()
		})
		a.create(t, "t", 1)
		require.NoError(t, a.Store.Flush(t.Context()))
		require.NoError(t, a.Store.AwaitShared(t.Context(), "t"))
		require.NoError(t, b.CatchUp(t.Context()))
		require.True(t, b.HasApplied(server.Last()))
	})
}

// A server may hand a message over before the one that leads has stored it, so another node that asks for the newest one misses it.
func TestPositionIsSharedOnceTheLogConfirmsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, _, _ := trio(t)
		a.create(t, "s", 1)
		settle()
		a.gate(func(_ context.Context, o memlog.Operation) (any, error) {
			sequence, err := o.Run()
			if o.Name == "Append" {
				time.Sleep(time.Second)
			}
			return sequence, err
		})
		began := time.Now()
		require.NoError(t, a.Store.SharePosition(t.Context(), "s", "live", 1))
		require.GreaterOrEqual(t, time.Since(began), time.Second)
	})
}

func TestDroppedEntriesAreDroppedOnAllNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, c := trio(t)
		l := a.create(t, "s", 20)
		settle()
		require.NoError(t, l.Drop(store.Span{First: 3, Last: 9}))
		require.NoError(t, l.Merge())
		require.NoError(t, a.Store.Flush(t.Context()))
		settle()
		require.Len(t, a.record(t, "s"), 13)
		require.Len(t, b.record(t, "s"), 20, "readers there still need them")
		time.Sleep(2 * time.Minute)
		settle()
		for _, m := range []*member{a, b, c} {
			require.Len(t, m.record(t, "s"), 13)
		}
	})
}

func TestLargePartsAreObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, a, b, _ := trio(t)
		l := a.create(t, "s", 1)
		large := bytes.Repeat([]byte("0123456789"), 30_000)
		require.NoError(t, l.Append(store.Entry{Number: 2, Data: []byte("small"), Payload: large}))
		require.NoError(t, l.Append(store.Entry{Number: 3, Data: large[:200_000], Payload: large}))
		require.NoError(t, a.Store.Flush(t.Context()))
		settle()
		entries, err := b.Store.Read(t.Context(), "s", 1, 0)
		require.NoError(t, err)
		require.Equal(t, []store.Entry{{Number: 2, Data: []byte("small"), Payload: large}, {Number: 3, Data: large[:200_000], Payload: large}}, entries)
		require.Equal(t, 2, server.Objects(), "equal parts are one object")
		for _, m := range server.Messages() {
			require.Less(t, len(m.Data), 512<<10)
		}
	})
}

func TestObjectsThatNobodyNeedsAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, a, _, _ := trio(t)
		large := bytes.Repeat([]byte("0123456789"), 30_000)
		for _, id := range []string{"kept", "deleted"} {
			l := a.create(t, id, 1)
			require.NoError(t, l.Append(store.Entry{Number: 2, Payload: large}))
			require.NoError(t, l.Release(t.Context()))
		}
		require.NoError(t, a.Store.Flush(t.Context()))
		require.NoError(t, a.Store.Begin(t.Context(), store.Activity{Kind: "job", ID: "kept"}))
		for _, name := range []string{"session/kept/conversation-new", "session/kept/conversation-old", "job/kept/part", "job/expired/part", "0a1b"} {
			require.NoError(t, a.Log.Put(t.Context(), name, large))
		}
		settle()
		require.Equal(t, 7, server.Objects())
		require.NoError(t, a.Store.Delete(t.Context(), "deleted"))
		settle()
		server.AgeObjects(23 * time.Hour)
		cluster.Sweep(t.Context(), a.Node)
		require.Equal(t, 7, server.Objects(), "a change that names one may wait on a node that is cut off")
		server.AgeObjects(time.Hour)
		cluster.Sweep(t.Context(), a.Node)
		require.Equal(t, 4, server.Objects(), "without those of the deleted session and the expired job, and the older conversation")
	})
}

func TestNewNodeCanReadALogWhosePurgeWasInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, a, b, c := trio(t)
		l := a.create(t, "s", 1)
		require.NoError(t, l.Append(store.Entry{Number: 2, Payload: bytes.Repeat([]byte("0123456789"), 30_000)}))
		require.NoError(t, l.Release(t.Context()))
		a.create(t, "kept", 3)
		require.NoError(t, a.Log.Put(t.Context(), "session/kept/conversation-old", []byte("old")))
		settle()
		a.gate(func(_ context.Context, o memlog.Operation) (any, error) {
			if o.Name == "Purge" {
				return nil, errLog
			}
			return o.Run()
		})
		require.NoError(t, a.Store.Delete(t.Context(), "s"))
		settle()
		a.stop(true)
		a = join(t, server, "a", a.directory)
		settle()
		server.AgeObjects(25 * time.Hour)
		cluster.Sweep(t.Context(), b.Node)
		require.Zero(t, server.Objects())
		d := join(t, server, "d", t.TempDir())
		settle()
		require.True(t, d.HasApplied(server.Last()))
		same(t, a, b, c, d)
		require.Equal(t, upTo(3), d.record(t, "kept"), "only the messages of what is gone are purged")
	})
}

func TestLargeBacklogIsSentInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, a, b, c := trio(t)
		l := a.create(t, "s", 1)
		a.gate(refuse)
		job, large := store.Activity{Kind: "job", ID: "j"}, bytes.Repeat([]byte("x"), 10_000)
		require.NoError(t, a.Store.Begin(t.Context(), job))
		var lines [][]byte
		for n := uint64(2); n <= 400; n++ {
			require.NoError(t, l.Append(store.Entry{Number: n, Data: large}))
			lines = append(lines, large)
		}
		_, err := a.Store.AppendActivity(t.Context(), job, lines...)
		require.NoError(t, err)
		require.NoError(t, a.Store.Flush(t.Context()))
		settle()
		a.gate(nil)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		same(t, a, b, c)
		require.Zero(t, a.Status().Waiting)
		for _, m := range server.Messages() {
			require.Less(t, len(m.Data), 300<<10)
		}
	})
}

func TestOutageIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, _, _ := trio(t)
		a.create(t, "s", 1)
		settle()
		l := a.create(t, "t", 1)
		a.gate(refuse)
		for n := range uint64(60) {
			fill(t, a.Store, l, n+2, n+2)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		require.Equal(t, 1, strings.Count(a.log.String(), "a change waits"), a.log.String())
		require.Equal(t, 1, strings.Count(a.log.String(), "cannot watch"), a.log.String())
		a.gate(nil)
		time.Sleep(time.Minute)
		a.gate(refuse)
		fill(t, a.Store, l, 62, 62)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 2, strings.Count(a.log.String(), "a change waits"), a.log.String())
		require.Equal(t, 2, strings.Count(a.log.String(), "cannot watch"), a.log.String())
	})
}

func TestStoreThatJoinsLaterIsShipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		directory := t.TempDir()
		alone, err := store.Open(t.Context(), store.Options{Directory: directory, Delay: time.Millisecond})
		require.NoError(t, err)
		l, err := alone.Create(t.Context(), store.Session{ID: "old", Title: "before"})
		require.NoError(t, err)
		fill(t, alone, l, 1, 10)
		require.NoError(t, l.Position("page", 4))
		require.NoError(t, alone.Begin(t.Context(), store.Activity{Kind: "job", ID: "j"}))
		require.NoError(t, alone.Close())
		_, a, b, c := trio(t)
		d := join(t, a.Log.Server, "d", directory)
		settle()
		same(t, a, b, c, d)
		require.Equal(t, upTo(10), a.record(t, "old"))
	})
}

func TestOldEntriesAreCompressedOnOtherNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		directory := t.TempDir()
		alone, err := store.Open(t.Context(), store.Options{Directory: directory, Delay: time.Millisecond})
		require.NoError(t, err)
		l, err := alone.Create(t.Context(), store.Session{ID: "old"})
		require.NoError(t, err)
		const entries, size = 400, 100
		for n := range uint64(entries) {
			require.NoError(t, l.Append(store.Entry{Number: n + 1, Data: bytes.Repeat([]byte{byte(n)}, size)}))
		}
		require.NoError(t, alone.Close())
		server := memlog.NewServer()
		to := t.TempDir()
		a, b := join(t, server, "a", directory), join(t, server, "b", to)
		settle()
		same(t, a, b)
		db, err := sql.Open("sqlite", filepath.Join(to, "sessions.db"))
		require.NoError(t, err)
		defer db.Close()
		var stored int
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT sum(length(data)) FROM segment").Scan(&stored))
		require.Less(t, stored, entries*size/4)
	})
}

func TestManySessionsAreSentAndAppliedInLongerGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, a, b, c := trio(t)
		write := func(sessions int) (perSession int) {
			leases := make([]*store.Lease, sessions)
			for i := range leases {
				leases[i] = a.create(t, fmt.Sprintf("%d of %d", i, sessions), 0)
			}
			settle()
			before := len(server.Messages())
			for n := range uint64(1000) { // in a second
				for _, l := range leases {
					require.NoError(t, l.Append(entry(n+1)))
				}
				time.Sleep(time.Millisecond)
			}
			time.Sleep(time.Second) // two of the longest pauses, and more
			return (len(server.Messages()) - before) / sessions
		}
		require.Greater(t, write(1), 200)
		require.Less(t, write(50), 40)
		same(t, a, b, c)
	})
}

func TestWipedNodeIsFilledFromTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, a, b, c := trio(t)
		l := a.create(t, "s", 10)
		require.NoError(t, l.Release(t.Context()))
		require.NoError(t, a.Store.Admit(t.Context(), []byte("hash"), store.Visitor{User: "old", Until: time.Now().Add(time.Hour)}))
		settle()
		a.stop(true)
		a = connect(t, server, "a", t.TempDir())
		require.NoError(t, a.Store.Admit(t.Context(), []byte("hash"), store.Visitor{User: "new", Until: time.Now().Add(time.Hour)}), "before it has read its own past")
		a.start(t)
		settle()
		same(t, a, b, c)
		visitor, err := b.Store.Admitted(t.Context(), []byte("hash"))
		require.NoError(t, err)
		require.Equal(t, "new", visitor.User)
		l, err = a.Store.Acquire(t.Context(), "s")
		require.NoError(t, err)
		fill(t, a.Store, l, 11, 12)
		settle()
		require.Equal(t, upTo(12), c.record(t, "s"))
	})
}

func TestNodeWhoseFileIsReplacedIsFilledFromTheLog(t *testing.T) {
	for _, what := range []string{"removed", "damaged", "older"} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, a, b, c := trio(t)
				other := b.create(t, "other", 3)
				settle()
				file := a.directory + "/sessions.db"
				l := a.create(t, "s", 5)
				require.NoError(t, a.Store.Begin(t.Context(), store.Activity{Kind: "job", ID: "j"}))
				settle()
				execute(t, file, "VACUUM INTO ?", file+".older")
				fill(t, a.Store, l, 6, 10)
				_, err := a.Store.AppendActivity(t.Context(), store.Activity{Kind: "job", ID: "j"}, []byte("one"))
				require.NoError(t, err)
				require.NoError(t, a.Store.Admit(t.Context(), []byte("hash"), store.Visitor{User: "old", Until: time.Now().Add(time.Hour)}))
				fill(t, b.Store, other, 4, 6)
				settle()
				switch what {
				case "removed":
					require.NoError(t, os.RemoveAll(a.directory))
				case "damaged":
					execute(t, file, "PRAGMA writable_schema = on; UPDATE sqlite_schema SET rootpage = 2 WHERE name = 'segment'; PRAGMA schema_version = 99999")
					_, err = a.Store.Read(t.Context(), "s", 0, 0)
					require.Error(t, err)
				case "older":
					require.NoError(t, errors.Join(os.Remove(file+"-wal"), os.Remove(file+"-shm"), os.Rename(file+".older", file)))
				}
				time.Sleep(20 * time.Second)
				synctest.Wait()
				require.True(t, l.IsLost())
				same(t, a, b, c)
				list, err := a.Store.Adopt(t.Context(), "job")
				require.NoError(t, err)
				require.Len(t, list, 1)
				last, err := a.Store.AppendActivity(t.Context(), list[0], []byte("two"))
				require.NoError(t, err)
				require.EqualValues(t, 2, last)
				require.Equal(t, upTo(6), a.record(t, "other"))
				require.NoError(t, a.Store.Admit(t.Context(), []byte("hash"), store.Visitor{User: "new", Until: time.Now().Add(time.Hour)}))
				l, err = a.Store.Acquire(t.Context(), "s")
				require.NoError(t, err)
				fill(t, a.Store, l, 11, 12)
				settle()
				require.Equal(t, upTo(12), c.record(t, "s"))
				same(t, a, b, c)
				page, err := c.Store.List(t.Context(), store.Cursor{}, 10)
				require.NoError(t, err)
				require.Len(t, page, 2, "nothing is branched")
			})
		})
	}
}

// execute changes a database from outside.
func execute(t *testing.T, file, query string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), query, args...)
	require.NoError(t, err)
}

func TestJoinRefusesTheDirectoryOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		directory := t.TempDir()
		server := memlog.NewServer()
		join(t, server, "a", directory).stop(false)
		for _, o := range []cluster.Options{{Name: "test", Node: "b"}, {Name: "other", Node: "a"}} {
			n := cluster.New(&memlog.Log{Server: server}, o)
			s, err := store.Open(t.Context(), store.Options{Directory: directory, Cluster: n})
			require.NoError(t, err)
			require.ErrorContains(t, n.Join(t.Context(), s), "belongs to the")
			require.NoError(t, s.Close())
		}
	})
}

func TestRevokedLinkStaysRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, c := trio(t)
		_, err := a.Store.AddShare(t.Context(), store.Share{ID: "x", Session: "s", Hash: []byte("h"), Created: time.Now(), Expires: time.Now().Add(time.Hour)}, 5)
		require.NoError(t, err)
		require.NoError(t, a.Store.Admit(t.Context(), []byte("hash"), store.Visitor{Until: time.Now().Add(time.Hour)}))
		settle()
		b.gate(refuse) // so b does not know the removal when it uses the link
		settle()
		deleted, err := a.Store.DeleteShare(t.Context(), "s", "x")
		require.NoError(t, err)
		require.True(t, deleted)
		require.NoError(t, a.Store.Dismiss(t.Context(), []byte("hash")))
		require.NoError(t, b.Store.UseShare(t.Context(), "x", time.Now()))
		require.NoError(t, b.Store.Admit(t.Context(), []byte("hash"), store.Visitor{Until: time.Now().Add(time.Hour)}))
		b.gate(nil)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		for _, m := range []*member{a, b, c} {
			_, err := m.Store.Share(t.Context(), "x")
			require.ErrorIs(t, err, store.ErrNotFound)
			_, err = m.Store.Admitted(t.Context(), []byte("hash"))
			require.ErrorIs(t, err, store.ErrNotFound)
		}
	})
}

func TestChangeThatIsFollowedByOneOfAnotherNodeIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlog.NewServer()
		a, b := connect(t, server, "a", t.TempDir()), join(t, server, "b", t.TempDir())
		a.StartReading(t.Context())
		settle()
		admit := func(m *member) {
			go func() {
				_ = m.Store.Admit(t.Context(), []byte("hash"), store.Visitor{User: "u", Until: time.Now().Add(time.Hour)})
			}()
			settle()
		}
		admit(a)
		x, err := a.Store.Progress(t.Context(), "visitor/68617368")
		require.NoError(t, err)
		require.NoError(t, a.ShipLate(t.Context(), "visitor/68617368", func() { admit(b) }))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, a.Await(ctx, "visitor/68617368", x.Version))
	})
}

func TestUnknownRowsAreNotRemovedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, c := trio(t)
		c.gate(func(ctx context.Context, o memlog.Operation) (any, error) {
			if o.Name == "Read" || o.Name == "Last" { // c lags
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return o.Run()
		})
		settle()
		_, err := a.Store.AddShare(t.Context(), store.Share{ID: "x", Session: "s", Hash: []byte("h"), Created: time.Now(), Expires: time.Now().Add(time.Hour)}, 5)
		require.NoError(t, err)
		require.NoError(t, a.create(t, "s", 1).Position("page", 3))
		settle()
		require.NoError(t, c.Store.UseShare(t.Context(), "x", time.Now()))
		require.NoError(t, c.Store.SetPosition("s", "page", 2))
		require.NoError(t, c.Store.Flush(t.Context()))
		settle()
		_, err = b.Store.Share(t.Context(), "x")
		require.NoError(t, err)
		positions, err := b.Store.Positions(t.Context(), "s")
		require.NoError(t, err)
		require.Equal(t, map[string]uint64{"page": 3}, positions)
	})
}

func TestReadWaitsForWhatAnotherNodeHasJustWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, _ := trio(t)
		b.gate(func(_ context.Context, o memlog.Operation) (any, error) {
			if o.Name == "Read" { // b lags
				time.Sleep(50 * time.Millisecond)
			}
			return o.Run()
		})
		require.NoError(t, a.Store.Admit(t.Context(), []byte("hash"), store.Visitor{User: "somebody", Until: time.Now().Add(time.Hour)}))
		_, err := b.Store.Admitted(t.Context(), []byte("hash"))
		require.NoError(t, err, "Admit returns when the log has it, and Admitted catches up")
		_, err = b.Store.Admitted(t.Context(), []byte("other"))
		require.ErrorIs(t, err, store.ErrNotFound)
	})
}

func TestNodeThatCannotCatchUpFindsNothingMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, b, _ := trio(t)
		finds := map[string]func() error{
			"session":  func() error { _, err := b.Store.Session(t.Context(), "s"); return err },
			"activity": func() error { _, err := b.Store.Activity(t.Context(), "job", "j"); return err },
			"visitor":  func() error { _, err := b.Store.Admitted(t.Context(), []byte("hash")); return err },
			"share":    func() error { _, err := b.Store.Share(t.Context(), "x"); return err },
		}
		for name, find := range finds {
			require.ErrorIs(t, find(), store.ErrNotFound, name)
		}
		b.gate(refuse)
		for name, find := range finds {
			err := find()
			require.Error(t, err, name)
			require.NotErrorIs(t, err, store.ErrNotFound, name)
		}
	})
}
