package studio_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/jobs/studio"
	"github.com/copilot-portal/portal/jobs/studio/code"
)

// testStudio is a studio with scripted agents.
type testStudio struct {
	*studio.Host

	t        *testing.T
	agents   *fake.Agents
	sessions *copilot.Host
	answer   func(*fake.Turn)

	mu      sync.Mutex
	prompts []string // that the agents received
}

// withStudio runs a test in virtual time, with a scripted agent.
func withStudio(t *testing.T, answer func(*fake.Turn), test func(*testStudio)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := &testStudio{t: t, agents: fake.New(), answer: answer}
		defer r.agents.Close()
		r.agents.Script = func(turn *fake.Turn) {
			r.mu.Lock()
			r.prompts = append(r.prompts, turn.Prompt)
			r.mu.Unlock()
			turn.Answer(func() { r.answer(turn) })
		}
		r.sessions = r.agents.NewHost(copilot.Options{})
		defer r.sessions.Close(context.Background())
		r.Host = studio.New(studio.Options{Sessions: r.sessions, Policy: permission.Everywhere(permission.Allow), Directory: dir})
		test(r)
	})
}

// asked returns the prompts so far.
func (r *testStudio) asked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.prompts...)
}

func (r *testStudio) turn() *studio.Turn {
	r.t.Helper()
	turn, err := r.Turn()
	require.NoError(r.t, err)
	return turn
}

func (r *testStudio) turnIn(tab string) *studio.Turn {
	r.t.Helper()
	turn, err := r.TurnIn(tab)
	require.NoError(r.t, err)
	return turn
}

// generate generates an interface to the API of the tests, and returns the streamed code.
func (r *testStudio) generate(ctx context.Context) (g studio.Generated, streamed string, err error) {
	r.t.Helper()
	g, err = r.turn().Generate(ctx, studio.GenerateRequest{Spec: describe("A list of films.")}, func(piece string) { streamed += piece })
	return g, streamed, err
}

// chat sends a message in a tab.
func (r *testStudio) chat(tab, message string) (studio.Chatted, error) {
	r.t.Helper()
	return r.turnIn(tab).Chat(context.Background(), studio.ChatRequest{Message: message}, func(string) {})
}

// app returns valid code with a title.
func app(title string) string {
	return fmt.Sprintf("function Title() { return <h1>%s</h1>; }\nfunction App() { return <Title />; }\n", title)
}

// whole returns code as the studio returns it.
func whole(source string) string { return source + code.Mount(source) }

// inBlock returns an answer with code.
func inBlock(source string) string {
	return "```jsx\n" + source + "```\nDescription: It shows a title.\nAssumptions:\n- The title is fixed.\n- Nobody minds.\n"
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

// hangs is a script that works until it is aborted.
func hangs(t *fake.Turn) { t.WaitForAbort() }

// describe returns the API of the tests as a NormalizedSpec (spec/contracts/cli-protocol.notes.md, "As the CLI").
func describe(description string) json.RawMessage {
	raw, _ := json.Marshal(map[string]any{
		"format": "openapi3", "metadata": map[string]any{"title": "Films", "version": "1", "description": description, "baseUrl": "https://films.test"},
		"endpoints": []any{map[string]any{
			"path": "/films", "method": "GET", "operationId": "listFilms", "parameters": []any{},
			"responses": map[string]any{"200": map[string]any{"statusCode": "200", "description": "OK"}},
		}},
		"models": []any{},
	})
	return raw
}

// between returns the text between marks of a kind in a prompt, and their code.
func between(t *testing.T, prompt, kind string) (text, code string) {
	t.Helper()
	begin := regexp.MustCompile(`(?m)^=== ` + kind + ` ([0-9a-f]{16}) begins ===\n`).FindStringSubmatchIndex(prompt)
	require.NotNil(t, begin, "the prompt has no %s", kind)
	code = prompt[begin[2]:begin[3]]
	text, _, closed := strings.Cut(prompt[begin[1]:], "\n=== "+kind+" "+code+" ends ===")
	require.True(t, closed)
	return text, code
}

// vast returns an API that is too large for any model.
func vast() json.RawMessage {
	var endpoints []any
	for i := range 3000 {
		endpoints = append(endpoints, map[string]any{
			"path": fmt.Sprintf("/%s/%d", strings.Repeat("long", 30), i), "method": "GET", "parameters": []any{}, "responses": map[string]any{},
		})
	}
	raw, _ := json.Marshal(map[string]any{
		"format": "openapi3", "metadata": map[string]any{"title": "Vast", "version": "1"}, "endpoints": endpoints, "models": []any{},
	})
	return raw
}

// wait lets virtual time pass.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
