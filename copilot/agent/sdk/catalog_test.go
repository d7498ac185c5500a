package sdk_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/testclock"
)

const account = `[{"id":"gpt-x","name":"GPT X","billing":{"multiplier":2.5}},{"id":"free","name":"Free","billing":{"multiplier":0}},{"id":"new","name":"New"}]`

var (
	accountModels = []agent.Model{{ID: "gpt-x", Name: "GPT X", Multiplier: 2.5}, {ID: "free", Name: "Free"}, {ID: "new", Name: "New", Multiplier: 1}}
	demoListed    = agent.Model{ID: "demo", Name: "Demo (scripted, offline)"}
)

func TestCalledModelHasPortalID(t *testing.T) {
	for name, tc := range map[string]struct {
		providers            []string
		current, local, want string
	}{
		"the vendor's":                           {nil, "own", "own", "own"},
		"a provider's":                           {[]string{"p"}, "p/m", "m", "p/m"},
		"the current one of two":                 {[]string{"p", "q"}, "q/m", "m", "q/m"},
		"another one, of a sub-agent":            {[]string{"p"}, "own", "m", "p/m"},
		"an ambiguous one of two":                {[]string{"p", "q"}, "own", "m", "m"},
		"an unlisted one":                        {[]string{"p"}, "own", "small", "small"},
		"the vendor's, while another is current": {[]string{"p"}, "p/m", "own", "own"},
		"one under the portal's id":              {[]string{"p", "q"}, "own", "q/m", "q/m"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, sdk.CalledModel(tc.providers, tc.current, tc.local)) })
	}
}

func TestListOfModels(t *testing.T) {
	local := sdk.Provider{Name: "local", Type: "openai", BaseURL: "http://127.0.0.1:1", Models: []string{"org/m", "n"}}
	dead := sdk.Provider{Name: "dead", Type: "openai", BaseURL: "http://127.0.0.1:1"}
	for name, tc := range map[string]struct {
		fake   scriptedCLI
		change func(*sdk.Options)
		want   []agent.Model
		state  agent.HealthState
	}{
		"is the account's if signed in": {
			scriptedCLI{SignedIn: true, Models: account}, nil, accountModels, agent.HealthReady,
		},
		"has the demo if configured": {
			scriptedCLI{SignedIn: true, Models: account},
			func(o *sdk.Options) { o.DemoAlways = true },
			append(accountModels[:3:3], demoListed), agent.HealthReady,
		},
		"has the demo if there is nothing else": {scriptedCLI{}, nil, []agent.Model{demoListed}, agent.HealthSignedOut},
		"is empty without the demo": {
			scriptedCLI{}, func(o *sdk.Options) { o.Demo = nil }, []agent.Model{}, agent.HealthSignedOut,
		},
		"has no demo beside own providers": {
			scriptedCLI{},
			func(o *sdk.Options) { o.Providers = []sdk.Provider{local} },
			[]agent.Model{{ID: "local/org/m", Name: "org/m (local)"}, {ID: "local/n", Name: "n (local)"}},
			agent.HealthSignedOut,
		},
		"has nothing of an account that is not used": {
			scriptedCLI{SignedIn: true, Models: account},
			func(o *sdk.Options) { o.Providers, o.WithoutAccount = []sdk.Provider{local}, true },
			[]agent.Model{{ID: "local/org/m", Name: "org/m (local)"}, {ID: "local/n", Name: "n (local)"}},
			agent.HealthReady,
		},
		"has all in order": {
			scriptedCLI{SignedIn: true, Models: account},
			func(o *sdk.Options) { o.Providers, o.DemoAlways = []sdk.Provider{dead, local}, true },
			append(accountModels[:3:3], agent.Model{ID: "local/org/m", Name: "org/m (local)"}, agent.Model{ID: "local/n", Name: "n (local)"}, demoListed),
			agent.HealthReady,
		},
		"has the others if the account's are unavailable": {
			scriptedCLI{SignedIn: true},
			func(o *sdk.Options) { o.Providers = []sdk.Provider{local} },
			[]agent.Model{{ID: "local/org/m", Name: "org/m (local)"}, {ID: "local/n", Name: "n (local)"}},
			agent.HealthFailed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.fake.Version = sdk.MinVersion
			d := tc.fake.driver(t, tc.change)
			got, err := launch(t, d).Models(t.Context())
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
			h := d.Health()
			assert.Equal(t, tc.state, h.State)
			assert.Equal(t, sdk.MinVersion, h.Version)
			if tc.state != agent.HealthReady {
				assert.NotEmpty(t, h.Message)
				assert.NotEmpty(t, h.Hint)
			}
		})
	}
	t.Run("is an error if the demo does not start", func(t *testing.T) {
		d := scriptedCLI{Version: sdk.MinVersion}.driver(t, func(o *sdk.Options) {
			o.Demo = func() (sdk.Provider, error) { return sdk.Provider{}, errors.New("no port") }
		})
		_, err := launch(t, d).Models(t.Context())
		require.EqualError(t, err, "the demo model did not start: no port")
	})
}

func TestModelListIsCached(t *testing.T) {
	file := filepath.Join(t.TempDir(), "asked")
	var lists atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		lists.Add(1)
		_, _ = w.Write([]byte(`{"data":[{"id":"m"}]}`))
	}))
	defer s.Close()
	d := scriptedCLI{Version: sdk.MinVersion, SignedIn: true, Models: account, Asked: file}.driver(t, func(o *sdk.Options) {
		o.Providers = []sdk.Provider{{Name: "p", Type: "openai", BaseURL: s.URL}}
	})
	one, two := launch(t, d), launch(t, d)
	var all sync.WaitGroup
	for range 20 { // alternate between two processes, as a pool of two does
		for _, a := range []*sdk.Agent{one, two} {
			all.Go(func() {
				_, err := a.Models(t.Context())
				assert.NoError(t, err)
			})
		}
	}
	all.Wait()
	assert.Equal(t, 2, asked(t, file, "auth.getStatus"))
	assert.Equal(t, int32(2), lists.Load())
}

