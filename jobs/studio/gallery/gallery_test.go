package gallery_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/jobs/studio"
	"github.com/copilot-portal/portal/jobs/studio/code"
	"github.com/copilot-portal/portal/jobs/studio/gallery"
)

// testGallery is a gallery with scripted agents.
type testGallery struct {
	*gallery.Host
	t      *testing.T
	studio *studio.Host
}

func inGallery(t *testing.T, answer func(*fake.Turn), test func(*testGallery)) {
	t.Helper()
	inGalleryWith(t, nil, answer, test)
}

func inGalleryWith(t *testing.T, kept *store.Store, answer func(*fake.Turn), test func(*testGallery)) {
	t.Helper()
	agents := fake.New()
	defer agents.Close()
	agents.Script = func(turn *fake.Turn) { turn.Answer(func() { answer(turn) }) }
	sessions := agents.NewHost(copilot.Options{})
	defer sessions.Close(context.Background())
	s := studio.New(studio.Options{Sessions: sessions, Policy: permission.Everywhere(permission.Allow), Directory: t.TempDir()})
	g := gallery.New(gallery.Options{Studio: s, Store: kept})
	defer g.Close(context.Background())
	test(&testGallery{g, t, s})
}

const description = `{"openapi": "3.0.3", "info": {"title": "Films", "version": "1"}, "servers": [{"url": "https://films.test/v1/"}],
	"paths": {"/films": {"get": {"responses": {"200": {"description": "OK"}}}}}}`

// create creates an interface and waits for its first version.
func (g *testGallery) create() string {
	g.t.Helper()
	i, err := g.Create(context.Background(), gallery.CreateRequest{Name: "films.json", Text: description})
	require.NoError(g.t, err)
	g.ended(i.ID)
	return i.ID
}

// ended waits for the end of a request and returns the interface.
func (g *testGallery) ended(id string) gallery.Item {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for after := uint64(0); ; {
		i, err := g.Get(ctx, id)
		require.NoError(g.t, err)
		if i.Work == nil {
			return i
		}
		r := g.Reader(id, max(after, i.Work.After))
		_, err = r.Next(ctx)
		require.NoError(g.t, err)
		after = r.After()
	}
}

// change requests a change and waits for its end.
func (g *testGallery) change(id, prompt string) gallery.Item {
	g.t.Helper()
	require.NoError(g.t, g.Change(context.Background(), id, prompt))
	return g.ended(id)
}

func app(title string) string { return fmt.Sprintf("function App() { return <h1>%s</h1>; }\n", title) }

// whole returns code as the studio returns it.
func whole(source string) string { return source + code.Mount(source) }

func inBlock(source string) string {
	return "```jsx\n" + source + "```\nDescription: It shows a title.\nAssumptions:\n- The title is fixed.\n"
}

// says returns a script that gives the answers in turn and repeats the last one.
func says(answers ...string) func(*fake.Turn) {
	var mu sync.Mutex
	n := 0
	return func(t *fake.Turn) {
		mu.Lock()
		text := answers[min(n, len(answers)-1)]
		n++
		mu.Unlock()
		t.Say(text)
	}
}

func TestVersionsAreKept(t *testing.T) {
	inGallery(t, says(inBlock(app("One")), inBlock(app("Two")), inBlock(app("Three"))), func(g *testGallery) {
		id := g.create()
		i := g.change(id, "Call it Two")
		require.Len(t, i.Versions, 2)
		assert.Equal(t, "https://films.test/v1", i.BaseURL)
		assert.Equal(t, 2, i.Current)
		v := i.Versions[1]
		assert.Equal(t, []any{2, "Call it Two", "It shows a title.", []string{"The title is fixed."}, 1, 1}, []any{v.Number, v.Prompt, v.Description, v.Assumptions, v.Components, v.Based})
		require.NoError(t, g.Revert(t.Context(), id, 1))
		i = g.change(id, "Call it Three")
		require.Len(t, i.Versions, 3)
		assert.Equal(t, 1, i.Versions[2].Based, "the current version is changed")
		for n, title := range []string{"One", "Two", "Three"} {
			_, source, err := g.Source(t.Context(), id, n+1)
			require.NoError(t, err)
			assert.Equal(t, whole(app(title)), source)
		}
		_, script, err := g.Script(t.Context(), id, 0)
		require.NoError(t, err)
		assert.Contains(t, script, "Three")
		diff, err := g.Compare(t.Context(), id, 1, 3)
		require.NoError(t, err)
		assert.Contains(t, diff, "-function App() { return <h1>One</h1>; }\n+function App() { return <h1>Three</h1>; }")
		assert.Equal(t, fault.NotFound, fault.KindOf(g.Revert(t.Context(), id, 4)))
		assert.Equal(t, fault.NotFound, fault.KindOf(g.Revert(t.Context(), id, 0)))
	})
}

