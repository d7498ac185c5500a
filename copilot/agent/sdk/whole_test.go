package sdk_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/agent/sdk/formserver"
	"github.com/copilot-portal/portal/copilot/demo"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

// The tests of this file use the domain with the real CLI, as a dialect does.

// whole is a host with the real CLI.
type whole struct {
	*testing.T
	host *copilot.Host
}

func newWhole(t *testing.T) whole {
	t.Helper()
	home := t.TempDir()
	formserver.Configure(t, home, map[string]string{"vault": formserver.Vault(t)})
	o := options(t)
	o.Env = environ(home)
	demo, err := o.Demo()
	require.NoError(t, err)
	other := demo
	other.Name, other.Title = "other", ""
	o.Providers = []sdk.Provider{other}
	driver := sdk.New(o)
	host := copilot.NewHost(copilot.Options{Launch: driver.Launch, Health: driver.Health, Model: "demo", Pool: agent.PoolOptions{StartTimeout: late}})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		host.Close(ctx)
	})
	return whole{t, host}
}

// with returns the same host for a subtest.
func (w whole) with(t *testing.T) whole {
	t.Helper()
	w.T = t
	return w
}

// viewer is a session and a reader of its record.
type viewer struct {
	whole
	*copilot.Session
	after uint64
}

func (w whole) start(change func(*copilot.Start)) *viewer {
	w.Helper()
	start := copilot.Start{Origin: "test", Directory: w.TempDir(), AskUser: true}
	if change != nil {
		change(&start)
	}
	ctx, cancel := context.WithTimeout(context.Background(), late)
	defer cancel()
	s, err := w.host.Start(ctx, start)
	require.NoError(w, err)
	w.Cleanup(func() { _ = s.Close() })
	return &viewer{whole: w, Session: s}
}

func (v *viewer) prompt(p event.Prompt) string {
	v.Helper()
	id, err := v.Prompt(p)
	require.NoError(v, err)
	return id
}

func (v *viewer) answer(q event.Question, a event.Answer) {
	v.Helper()
	require.NoError(v, v.Answer(q.ID, a, "test"))
}

// next reads up to the next body of a type and returns it with all events read.
func next[B event.Body](v *viewer) (B, []event.Event) {
	v.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), late)
	defer cancel()
	var passed []event.Event
	for {
		entries, err := v.Record().Next(ctx, v.after, 1)
		if err != nil {
			require.FailNow(v, "missing event", "%T: %v; but %s", *new(B), err, showEvents(passed))
		}
		v.after = entries[0].N
		passed = append(passed, entries[0].Value)
		if found, ok := entries[0].Value.Body.(B); ok {
			return found, passed
		}
	}
}

// question waits for a question of a kind.
func (v *viewer) question(kind event.QuestionKind) event.Question {
	v.Helper()
	asked, _ := next[event.QuestionAsked](v)
	require.Equal(v, kind, asked.Question.Kind, "%+v", asked.Question)
	return asked.Question
}

// end waits for the end of the run and returns its outcome and the last message.
func (v *viewer) end() (event.RunEnded, string) {
	v.Helper()
	end, passed := next[event.RunEnded](v)
	return end, lastSaid(passed)
}

// run runs a prompt to its end.
func (v *viewer) run(p event.Prompt) string {
	v.Helper()
	v.prompt(p)
	end, said := v.end()
	require.Equal(v, event.Completed, end.Outcome, end.Text)
	return said
}

func lastSaid(events []event.Event) string {
	said := ""
	for _, e := range events {
		if m, ok := e.Body.(event.MessageEnded); ok && m.Text != "" && e.Agent == "" {
			said = m.Text
		}
	}
	return said
}

// among returns the bodies of a type with their sub-agents.
func among[B event.Body](events []event.Event) (list []B, agents []string) {
	for _, e := range events {
		if b, ok := e.Body.(B); ok {
			list, agents = append(list, b), append(agents, e.Agent)
		}
	}
	return list, agents
}

func showEvents(events []event.Event) string {
	bodies := make([]event.Body, 0, len(events))
	for _, e := range events {
		bodies = append(bodies, e.Body)
	}
	return show(bodies)
}

func text(s string) event.Prompt { return event.Prompt{Text: s} }

