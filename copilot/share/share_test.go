package share_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/share"
	"github.com/copilot-portal/portal/copilot/store"
)

// world is a host with two sessions and their shares.
type world struct {
	t      *testing.T
	host   *copilot.Host
	shares *share.Shares
	a, b   *copilot.Session
}

// newWorld opens the world; with a store, the links are kept in it.
func newWorld(t *testing.T, s *store.Store) *world {
	t.Helper()
	agents := fake.New()
	t.Cleanup(agents.Close)
	host := agents.NewHost(copilot.Options{Store: s, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		host.Close(ctx)
	})
	w := &world{t: t, host: host, shares: share.New(host, s)}
	w.a, w.b = w.start(), w.start()
	return w
}

func (w *world) start() *copilot.Session {
	w.t.Helper()
	s, err := w.host.Start(w.t.Context(), copilot.Start{
		Origin: "test", Directory: w.t.TempDir(), AskUser: true, WithoutAgent: true, Policy: permission.Everywhere(permission.Ask),
	})
	require.NoError(w.t, err)
	return s
}

func (w *world) create(o share.Order) (share.Share, string) {
	w.t.Helper()
	x, token, err := w.shares.Create(w.t.Context(), o)
	require.NoError(w.t, err)
	return x, token
}

// use uses a token until the test ends.
func (w *world) use(token string) context.Context {
	w.t.Helper()
	ctx, _, done, err := w.shares.Use(w.t.Context(), token)
	require.NoError(w.t, err)
	w.t.Cleanup(done)
	return ctx
}

// each runs a test with the links in memory, in virtual time, and in a store.
func each(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Run("in memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, newWorld(t, nil)) })
	})
	t.Run("in a store", func(t *testing.T) { test(t, newWorld(t, open(t, t.TempDir()))) })
}

func open(t *testing.T, directory string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Directory: directory})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func TestHolderOfALinkSeesOnlyItsSession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		t.Helper()
		x, token := w.create(share.Order{Session: w.a.ID(), Label: "for Ada"})
		assert.Equal(t, share.Read, x.Rights)
		assert.Equal(t, share.DefaultLifetime, x.Expires.Sub(x.Created))
		ctx := w.use(token)
		found, ok := share.Of(ctx)
		require.True(t, ok)
		assert.Equal(t, x.ID, found.ID)
		s, err := w.host.Session(ctx, w.a.ID())
		require.NoError(t, err)
		assert.Equal(t, w.a.ID(), s.ID())
		_, err = w.host.Session(ctx, w.b.ID())
		require.ErrorIs(t, err, fault.ErrSessionNotFound)
		list, next, err := w.host.Sessions(ctx, "", 0)
		require.NoError(t, err)
		require.Len(t, list, 1)
		assert.Equal(t, w.a.ID(), list[0].ID)
		assert.Empty(t, next)
		pinned, err := w.host.Pinned(ctx, 10)
		require.NoError(t, err)
		assert.Empty(t, pinned)
		_, err = w.host.Search(ctx, "word", 10)
		assert.Equal(t, fault.Denied, fault.KindOf(err))
	})
}

func TestHolderAnswersOnlyWithTheRightTo(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		t.Helper()
		_, reads := w.create(share.Order{Session: w.a.ID()})
		_, answers := w.create(share.Order{Session: w.a.ID(), Rights: share.Answer})
		approve := event.Answer{Approved: true}
		err := w.a.AnswerAs(w.use(reads), "q", approve, "test")
		assert.Equal(t, fault.Denied, fault.KindOf(err), "%v", err)
		ctx := w.use(answers)
		require.ErrorIs(t, w.a.AnswerAs(ctx, "q", approve, "test"), fault.ErrQuestionNotFound, "the answer gets as far as the session")
		require.ErrorIs(t, w.b.AnswerAs(ctx, "q", approve, "test"), fault.ErrSessionNotFound)
		for _, lasting := range []event.Answer{{Approved: true, Remember: true}, {Approved: true, Scope: permission.ScopeCommands}} {
			err = w.a.AnswerAs(ctx, "q", lasting, "test")
			assert.Equal(t, fault.Denied, fault.KindOf(err), "%v", err)
			assert.ErrorIs(t, w.a.AnswerAs(t.Context(), "q", lasting, "test"), fault.ErrQuestionNotFound)
		}
	})
}

func TestTokenIsShownOnceAndOnlyItsHashIsKept(t *testing.T) {
	s := open(t, t.TempDir())
	w := newWorld(t, s)
	x, token := w.create(share.Order{Session: w.a.ID()})
	assert.True(t, share.IsToken(token))
	assert.GreaterOrEqual(t, len(token)-len("share_")-len(x.ID), 26, "128 bits in base32")
	kept, err := s.Share(t.Context(), x.ID)
	require.NoError(t, err)
	assert.Len(t, kept.Hash, 32)
	assert.NotContains(t, string(kept.Hash), token)
	_, other := w.create(share.Order{Session: w.a.ID()})
	assert.NotEqual(t, token, other)
}

func TestWrongTokensAreRefused(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		t.Helper()
		_, token := w.create(share.Order{Session: w.a.ID()})
		for _, wrong := range []string{
			"", "share_", token[:len(token)-1], token + "a", strings.ToUpper(token), "share_" + strings.Repeat("a", 38), token[:18], strings.TrimPrefix(token, "share_"),
		} {
			_, _, _, err := w.shares.Use(t.Context(), wrong)
			assert.ErrorIs(t, err, share.ErrNotFound, wrong)
		}
	})
}

func TestRevokedLinkEndsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		t.Helper()
		x, token := w.create(share.Order{Session: w.a.ID()})
		_, kept := w.create(share.Order{Session: w.a.ID()})
		ended, open := w.use(token), w.use(kept)
		assert.Equal(t, fault.NotFound, fault.KindOf(w.shares.Revoke(t.Context(), w.b.ID(), x.ID)), "another session has no such link")
		require.NoError(t, ended.Err())
		require.NoError(t, w.shares.Revoke(t.Context(), w.a.ID(), x.ID))
		require.ErrorIs(t, context.Cause(ended), share.ErrNotFound)
		require.NoError(t, open.Err())
		_, err := w.shares.Find(t.Context(), token)
		require.ErrorIs(t, err, share.ErrNotFound)
		list, err := w.shares.List(t.Context(), w.a.ID())
		require.NoError(t, err)
		assert.Len(t, list, 1)
		assert.Equal(t, fault.NotFound, fault.KindOf(w.shares.Revoke(t.Context(), w.a.ID(), x.ID)))
	})
}

func TestLinkExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		_, token := w.create(share.Order{Session: w.a.ID(), Lifetime: time.Hour})
		ctx := w.use(token)
		time.Sleep(time.Hour - time.Nanosecond)
		synctest.Wait()
		require.NoError(t, ctx.Err())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.ErrorIs(t, context.Cause(ctx), share.ErrNotFound)
		_, _, _, err := w.shares.Use(t.Context(), token)
		require.ErrorIs(t, err, share.ErrNotFound)
		list, err := w.shares.List(t.Context(), w.a.ID())
		require.NoError(t, err)
		assert.Empty(t, list)
	})
}

func TestLinkExpiresWhileTheStoreCannotBeRead(t *testing.T) {
	directory := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, directory)
		w := newWorld(t, nil)
		shares := share.New(w.host, s)
		_, token, err := shares.Create(t.Context(), share.Order{Session: w.a.ID(), Lifetime: time.Hour})
		require.NoError(t, err)
		ctx, _, done, err := shares.Use(t.Context(), token)
		require.NoError(t, err)
		defer done()
		require.NoError(t, s.Close())
		time.Sleep(time.Hour - time.Second)
		require.NoError(t, ctx.Err(), "the store may be read again")
		time.Sleep(time.Second)
		synctest.Wait()
		require.ErrorIs(t, context.Cause(ctx), share.ErrNotFound)
	})
}

func TestLastUseIsKeptToTheMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		_, token := w.create(share.Order{Session: w.a.ID()})
		used := func() time.Time {
			synctest.Wait()
			list, err := w.shares.List(t.Context(), w.a.ID())
			require.NoError(t, err)
			return list[0].Used
		}
		require.Zero(t, used())
		w.use(token)
		first := used()
		assert.Equal(t, time.Now(), first)
		time.Sleep(time.Minute - time.Second)
		assert.Equal(t, first, used())
		time.Sleep(time.Second)
		assert.Equal(t, first.Add(time.Minute), used())
	})
}

func TestLinksEndWithTheirSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		_, token := w.create(share.Order{Session: w.a.ID()})
		ctx := w.use(token)
		require.NoError(t, w.host.Delete(t.Context(), w.a.ID()))
		time.Sleep(time.Second)
		synctest.Wait()
		require.ErrorIs(t, context.Cause(ctx), share.ErrNotFound)
	})
}

func TestLinkThatAnotherProcessRevokesEnds(t *testing.T) {
	directory := t.TempDir()
	w := newWorld(t, open(t, directory))
	x, token := w.create(share.Order{Session: w.a.ID()})
	ctx := w.use(token)
	deleted, err := open(t, directory).DeleteShare(t.Context(), w.a.ID(), x.ID)
	require.NoError(t, err)
	require.True(t, deleted)
	select {
	case <-ctx.Done():
	case <-time.After(30 * time.Second):
	}
	require.ErrorIs(t, context.Cause(ctx), share.ErrNotFound)
}

func TestLinkSurvivesARestart(t *testing.T) {
	directory := t.TempDir()
	w := newWorld(t, open(t, directory))
	x, token := w.create(share.Order{Session: w.a.ID(), Rights: share.Answer})
	found, err := share.New(w.host, open(t, directory)).Find(t.Context(), token)
	require.NoError(t, err)
	assert.Equal(t, x, found)
}

func TestOrdersAreChecked(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		t.Helper()
		for name, o := range map[string]share.Order{
			"rights": {Rights: "write"}, "too long": {Lifetime: share.MaxLifetime + 1}, "too short": {Lifetime: time.Second},
			"negative": {Lifetime: -time.Hour}, "label": {Label: strings.Repeat("ä", 101)},
		} {
			o.Session = w.a.ID()
			_, _, err := w.shares.Create(t.Context(), o)
			assert.Equal(t, fault.Invalid, fault.KindOf(err), name)
		}
		_, _, err := w.shares.Create(t.Context(), share.Order{Session: "unknown"})
		require.ErrorIs(t, err, fault.ErrSessionNotFound)
		_, err = w.shares.List(t.Context(), "unknown")
		require.ErrorIs(t, err, fault.ErrSessionNotFound)
		for range 50 {
			w.create(share.Order{Session: w.a.ID(), Label: strings.Repeat("ä", 100)})
		}
		_, _, err = w.shares.Create(t.Context(), share.Order{Session: w.a.ID()})
		assert.Equal(t, fault.Busy, fault.KindOf(err))
	})
}

func TestRightsIncludeThoseBefore(t *testing.T) {
	assert.True(t, share.Read.Include(share.Read))
	assert.False(t, share.Read.Include(share.Answer))
	assert.True(t, share.Answer.Include(share.Read))
	assert.True(t, share.Answer.Include(share.Answer))
	assert.False(t, share.Rights("").Include(share.Answer))
}
