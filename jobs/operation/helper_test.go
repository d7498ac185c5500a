package operation_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/jobs/operation"
)

// machine is the environment of portals: agents, a data directory, a project.
type machine struct {
	t       *testing.T
	agents  *fake.Agents
	data    string
	project string
	limits  copilot.Limits
}

// portal is a process on a machine.
type portal struct {
	*machine

	store    *store.Store // nil: ephemeral
	sessions *copilot.Host
	host     *operation.Host
	dead     atomic.Bool
}

// onMachine runs a test in virtual time. All goroutines must end; otherwise the bubble panics.
func onMachine(t *testing.T, test func(*machine)) {
	t.Helper()
	data, project := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		m := &machine{t: t, agents: fake.New(), data: data, project: project}
		defer m.agents.Close()
		test(m)
	})
}

// inMemory is onMachine with one portal without a store.
func inMemory(t *testing.T, test func(*portal)) {
	t.Helper()
	onMachine(t, func(m *machine) {
		p := m.portal(nil, operation.Options{})
		defer p.stop()
		test(p)
	})
}

// stored is onMachine with one portal and a store.
func stored(t *testing.T, test func(*portal)) {
	t.Helper()
	onMachine(t, func(m *machine) {
		p := m.open()
		defer p.stop()
		test(p)
	})
}

// open starts a portal with a store.
func (m *machine) open() *portal {
	m.t.Helper()
	s, err := store.Open(context.Background(), store.Options{Directory: m.data})
	require.NoError(m.t, err)
	return m.portal(s, operation.Options{})
}

func (m *machine) portal(s *store.Store, o operation.Options) *portal {
	p := &portal{machine: m, store: s}
	p.sessions = copilot.NewHost(copilot.Options{Store: s, Launch: p.launch, Health: m.agents.Health, Limits: m.limits})
	o.Sessions, o.Store, o.Directory = p.sessions, s, m.project
	if o.Policy == nil {
		o.Policy = permission.Everywhere(permission.Allow)
	}
	p.host = operation.New(o)
	return p
}

func (p *portal) launch(ctx context.Context) (agent.Agent, error) {
	if p.dead.Load() {
		return nil, errors.New("the portal was killed")
	}
	return p.agents.Launch(ctx)
}

// stop ends the portal gracefully.
func (p *portal) stop() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	began := time.Now()
	p.host.Close(ctx)
	assert.Less(p.t, time.Since(began), time.Second, "operations end at once")
	p.sessions.Close(ctx)
	if p.store != nil && !p.dead.Load() {
		require.NoError(p.t, p.store.Close())
	}
}

// kill ends the portal and its agents like kill -9.
func (p *portal) kill() {
	p.t.Helper()
	p.dead.Store(true)
	require.NoError(p.t, p.store.Kill())
	p.agents.Kill()
	p.host.Close(context.Background()) // no one sees the results
	p.sessions.Close(context.Background())
}

// start starts an operation, by default on a small document.
func (p *portal) start(r operation.Request) *operation.Operation {
	p.t.Helper()
	if r.Type == "" {
		r.Type = operation.Clarify
	}
	if r.Document == "" && r.Path == "" && r.Feature == "" && r.Type != operation.Prompt {
		r.Document = "# The secret specification\n"
	}
	o, err := p.host.Start(context.Background(), r)
	require.NoError(p.t, err)
	return o
}

// do runs an operation from start to end.
func (p *portal) do(r operation.Request) (*operation.Operation, []operation.Message) {
	p.t.Helper()
	o := p.start(r)
	return o, all(p.t, o)
}

// all reads an operation to its end and checks its invariants.
func all(t *testing.T, o *operation.Operation) []operation.Message {
	t.Helper()
	list := rest(t, o, -1)
	check(t, o, list)
	return list
}

// rest reads the messages after a sequence, to the end.
func rest(t *testing.T, o *operation.Operation, after int) (list []operation.Message) {
	t.Helper()
	for {
		some, err := o.Next(context.Background(), after, 0)
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		require.NotEmpty(t, some)
		list = append(list, some...)
		after = some[len(some)-1].Sequence
	}
}