func TestWholeAgent(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	for _, tc := range []struct {
		name string
		do   func(whole)
	}{
		{"a permission shows the whole command, and the reason of a refusal reaches the model", permissionOfACommand},
		{"a permission for git allows plain git and no other command", gitPermission},
		{"a permission shows the diff, and is remembered for the session", permissionOfADiff},
		{"a question is answered by choice or freely", userInput},
		{"a form of an MCP server is filled in or declined", form},
		{"a page to visit is a question, too", signIn},
		{"a plan is proposed, sent back with feedback and approved", planApproval},
		{"to-dos come as complete snapshots, the last before the end of the run", todos},
		{"events of a sub-agent are attributed to it", subagent},
		{"the conversation is compacted on demand", compaction},
		{"usage, title and account are known", usage},
		{"the model is switched by its display name", switchModel},
		{"the mode of a prompt reaches the model", modes},
		{"one prompt waits, another steers", queueAndSteer},
		{"a run with an open question is cancelled", cancel},
		{"attachments reach the model", attachments},
		{"a client's tool is called under its own name", clientTool},
		{"a client's tool may fail, be refused or stay silent", clientToolFails},
		{"MCP servers and skills are listed with their state", extensions},
		{"an MCP server is signed in to", signInToServer},
		{"MCP servers are checked and signed in to without a session", checkServers},
		{"a message is ended when its connection breaks", brokenConnection},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.do(w.with(t)) })
	}
}

// gitPermission allows only git.commit.
func gitPermission(w whole) {
	v := w.start(func(s *copilot.Start) { s.Policy = permission.Policy{permission.Commit: permission.Allow} })
	v.prompt(text("run `GIT_EDITOR='touch hacked' git commit --allow-empty`"))
	q := v.question(event.AskPermission)
	assert.ElementsMatch(w, []string{permission.Commit, permission.Exec}, q.Names)
	v.answer(q, event.Answer{Reason: "no"})
	v.end()
	v.prompt(text("run `git commit -m x > out.txt`"))
	q = v.question(event.AskPermission)
	assert.ElementsMatch(w, []string{permission.Commit, permission.Write}, q.Names)
	v.answer(q, event.Answer{Reason: "no"})
	v.end()
	v.run(text("run `git commit --allow-empty -m x`"))
	require.NoError(w, v.SetRules(permission.Policy{"*": permission.Allow, permission.Push: permission.Deny}))
	v.prompt(text("run `tar --checkpoint=1 --checkpoint-action=exec='git push' -cf x.tar .`"))
	v.answer(v.question(event.AskPermission), event.Answer{Reason: "no"})
	v.end()
	said := v.run(text("run `git push`"))
	assert.Contains(w, said, "permissions of this session")
	v.run(text("run `ls && git status`"))
}

func permissionOfACommand(w whole) {
	v := w.start(nil)
	v.prompt(text("run `echo one && echo two > out.txt`"))
	q := v.question(event.AskPermission)
	assert.Equal(w, "echo one && echo two > out.txt", q.Detail)
	assert.Contains(w, q.Names, permission.Exec)
	assert.Equal(w, copilot.StateWaiting, v.Info().State)
	v.answer(q, event.Answer{Reason: "not today"})
	require.ErrorIs(w, v.Answer(q.ID, event.Answer{Approved: true}, "late"), fault.ErrAlreadyAnswered)
	tool, _ := next[event.ToolEnded](v)
	require.NotNil(w, tool.Error)
	assert.Contains(w, tool.Error.Text, "not today")
	end, said := v.end()
	assert.Equal(w, event.Completed, end.Outcome)
	assert.Contains(w, said, "not today")
}

func permissionOfADiff(w whole) {
	v := w.start(nil)
	file := filepath.Join(v.Info().Directory, "a.txt")
	require.NoError(w, os.WriteFile(file, []byte("old line\n"), 0o600))
	v.prompt(text("edit `a.txt` `old` `new` and edit `a.txt` `new` `newer`"))
	q := v.question(event.AskPermission)
	assert.Contains(w, q.Detail, "-old line")
	assert.Contains(w, q.Detail, "+new line")
	v.answer(q, event.Answer{Approved: true, Remember: true})
	_, passed := next[event.RunEnded](v)
	asked, _ := among[event.QuestionAsked](passed)
	assert.Empty(w, asked, "the answer was remembered")
	b, err := os.ReadFile(file)
	require.NoError(w, err)
	assert.Equal(w, "newer line\n", string(b))
}