func TestNextRequestAnswersQuestion(t *testing.T) {
	inGallery(t, says(inBlock(app("One")), "```question\n{\"question\": \"Which?\", \"options\": [\"A\", \"B\"]}\n```\n", inBlock(app("Two"))), func(g *testGallery) {
		id := g.create()
		i := g.change(id, "Search")
		assert.Equal(t, &gallery.Question{Prompt: "Search", Text: "Which?", Options: []string{"A", "B"}}, i.Question)
		assert.Len(t, i.Versions, 1)
		i = g.change(id, "A")
		assert.Nil(t, i.Question)
		require.Len(t, i.Versions, 2)
		assert.Equal(t, "Search\n→ A", i.Versions[1].Prompt)
	})
}

func TestFailedRequestIsReportedAndRepeatable(t *testing.T) {
	inGallery(t, says("no", "no", inBlock(app("One")), "```refusal\nIt cannot brew coffee.\n```\n"), func(g *testGallery) {
		id := g.create()
		i, err := g.Get(t.Context(), id)
		require.NoError(t, err)
		assert.Contains(t, i.Error, "no code block")
		assert.Empty(t, i.Versions)
		assert.Equal(t, fault.Invalid, fault.KindOf(g.Change(t.Context(), id, "x")), "there is no version to change")
		require.NoError(t, g.Make(t.Context(), id))
		i = g.ended(id)
		assert.Empty(t, i.Error)
		assert.Equal(t, 1, i.Current)
		i = g.change(id, "Coffee")
		assert.Contains(t, i.Error, "brew coffee")
		assert.Equal(t, 1, i.Current)
		require.NoError(t, g.Cancel(t.Context(), id))
		i, err = g.Get(t.Context(), id)
		require.NoError(t, err)
		assert.Empty(t, i.Error)
	})
}

func TestRequestIsKeptUntilItHasAResult(t *testing.T) {
	kept, err := store.Open(t.Context(), store.Options{Directory: t.TempDir()})
	require.NoError(t, err)
	defer kept.Close()
	working, proceed := make(chan struct{}), make(chan struct{})
	answers := says(inBlock(app("One")), "no", "no", inBlock(app("Two")), "no") // an answer without code is asked for again
	asked := 0
	script := func(turn *fake.Turn) {
		if asked++; asked == 2 {
			close(working)
			<-proceed
		}
		answers(turn)
	}
	inGalleryWith(t, kept, script, func(g *testGallery) {
		id := g.create()
		require.NoError(t, g.Change(t.Context(), id, "Call it Two"))
		<-working
		after := gallery.New(gallery.Options{Store: kept}) // as if the portal had been killed here
		defer after.Close(context.Background())
		i, err := after.Get(t.Context(), id)
		require.NoError(t, err)
		assert.Equal(t, "Call it Two", i.Request)
		assert.Equal(t, fault.Busy, fault.KindOf(g.Change(t.Context(), id, "Call it Three")))
		close(proceed)
		i = g.ended(id)
		assert.NotEmpty(t, i.Error)
		assert.Equal(t, "Call it Two", i.Request, "it failed")
		assert.Empty(t, g.change(id, "Call it Two again").Request)
		assert.Equal(t, "Fail", g.change(id, "Fail").Request)
		require.NoError(t, g.Revert(t.Context(), id, 1))
		i, err = g.Get(t.Context(), id)
		require.NoError(t, err)
		assert.Empty(t, i.Request, "it is withdrawn with the error")
	})
}

func TestRequestReplacesTheErrorOfThePreviousOne(t *testing.T) {
	kept, err := store.Open(t.Context(), store.Options{Directory: t.TempDir()})
	require.NoError(t, err)
	defer kept.Close()
	working, proceed := make(chan struct{}), make(chan struct{})
	answers := says(inBlock(app("One")), "no", "no", inBlock(app("Two")))
	asked := 0
	script := func(turn *fake.Turn) {
		if asked++; asked == 4 {
			close(working)
			<-proceed
		}
		answers(turn)
	}
	inGalleryWith(t, kept, script, func(g *testGallery) {
		id := g.create()
		require.NotEmpty(t, g.change(id, "Fail").Error)
		require.NoError(t, g.Change(t.Context(), id, "Call it Two"))
		<-working
		after := gallery.New(gallery.Options{Store: kept}) // as if the portal had been killed here
		defer after.Close(context.Background())
		i, err := after.Get(t.Context(), id)
		require.NoError(t, err)
		assert.Equal(t, "Call it Two", i.Request)
		assert.Empty(t, i.Error, "it is of another request")
		close(proceed)
		g.ended(id)
	})
}