// present reads without waiting.
func present(t *testing.T, o *operation.Operation, after int) []operation.Message {
	t.Helper()
	now, cancel := context.WithCancel(context.Background())
	cancel()
	list, err := o.Next(now, after, operation.MaxMessages)
	if !errors.Is(err, context.Canceled) && !errors.Is(err, io.EOF) {
		require.NoError(t, err)
	}
	return list
}

// check checks what holds for all ended operations.
func check(t *testing.T, o *operation.Operation, list []operation.Message) {
	t.Helper()
	require.NotEmpty(t, list)
	assert.LessOrEqual(t, len(list), operation.MaxMessages)
	ids := map[string]bool{}
	for i, m := range list {
		assert.Equal(t, i, m.Sequence)
		assert.Equal(t, i == len(list)-1, m.Type == operation.Complete, "only the last message is complete: %v", m)
		assert.NotEmpty(t, strings.TrimSpace(m.Content))
		assert.LessOrEqual(t, len(m.Content), 10_000)
		assert.NotContains(t, m.Content, "secret specification", "the document is not reported")
		require.NoError(t, uuid.Validate(m.ID))
		assert.False(t, ids[m.ID], "ids are unique")
		ids[m.ID] = true
		if m.Type == operation.Error {
			assert.Equal(t, "high", m.Priority)
		} else {
			assert.Empty(t, m.Priority)
		}
		checkFrame(t, o, m)
	}
	info := o.Info()
	assert.True(t, info.Status.Ended(), info.Status)
	assert.Equal(t, len(list), info.Messages)
	assert.Equal(t, len(list)-1, o.Last())
	assert.False(t, info.Ended.IsZero())
	assert.Equal(t, info.Status == operation.Completed, info.Result != nil)
	assert.Equal(t, info.Status == operation.Completed, info.Progress == 100, info.Progress)
	assert.Equal(t, info.Status == operation.Failed || info.Status == operation.Interrupted, info.Error != "")
}

func checkFrame(t *testing.T, o *operation.Operation, m operation.Message) {
	t.Helper()
	want := map[string]any{
		"id": m.ID, "operation_id": o.Info().ID, "sequence": float64(m.Sequence), "type": string(m.Type), "content": m.Content,
		"timestamp": m.Time.UTC().Format("2006-01-02T15:04:05.000Z"), "sender": m.Sender,
	}
	meta := map[string]any{}
	if m.Subsection != "" {
		meta["subsection"] = m.Subsection
	}
	if m.Priority != "" {
		meta["priority"] = m.Priority
	}
	if m.Request != "" {
		meta["request_id"] = m.Request
	}
	if m.Closes != "" {
		meta["closes_request_id"] = m.Closes
	}
	if len(meta) > 0 {
		want["metadata"] = meta
	}
	var got map[string]any
	require.NoError(t, json.Unmarshal(m.Frame, &got))
	assert.Equal(t, want, got)
}

// story formats messages, one line each.
func story(list []operation.Message) []string {
	var lines []string
	for _, m := range list {
		line := string(m.Type)
		if m.Subsection != "" {
			line += " (" + m.Subsection + ")"
		}
		lines = append(lines, line+": "+m.Content)
	}
	return lines
}

const (
	oneQuestion = `{"questions": [{"question": "How fast?", "context": "It decides the design.", "options": ["1 s", "10 s"], "recommended": "1 s"}]}`
	noQuestions = `{"questions": []}`
	aPlan       = `{"title": "The plan", "document": "# Plan\n\nDo it."}`
)

// reports returns a script that runs actions and then reports a result.
func reports(tool, arguments string, does ...func(*fake.Turn)) func(*fake.Turn) {
	return func(t *fake.Turn) {
		for _, do := range does {
			do(t)
		}
		t.UseTool(tool, arguments)
	}
}

// file writes a file of the project.
func (m *machine) file(path, text string) {
	m.t.Helper()
	path = filepath.Join(m.project, path)
	require.NoError(m.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(m.t, os.WriteFile(path, []byte(text), 0o600))
}

// wait lets virtual time pass.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