func TestAbandonedModelListIsCached(t *testing.T) {
	slow := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-slow:
			_, _ = w.Write([]byte(`{"data":[{"id":"m"}]}`))
		case <-r.Context().Done():
		}
	}))
	defer s.Close()
	d := scriptedCLI{Version: sdk.MinVersion, SignedIn: true, Models: account}.driver(t, func(o *sdk.Options) {
		o.Providers = []sdk.Provider{{Name: "p", Type: "openai", BaseURL: s.URL}}
	})
	a := launch(t, d)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := a.Models(ctx) // a client that gives up
	require.ErrorIs(t, err, context.DeadlineExceeded)
	close(slow)
	got, err := a.Models(t.Context())
	require.NoError(t, err)
	assert.Equal(t, append(accountModels[:3:3], agent.Model{ID: "p/m", Name: "m (p)"}), got)
	assert.Equal(t, agent.HealthReady, d.Health().State)
}

func TestListOfModelsThatAnotherCallerAwaitsCanBeAbandoned(t *testing.T) {
	asked := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	defer s.Close()
	a := launch(t, scriptedCLI{Version: sdk.MinVersion, SignedIn: true, Models: account}.driver(t, func(o *sdk.Options) {
		o.Providers = []sdk.Provider{{Name: "p", Type: "openai", BaseURL: s.URL}}
	}))
	other, abandon := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { _, _ = a.Models(other) })
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := a.Models(ctx)
	require.ErrorIs(t, err, context.Canceled)
	abandon()
	work.Wait()
}

func TestHangingProvidersAreAwaitedConcurrently(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer s.Close()
	d := scriptedCLI{Version: sdk.MinVersion, SignedIn: true, Models: account}.driver(t, func(o *sdk.Options) {
		for _, name := range []string{"a", "b", "c", "d"} {
			o.Providers = append(o.Providers, sdk.Provider{Name: name, Type: "openai", BaseURL: s.URL})
		}
	})
	a := launch(t, d)
	begin := testclock.Now()
	got, err := a.Models(t.Context())
	require.NoError(t, err)
	assert.Equal(t, accountModels, got)
	assert.Less(t, begin.Elapsed(), 11*time.Second)
}

func TestUnresponsiveAgentIsUnavailable(t *testing.T) {
	t.Run("after a while", func(t *testing.T) {
		a := launch(t, scriptedCLI{Version: sdk.MinVersion, Silent: "auth.getStatus"}.driver(t, nil))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := a.Models(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
	t.Run("at once if it has ended", func(t *testing.T) {
		a := launch(t, scriptedCLI{Version: sdk.MinVersion, Dies: "auth.getStatus"}.driver(t, nil))
		begin := testclock.Now()
		_, err := a.Models(t.Context())
		require.ErrorContains(t, err, "the Copilot CLI's process has ended")
		assert.Equal(t, fault.Unavailable, fault.KindOf(err))
		assert.Less(t, begin.Elapsed(), soon)
		<-a.Done()
		_, err = a.Models(t.Context())
		require.ErrorContains(t, err, "has ended")
		_, err = a.Open(t.Context(), agent.Opening{}, func(string, event.Body) {})
		require.ErrorContains(t, err, "has ended")
	})
}

// The connection of a CLI that dies breaks shortly before its process has ended.
func TestAgentWithABrokenConnectionIsUnavailable(t *testing.T) {
	a := launch(t, scriptedCLI{Version: sdk.MinVersion, HangsUp: "ping", Results: map[string]string{"session.create": `{"sessionId":"s"}`}}.driver(t, nil))
	c := open(t, a, func(o *agent.Opening) { o.Session = "s" })
	var err error
	for began := time.Now(); (err == nil || errors.Is(err, context.DeadlineExceeded)) && time.Since(began) < time.Minute; { // the first calls have no answer
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err = a.Ping(ctx)
		cancel()
	}
	assert.Equal(t, fault.Unavailable, fault.KindOf(err), "%v", err)
	err = c.Send(t.Context(), event.Prompt{Text: "hello"})
	assert.Equal(t, fault.Unavailable, fault.KindOf(err), "%v", err)
}

func TestSignInIsNoticedWhileTheCLIRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "signed-in")
	d := scriptedCLI{Version: sdk.MinVersion, Models: account, SignsIn: file}.driver(t, nil)
	a := launch(t, d)
	got, err := a.Models(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []agent.Model{demoListed}, got)
	h := d.Health()
	assert.Equal(t, agent.HealthSignedOut, h.State)
	self, err := os.Executable()
	require.NoError(t, err)
	assert.Contains(t, h.Hint, "`"+self+" login`")
	assert.Contains(t, h.Hint, "a minute")

	require.NoError(t, os.WriteFile(file, nil, 0o600))
	a.Expire()
	got, err = a.Models(t.Context())
	require.NoError(t, err)
	assert.Equal(t, accountModels, got)
	assert.Equal(t, agent.HealthReady, d.Health().State)

	require.NoError(t, os.Remove(file))
	a.Expire()
	_, err = a.Models(t.Context())
	require.NoError(t, err)
	assert.Equal(t, agent.HealthSignedOut, d.Health().State, "a sign-out is noticed, too")
}