func userInput(w whole) {
	v := w.start(nil)
	v.prompt(text("ask `Tea?` choices `yes` `no`"))
	q := v.question(event.AskInput)
	assert.Equal(w, "Tea?", q.Text)
	assert.Equal(w, []string{"yes", "no"}, q.Choices)
	v.answer(q, event.Answer{Text: "yes"})
	_, said := v.end()
	assert.Contains(w, said, "yes")
	v.prompt(text("ask `Why?`"))
	v.answer(v.question(event.AskInput), event.Answer{Text: "because it rains"})
	_, said = v.end()
	assert.Contains(w, said, "because it rains")
	v.prompt(text("ask `Coffee?` choices `yes` `no`"))
	v.answer(v.question(event.AskInput), event.Answer{Reason: "I would rather not say."})
	_, said = v.end()
	assert.Contains(w, said, "The question was not answered: I would rather not say.")
}

func TestUnansweredQuestionExpires(t *testing.T) {
	t.Parallel()
	w := whole{t, host(t, copilot.Options{Limits: copilot.Limits{Question: time.Second}}, nil)}
	v := w.start(func(s *copilot.Start) { s.Model = demo.ModelID })
	for prompt, kind := range map[string]event.QuestionKind{"ask `Why?`": event.AskInput, "run `echo x`": event.AskPermission} {
		v.prompt(text(prompt))
		q := v.question(kind)
		assert.False(w, q.Deadline.IsZero())
		over, _ := next[event.QuestionClosed](v)
		assert.Equal(w, event.QuestionClosed{ID: q.ID, Kind: kind, Ending: event.Expired}, over)
		require.ErrorIs(w, v.Answer(q.ID, event.Answer{Approved: true, Text: "late"}, "late"), fault.ErrAlreadyAnswered)
		end, _ := v.end()
		assert.Equal(w, event.Completed, end.Outcome)
	}
	assert.Equal(w, "on we go", v.run(text("say `on we go`")))
}

func form(w whole) {
	v := w.start(func(s *copilot.Start) { s.Policy = permission.Policy{"mcp.desk.form": permission.Allow} })
	v.prompt(text("call `desk-form`"))
	q := v.question(event.AskForm)
	assert.Equal(w, "desk", q.Source)
	assert.Equal(w, "Who are you?", q.Text)
	require.NotNil(w, q.Form)
	names := []string{}
	for _, f := range q.Form.Fields {
		names = append(names, f.Name)
	}
	assert.Equal(w, []string{"name", "age", "color", "news"}, names, "required fields come first")
	assert.Equal(w, []event.Choice{{Value: "red", Title: "Red"}, {Value: "green", Title: "Green"}}, q.Form.Fields[2].Choices)
	require.ErrorContains(w, v.Answer(q.ID, event.Answer{Approved: true, Fields: map[string]any{"age": 7.0}}, "test"), "name")
	v.answer(q, event.Answer{Approved: true, Fields: map[string]any{"name": "Ada", "age": 36.0, "news": false}})
	_, said := v.end()
	assert.Contains(w, said, `"action":"accept"`)
	assert.Contains(w, said, `"name":"Ada"`)
	assert.Contains(w, said, `"age":36`)
	v.prompt(text("call `desk-form`"))
	v.answer(v.question(event.AskForm), event.Answer{})
	_, said = v.end()
	assert.Contains(w, said, `"action":"decline"`)
}

func signIn(w whole) {
	v := w.start(func(s *copilot.Start) { s.Policy = permission.Policy{"mcp.desk": permission.Allow} })
	v.prompt(text("call `desk-visit`"))
	q := v.question(event.AskSignIn)
	assert.Equal(w, "https://example.com/login", q.URL)
	assert.Equal(w, "Sign in there", q.Text)
	v.answer(q, event.Answer{Approved: true})
	_, said := v.end()
	assert.Contains(w, said, `"action":"accept"`)
}

func planApproval(w whole) {
	v := w.start(nil)
	const propose = "call `exit_plan_mode` `{\"summary\":\"# Do it\\n- first\",\"actions\":[\"autopilot\",\"interactive\"],\"recommendedAction\":\"interactive\"}`"
	v.prompt(event.Prompt{Text: propose, Mode: event.ModePlan})
	plan, _ := next[event.PlanChanged](v)
	assert.Equal(w, "# Do it\n- first", plan.Text)
	q := v.question(event.AskPlan)
	assert.Equal(w, "Do it", q.Title)
	assert.Equal(w, "# Do it\n- first", q.Text)
	require.NotEmpty(w, q.Choices)
	assert.Equal(w, "interactive", q.Choices[0], "the recommended choice comes first: %v", q.Choices)
	v.answer(q, event.Answer{Reason: "with tests, please"})
	_, said := v.end()
	assert.Contains(w, said, "with tests, please")
	v.prompt(event.Prompt{Text: propose, Mode: event.ModePlan})
	v.answer(v.question(event.AskPlan), event.Answer{Approved: true, Text: "interactive"})
	_, said = v.end()
	assert.Contains(w, said, "Plan approved")
}

