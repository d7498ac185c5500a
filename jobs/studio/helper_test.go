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

// room is a studio with scripted agents.
type room struct {
	*studio.Host

	t        *testing.T
	agents   *fake.Agents
	sessions *copilot.Host
	answer   func(*fake.Turn)

	mu      sync.Mutex
	prompts []string // that the agents got
}

// inRoom runs a test in virtual time. The agent answers as the test says.
func inRoom(t *testing.T, answer func(*fake.Turn), test func(*room)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := &room{t: t, agents: fake.New(), answer: answer}
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

// asked are the prompts so far.
func (r *room) asked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.prompts...)
}

func (r *room) turn() *studio.Turn {
	r.t.Helper()
	turn, err := r.Turn()
	require.NoError(r.t, err)
	return turn
}

func (r *room) turnIn(tab string) *studio.Turn {
	r.t.Helper()
	turn, err := r.TurnIn(tab)
	require.NoError(r.t, err)
	return turn
}

// generate asks for an interface to the API of the tests, and gives what was told.
func (r *room) generate(ctx context.Context) (g studio.Generated, told string, err error) {
	r.t.Helper()
	g, err = r.turn().Generate(ctx, studio.GenerateRequest{Spec: describe("A list of films.")}, func(piece string) { told += piece })
	return g, told, err
}

// chat says something in a tab.
func (r *room) chat(tab, message string) (studio.Chatted, error) {
	r.t.Helper()
	return r.turnIn(tab).Chat(context.Background(), studio.ChatRequest{Message: message}, func(string) {})
}

// app is code that passes, with a name in it.
func app(title string) string {
	return fmt.Sprintf("function Title() { return <h1>%s</h1>; }\nfunction App() { return <Title />; }\n", title)
}

// whole is code as it is given out.
func whole(source string) string { return source + code.Mount(source) }

// inBlock is an answer with code.
func inBlock(source string) string {
	return "```jsx\n" + source + "```\nDescription: It shows a title.\nAssumptions:\n- The title is fixed.\n- Nobody minds.\n"
}

// says is an agent that gives these answers one after another, the last one for ever.
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

// hangs is an agent that works until it is told to end.
func hangs(t *fake.Turn) { t.WaitForAbort() }

// describe is the API of the tests as a NormalizedSpec (spec/contracts/cli-protocol.notes.md, "As the CLI").
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

// between takes what stands in a prompt between marks of a kind, with their code.
func between(t *testing.T, prompt, kind string) (text, code string) {
	t.Helper()
	begin := regexp.MustCompile(`(?m)^=== ` + kind + ` ([0-9a-f]{16}) begins ===\n`).FindStringSubmatchIndex(prompt)
	require.NotNil(t, begin, "the prompt has no %s", kind)
	code = prompt[begin[2]:begin[3]]
	text, _, closed := strings.Cut(prompt[begin[1]:], "\n=== "+kind+" "+code+" ends ===")
	require.True(t, closed)
	return text, code
}

// vast is an API that no model reads at once.
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