func TestOneRequestAtATime(t *testing.T) {
	inGallery(t, func(turn *fake.Turn) { turn.WaitForAbort() }, func(g *testGallery) {
		i, err := g.Create(t.Context(), gallery.CreateRequest{Text: description})
		require.NoError(t, err)
		require.NotNil(t, i.Work)
		for name, err := range map[string]error{
			"make": g.Make(t.Context(), i.ID), "back": g.Revert(t.Context(), i.ID, 1), "delete": g.Delete(t.Context(), i.ID),
		} {
			assert.Equal(t, fault.Busy, fault.KindOf(err), name)
		}
		require.NoError(t, g.Cancel(t.Context(), i.ID))
		assert.Equal(t, "the request was stopped", g.ended(i.ID).Error)
	})
}

func TestNothingChangesWhileARequestIsPrepared(t *testing.T) {
	inGallery(t, says(inBlock(app("One")), inBlock(app("Two")), inBlock(app("Three"))), func(g *testGallery) {
		id := g.create()
		err := g.ChangeSlowly(t.Context(), id, func() {
			for name, err := range map[string]error{
				"change": g.Change(t.Context(), id, "Call it Two"), "back": g.Revert(t.Context(), id, 1), "delete": g.Delete(t.Context(), id),
			} {
				assert.Equal(t, fault.Busy, fault.KindOf(err), name)
			}
		})
		require.ErrorContains(t, err, "prepared")
		assert.Len(t, g.change(id, "Call it Two").Versions, 2, "a failed preparation does not reserve it")
	})
}

func TestAllReadersGetTheSameEvents(t *testing.T) {
	inGallery(t, says(inBlock(app("One"))), func(g *testGallery) {
		id := g.create()
		var events [2][]gallery.Event
		read := func(n int, until gallery.Kind) {
			for b := range g.Reader(id, uint64(len(events[n]))).All(context.Background()) {
				events[n] = append(events[n], b.Entries...)
				if events[n][len(events[n])-1].Kind == until {
					return
				}
			}
		}
		var readers sync.WaitGroup
		for n := range events {
			readers.Go(func() { read(n, gallery.Ended) })
		}
		readers.Wait()
		assert.Equal(t, events[0], events[1])
		readers.Go(func() { read(0, gallery.Deleted) })
		require.NoError(t, g.Delete(t.Context(), id))
		readers.Wait()
		pieces := ""
		for _, e := range events[0] {
			pieces += e.Text
		}
		assert.Equal(t, whole(app("One")), pieces)
		assert.Equal(t, gallery.Began, events[0][0].Kind)
		_, err := g.Get(t.Context(), id)
		assert.Equal(t, fault.NotFound, fault.KindOf(err))
	})
}

// untilDeleted repeats something with an interface, in many goroutines, until the interface has been deleted.
func (g *testGallery) untilDeleted(do func(id string) error) {
	g.t.Helper()
	for range 20 {
		id := g.create()
		var others sync.WaitGroup
		for range 20 {
			others.Go(func() {
				for err := error(nil); fault.KindOf(err) != fault.NotFound; {
					if err = do(id); err != nil && !assert.Contains(g.t, []fault.Kind{fault.NotFound, fault.Busy}, fault.KindOf(err), "%v", err) {
						return
					}
				}
			})
		}
		for g.Delete(context.Background(), id) != nil {
			runtime.Gosched()
		}
		others.Wait()
		assert.Eventually(g.t, func() bool { return g.Active() == 0 }, time.Minute, time.Millisecond, "nothing of it stays in memory")
	}
}