func todos(w whole) {
	v := w.start(nil)
	v.prompt(text("plan `Read the code` `Write the test`"))
	_, passed := next[event.RunEnded](v)
	plans, _ := among[event.PlanChanged](passed)
	require.NotEmpty(w, plans)
	last := plans[len(plans)-1]
	require.Len(w, last.Todos, 2)
	for i, title := range []string{"Read the code", "Write the test"} {
		assert.Equal(w, title, last.Todos[i].Title)
		assert.Equal(w, event.TodoCompleted, last.Todos[i].State)
	}
}

func subagent(w whole) {
	v := w.start(nil)
	v.prompt(text("call `task` `{\"agent_type\":\"explore\",\"description\":\"look around\",\"prompt\":\"think about birds\",\"name\":\"scout\",\"mode\":\"sync\"}`"))
	end, passed := next[event.RunEnded](v)
	require.Equal(w, event.Completed, end.Outcome)
	started, _ := among[event.SubagentStarted](passed)
	require.Len(w, started, 1)
	assert.Equal(w, "explore", started[0].Name)
	calls, _ := among[event.ToolStarted](passed)
	assert.Equal(w, calls[0].ID, started[0].Call)
	ended, _ := among[event.SubagentEnded](passed)
	require.Len(w, ended, 1)
	assert.Equal(w, event.Completed, ended[0].Outcome)
	assert.Equal(w, started[0].ID, ended[0].ID)
	_, agents := among[event.ReasoningEnded](passed)
	assert.Contains(w, agents, started[0].ID, "its thoughts are attributed to it")
}

func compaction(w whole) {
	v := w.start(nil)
	v.run(text("say `something to remember`"))
	_, err := v.Compact()
	require.NoError(w, err)
	end, passed := next[event.RunEnded](v)
	require.Equal(w, event.Completed, end.Outcome, end.Text)
	started, _ := among[event.CompactionStarted](passed)
	ended, _ := among[event.CompactionEnded](passed)
	require.Len(w, started, 1)
	require.Len(w, ended, 1)
	assert.Empty(w, ended[0].Error)
	assert.Positive(w, ended[0].Before)
	assert.Positive(w, ended[0].After)
	assert.Contains(w, v.run(text("say `still here`")), "still here")
	v.prompt(event.Prompt{Text: "say `and on`", Compact: true})
	end, passed = next[event.RunEnded](v)
	require.Equal(w, event.Completed, end.Outcome, end.Text)
	ended, _ = among[event.CompactionEnded](passed)
	require.Len(w, ended, 1)
	assert.Empty(w, ended[0].Error)
	assert.Equal(w, "and on", lastSaid(passed))
	fresh := w.start(nil)
	assert.Equal(w, "hello", fresh.run(event.Prompt{Text: "say `hello`", Compact: true}), "there is nothing to compact yet")
}

func usage(w whole) {
	v := w.start(nil)
	v.run(text("say `hello`"))
	info := v.Info()
	assert.Positive(w, info.Usage.Used)
	assert.Greater(w, info.Usage.Limit, info.Usage.Used)
	assert.Positive(w, info.Usage.Calls)
	assert.Positive(w, info.Usage.Input)
	assert.Positive(w, info.Usage.Output)
	assert.Zero(w, info.Usage.Multiplier, "the demo is free")
	if v.Info().Title == "" { // the CLI may report it after the end
		next[event.TitleChanged](v)
	}
	assert.NotEmpty(w, v.Info().Title)
	account, err := w.host.Account(w.Context())
	require.NoError(w, err)
	assert.False(w, account.SignedIn)
	assert.NotEmpty(w, account.Message)
	assert.Empty(w, account.Quotas)
}