func TestReadersEndWithDeletedInterface(t *testing.T) {
	inGallery(t, says(inBlock(app("One"))), func(g *testGallery) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		g.untilDeleted(func(id string) error {
			for _, err := range g.Reader(id, 1000).All(ctx) {
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func TestDeletedInterfaceIsNotChanged(t *testing.T) {
	inGallery(t, says(inBlock(app("One"))), func(g *testGallery) {
		for _, change := range []func(context.Context, string) error{g.Make, g.Cancel} {
			g.untilDeleted(func(id string) error { return change(context.Background(), id) })
		}
	})
}

// kinds returns a function that returns the kinds of the events of an interface since the last call, without pieces.
func (g *testGallery) kinds(ctx context.Context, id string) func() []gallery.Kind {
	var mu sync.Mutex
	var list []gallery.Kind
	add := func(k gallery.Kind) {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, k)
	}
	go func() {
		for b, err := range g.Reader(id, 0).All(ctx) {
			if fault.KindOf(err) == fault.NotFound {
				add(gallery.Deleted)
			}
			for _, e := range b.Entries {
				if e.Kind == gallery.Deleted {
					add(e.Kind)
					return
				}
				if e.Kind != gallery.Piece {
					add(e.Kind)
				}
			}
		}
	}()
	return func() (since []gallery.Kind) {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		since, list = list, nil
		return since
	}
}

func TestChangesByAnotherPortalArePublished(t *testing.T) {
	kept := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var stores []*store.Store
		for range 2 {
			s, err := store.Open(t.Context(), store.Options{Directory: kept})
			require.NoError(t, err)
			stores = append(stores, s)
		}
		ctx, cancel := context.WithCancel(t.Context())
		inGalleryWith(t, stores[0], says(inBlock(app("One")), inBlock(app("Two"))), func(g *testGallery) {
			inGalleryWith(t, stores[1], says("never"), func(other *testGallery) {
				id := g.create()
				own, there := g.kinds(ctx, id), other.kinds(ctx, id)
				time.Sleep(time.Minute)
				assert.Equal(t, []gallery.Kind{gallery.Began, gallery.Ended}, own())
				assert.Empty(t, there())
				g.change(id, "Call it Two")
				time.Sleep(time.Minute)
				assert.Equal(t, []gallery.Kind{gallery.Began, gallery.Ended}, own(), "no other portal has changed it")
				assert.Equal(t, []gallery.Kind{gallery.Changed}, there())
				require.NoError(t, g.Delete(ctx, id))
				time.Sleep(time.Minute)
				assert.Equal(t, []gallery.Kind{gallery.Deleted}, own())
				assert.Equal(t, []gallery.Kind{gallery.Deleted}, there())
				assert.Zero(t, other.Active())
				cancel()
				synctest.Wait()
			})
		})
		for _, s := range stores {
			require.NoError(t, s.Close())
		}
	})
}

func TestInterfacesSurviveRestart(t *testing.T) {
	kept := t.TempDir()
	open := func() *store.Store {
		s, err := store.Open(t.Context(), store.Options{Directory: kept})
		require.NoError(t, err)
		return s
	}
	first := open()
	id := ""
	inGalleryWith(t, first, says(inBlock(app("One"))), func(g *testGallery) {
		id = g.create()
		g.allow(id, "http://127.0.0.1:9/v1")
	})
	require.NoError(t, first.Close())
	second := open()
	third := open()
	inGalleryWith(t, second, says(inBlock(app("Two"))), func(g *testGallery) {
		list, err := g.List(t.Context())
		require.NoError(t, err)
		require.Len(t, list, 1)
		assert.Equal(t, []any{id, "Films", 1, "http://127.0.0.1:9/v1", true}, []any{list[0].ID, list[0].Title, list[0].Current, list[0].Allowed, list[0].Private})
		i := g.change(id, "Call it Two")
		require.Empty(t, i.Error)
		require.Len(t, i.Versions, 2)
		_, source, err := g.Source(t.Context(), id, 2)
		require.NoError(t, err)
		assert.Equal(t, whole(app("Two")), source)
		inGalleryWith(t, third, says("never"), func(other *testGallery) {
			_, source, err := other.Source(t.Context(), id, 2)
			require.NoError(t, err, "another portal on the same data can read it")
			assert.Equal(t, whole(app("Two")), source)
			for name, err := range map[string]error{
				"make": other.Make(t.Context(), id), "change": other.Change(t.Context(), id, "Call it Never"), "back": other.Revert(t.Context(), id, 1),
			} {
				assert.Equal(t, fault.Busy, fault.KindOf(err), "but cannot write: %s", name)
			}
		})
		require.NoError(t, g.Delete(t.Context(), id))
		list, err = g.List(t.Context())
		require.NoError(t, err)
		assert.Empty(t, list)
	})
	require.NoError(t, second.Close())
	require.NoError(t, third.Close())
}

func TestInvalidRequestsAreRejected(t *testing.T) {
	inGallery(t, says(inBlock(app("One"))), func(g *testGallery) {
		for _, text := range []string{"", "hello", `{"openapi": "3.0.3"}`} {
			_, err := g.Create(t.Context(), gallery.CreateRequest{Name: "x.json", Text: text})
			assert.Equal(t, fault.Invalid, fault.KindOf(err), text)
		}
		id := g.create()
		assert.Equal(t, fault.Invalid, fault.KindOf(g.Change(t.Context(), id, " \n")))
		assert.Equal(t, fault.Invalid, fault.KindOf(g.Change(t.Context(), id, strings.Repeat("x", 20_001))))
		for name, err := range map[string]error{
			"change": g.Change(t.Context(), "nobody", "x"), "back": g.Revert(t.Context(), "nobody", 1), "cancel": g.Cancel(t.Context(), "nobody"),
			"delete": g.Delete(t.Context(), "nobody"), "make": g.Make(t.Context(), "nobody"),
		} {
			assert.Equal(t, fault.NotFound, fault.KindOf(err), name)
		}
	})
}