func switchModel(w whole) {
	v := w.start(nil)
	require.NoError(w, v.SetModel(w.Context(), "DEMO (other)"))
	assert.Equal(w, "other/demo", v.Info().Model)
	changed, _ := next[event.ModelChanged](v)
	assert.Equal(w, "other/demo", changed.Model)
	v.prompt(text("say `hello`"))
	called, _ := next[event.ModelCalled](v)
	assert.Equal(w, "other/demo", called.Model)
	_, said := v.end()
	assert.Equal(w, "hello", said)
	require.NoError(w, v.SetModel(w.Context(), demo.ModelID))
	require.ErrorIs(w, v.SetModel(w.Context(), "nobody"), fault.ErrModelNotFound)
	assert.Equal(w, "again", v.run(text("say `again`")))
}

func modes(w whole) {
	v := w.start(nil)
	assert.Contains(w, v.run(event.Prompt{Text: "show request", Mode: event.ModePlan}), "plan_mode")
	assert.Contains(w, v.run(event.Prompt{Text: "show request", Mode: event.ModeAutopilot}), "autopilot_mode")
	assert.Contains(w, v.run(text("show request")), "Autopilot mode is no longer active")
}

func queueAndSteer(w whole) {
	v := w.start(nil)
	first := v.prompt(text("100 tokens in 10 s"))
	second := v.prompt(text("say `behind`"))
	next[event.MessageDelta](v)
	steered := v.prompt(event.Prompt{Text: "say `in between`", Steer: true})
	assert.Equal(w, first, steered)
	_, passed := next[event.RunEnded](v)
	assert.Equal(w, "in between", lastSaid(passed))
	prompts, _ := among[event.UserMessage](passed)
	require.Len(w, prompts, 1)
	assert.True(w, prompts[0].Prompt.Steer)
	for _, e := range passed {
		assert.Equal(w, first, e.Run)
	}
	_, passed = next[event.RunEnded](v)
	assert.Equal(w, "behind", lastSaid(passed))
	assert.Equal(w, second, passed[len(passed)-1].Run)
	alone := v.prompt(event.Prompt{Text: "say `alone`", Steer: true})
	_, passed = next[event.RunEnded](v)
	assert.Equal(w, alone, passed[len(passed)-1].Run, "without a run it is an ordinary prompt")
	assert.Equal(w, "alone", lastSaid(passed))
}

func cancel(w whole) {
	v := w.start(nil)
	v.prompt(text("run `echo no`"))
	q := v.question(event.AskPermission)
	require.NoError(w, v.Cancel(""))
	over, _ := next[event.QuestionClosed](v)
	assert.Equal(w, event.QuestionClosed{ID: q.ID, Kind: event.AskPermission, Ending: event.Withdrawn}, over)
	end, _ := v.end()
	assert.Equal(w, event.Cancelled, end.Outcome)
	v.prompt(text("ask `Anybody?`"))
	v.question(event.AskInput)
	require.NoError(w, v.Cancel(""))
	end, _ = v.end()
	assert.Equal(w, event.Cancelled, end.Outcome)
	assert.Equal(w, "hello", v.run(text("say `hello`")))
}

func attachments(w whole) {
	v := w.start(nil)
	require.NoError(w, os.WriteFile(filepath.Join(v.Info().Directory, "a.go"), []byte("package a\n\nfunc A() {\n}\n"), 0o600))
	image, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	require.NoError(w, err)
	said := v.run(event.Prompt{Text: "show request", Attachments: []event.Attachment{
		{Path: "a.go"},
		{Path: "a.go", First: 3, Last: 4, Symbol: "func A"},
		{Path: "b.go", First: 10, Text: "func B() {}", Symbol: "func B"},
		{Data: image, Type: "image/png", Name: "dot.png"},
		{Path: "."},
	}})
	for _, want := range []string{
		"a.go (5 lines)", "a.go (lines 3-4 of 5 lines)", "func A in " + filepath.Join(v.Info().Directory, "a.go") + ", lines 3-4",
		"b.go (line 10)", "func B() {}", "func B in", "dot.png", "image_url", v.Info().Directory + " (1 items)",
	} {
		assert.Contains(w, said, want)
	}
	said = v.run(event.Prompt{Attachments: []event.Attachment{{Data: image, Type: "image/png", Name: "alone.png"}}})
	assert.NotEmpty(w, said, "an image without text is answered")
	_, err = v.Prompt(event.Prompt{Text: "x", Attachments: []event.Attachment{{Path: "nowhere.go"}}})
	require.ErrorContains(w, err, "nowhere.go")
}

// withTool offers a client's git.commit and allows it.
func withTool(s *copilot.Start) {
	s.Tools = []event.Tool{{
		Name: "git.commit", Description: "Commits", Limit: 3 * time.Second,
		Schema: json.RawMessage(`{"type":"object","properties":{"message":{"type":"string"}}}`),
	}}
	s.Policy = permission.Policy{"git.commit": permission.Allow}
}

func clientTool(w whole) {
	v := w.start(func(s *copilot.Start) {
		withTool(s)
		s.Policy, s.Tools[0].Limit = nil, 0
	})
	v.prompt(text("call `git_commit` `{\"message\":\"feat: birds\"}`"))
	started, _ := next[event.ToolStarted](v)
	assert.Equal(w, "git.commit", started.Name)
	q := v.question(event.AskPermission)
	assert.Equal(w, []string{"git.commit"}, q.Names)
	assert.Equal(w, "Use git.commit", q.Title)
	v.answer(q, event.Answer{Approved: true})
	q = v.question(event.AskTool)
	assert.Equal(w, "git.commit", q.Tool)
	assert.Equal(w, started.ID, q.Call)
	assert.JSONEq(w, `{"message":"feat: birds"}`, string(q.Arguments))
	assert.Equal(w, copilot.StateRunning, v.Info().State, "the session does not wait for a person")
	v.answer(q, event.Answer{Text: "committed as 1a2b3c"})
	tool, _ := next[event.ToolEnded](v)
	require.NotNil(w, tool.Result)
	assert.Equal(w, "committed as 1a2b3c", tool.Result.Content)
	_, said := v.end()
	assert.Contains(w, said, "committed as 1a2b3c")
}

func clientToolFails(w whole) {
	v := w.start(withTool)
	v.prompt(text("call `git_commit` `{}`"))
	v.answer(v.question(event.AskTool), event.Answer{Failed: true, Reason: "nothing to commit"})
	tool, _ := next[event.ToolEnded](v)
	require.NotNil(w, tool.Error)
	assert.Contains(w, tool.Error.Text, "nothing to commit")
	v.end()

	v.prompt(text("call `git_commit` `{}`"))
	q := v.question(event.AskTool)
	assert.False(w, q.Deadline.IsZero())
	over, _ := next[event.QuestionClosed](v)
	assert.Equal(w, event.Expired, over.Ending)
	_, said := v.end()
	assert.Contains(w, said, "no result in time")

	require.NoError(v, v.SetRules(permission.Policy{"git.commit": permission.Deny}))
	v.prompt(text("call `git_commit` `{}`"))
	_, passed := next[event.RunEnded](v)
	asked, _ := among[event.QuestionAsked](passed)
	assert.Empty(w, asked, "a denied tool is not called")

	ctx, cancel := context.WithTimeout(w.Context(), late)
	defer cancel()
	_, err := w.host.Start(ctx, copilot.Start{Directory: w.TempDir(), Tools: []event.Tool{{Name: "bash"}}})
	require.ErrorContains(w, err, "bash")
	assert.Equal(w, fault.Invalid, fault.KindOf(err))
}

func extensions(w whole) {
	v := w.start(nil)
	dir := filepath.Join(v.Info().Directory, ".github", "skills", "birds")
	require.NoError(w, os.MkdirAll(dir, 0o700))
	require.NoError(w, os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("---\nname: birds\ndescription: all about birds\n---\nThey fly.\n"), 0o600))
	v.run(text("say `hello`"))
	assert.Equal(w, event.ServerConnected, v.settled("desk").State)
	assert.Equal(w, event.ServerFailed, v.settled("gone").State)
	assert.NotEmpty(w, v.server("gone").Error)
	x, err := w.host.Extensions(w.Context(), v.Info().Directory)
	require.NoError(w, err)
	require.Len(w, x.Servers, 3)
	assert.Equal(w, event.ServerConfigured, x.Servers[0].State)
	require.NotEmpty(w, x.Skills)
	skills := []string{}
	for _, s := range x.Skills {
		skills = append(skills, s.Name)
	}
	assert.Contains(w, skills, "birds")
}

func brokenConnection(w whole) {
	v := w.start(nil)
	v.prompt(text("break"))
	next[event.MessageDelta](v)
	next[event.MessageEnded](v)
	require.NoError(w, v.Cancel(""))
	v.end()
}
