package fake_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/agenttest"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

func TestScriptedAgentConforms(t *testing.T) {
	m := &model{}
	agenttest.Run(t, agenttest.Subject{
		Machine: m.machine,
		Virtual: true,
		Write:   m.write,
		Model:   "model-a",
		Other:   "model-b",
		OwnTool: fake.OwnTool,
		Mode:    func(shown string) event.Mode { return event.Mode(strings.Fields(shown)[0]) },
		Can: []agent.Capability{
			agent.Permissions, agent.Reasoning, agent.Questions, agent.ClientTools, agent.Todos, agent.Modes, agent.Approval,
			agent.Attachments, agent.Steering, agent.Resuming, agent.Switching, agent.Compaction,
			agent.Subagents, agent.Usage, agent.Context, agent.Reasons, agent.Failures, agent.Continuing, agent.Forking, agent.Forgetting, agent.Storing, agent.Servers,
		},
	})
}

// model plays scenes as observed with the real agent.
type model struct {
	mu     sync.Mutex
	scenes map[string][]agenttest.Scene // by the texts of their prompts
}

func (m *model) machine(t *testing.T) agenttest.Machine {
	t.Helper()
	agents := fake.New()
	t.Cleanup(agents.Close)
	agents.Script = m.play
	return agenttest.Machine{Launch: agents.Launch, Kill: func(agent.Agent) { agents.Kill() }}
}

// write stores the scenes under a text, by which play finds them.
func (m *model) write(scenes ...agenttest.Scene) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := fmt.Sprintf("%+v", scenes)
	if m.scenes == nil {
		m.scenes = map[string][]agenttest.Scene{}
	}
	m.scenes[text] = scenes
	return text
}

func (m *model) read(prompt string) []agenttest.Scene {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.scenes[prompt]
}

// play plays one answer of the model for the scenes up to each tool call. Between answers it reads steering prompts.
func (m *model) play(t *fake.Turn) {
	p := &player{Turn: t}
	for scenes, again := m.read(t.Prompt), true; again; {
		t.Answer(func() { scenes, again = p.answer(scenes) })
		if p.over() {
			return
		}
		if p.failure != "" {
			t.Emit(event.SessionError{Kind: fault.Internal, Text: p.failure})
			return
		}
		if prompt, ok := t.Steered(); ok {
			scenes, again = m.read(prompt), true
		}
	}
}

// player plays one prompt.
type player struct {
	*fake.Turn
	result  string // of the last tool
	failure string
}

func (p *player) over() bool {
	select {
	case <-p.Aborted():
		return true
	case <-p.Gone():
		return true
	default:
		return false
	}
}

// answer plays scenes and returns those left for the next answer.
func (p *player) answer(scenes []agenttest.Scene) (left []agenttest.Scene, again bool) {
	p.Emit(event.UsageChanged{Used: 100, Limit: 1000})
	defer p.Emit(event.ModelCalled{Model: p.Model, Input: 10, Output: 1})
	if len(scenes) == 0 {
		p.Say("The tool says: " + p.result)
	}
	for i, s := range scenes {
		if use := p.tool(s); use != nil {
			p.result = use()
			return scenes[i+1:], true
		}
		if p.say(s); p.over() || p.failure != "" {
			return nil, false
		}
	}
	return nil, false
}

func (p *player) say(s agenttest.Scene) {
	switch s := s.(type) {
	case agenttest.Say:
		p.Say(s.Text)
	case agenttest.Think:
		p.Think("I think about it.")
	case agenttest.Stream:
		p.stream(s)
	case agenttest.Wait:
		p.Think("waiting")
		p.Wait(s.For)
	case agenttest.Fail:
		p.failure = "400 the scene fails"
	case agenttest.Recall:
		p.Say("The earlier prompts: " + strings.Join(p.Past, "\n"))
	case agenttest.Show:
		p.Say(fmt.Sprintf("%s %s %+v", p.Mode, p.Prompt, p.Attachments))
	}
}

func (p *player) stream(s agenttest.Stream) {
	id, whole := p.ID("message"), ""
	p.Emit(event.MessageStarted{ID: id})
	for i := range s.Chunks {
		if s.Over > 0 && !p.Wait(s.Over/time.Duration(s.Chunks)) {
			return
		}
		text := fmt.Sprintf("w%d ", i)
		whole += text
		p.Emit(event.MessageDelta{ID: id, Text: text})
	}
	p.Emit(event.MessageEnded{ID: id, Text: whole})
}

// tool returns a function that uses the scene's tool, or nil if the scene uses no offered tool.
func (p *player) tool(s agenttest.Scene) func() (result string) {
	switch s := s.(type) {
	case agenttest.Shell:
		return func() string { return p.shell(s) }
	case agenttest.Ask:
		if p.Offers(event.AskInput) {
			return func() string { return p.ask(s) }
		}
	case agenttest.Call:
		if p.Offers(event.AskTool) {
			return func() string { return p.call(s) }
		}
	case agenttest.Plan:
		return func() string { return p.plan(s) }
	case agenttest.Propose:
		if p.Offers(event.AskPlan) {
			return func() string { return p.propose(s) }
		}
	case agenttest.Delegate:
		return func() string { return p.delegate(s) }
	}
	return nil
}

// use reports the start and the end of a tool call; there is no end after an abort.
func (p *player) use(name string, does func(call string) (*event.ToolResult, *event.ToolError)) string {
	id := p.ID("call")
	p.Emit(event.ToolStarted{ID: id, Name: name})
	result, fault := does(id)
	switch {
	case p.over():
		return ""
	case fault != nil:
		p.Emit(event.ToolEnded{ID: id, Error: fault})
		return fault.Text
	}
	p.Emit(event.ToolEnded{ID: id, Result: result})
	return result.Content
}

func (p *player) shell(s agenttest.Shell) string {
	return p.use(fake.OwnTool, func(call string) (*event.ToolResult, *event.ToolError) {
		a, _ := p.Ask(event.Question{Call: call, Names: []string{permission.Exec}, Title: "Run a command", Detail: s.Command})
		if !a.Approved {
			return nil, fake.Refusal(a)
		}
		output := strings.TrimPrefix(s.Command, "echo ")
		p.Emit(event.ToolOutput{ID: call, Text: output})
		return &event.ToolResult{Content: output}, nil
	})
}

func (p *player) ask(s agenttest.Ask) string {
	return p.use("ask_user", func(call string) (*event.ToolResult, *event.ToolError) {
		a, _ := p.Ask(event.Question{Kind: event.AskInput, Call: call, Text: s.Question, Choices: s.Choices, Freeform: true})
		return &event.ToolResult{Content: "The user answered: " + a.Text + a.Reason}, nil
	})
}

func (p *player) call(s agenttest.Call) string {
	result, _ := p.UseTool(s.Tool, s.Arguments)
	return result
}

func (p *player) plan(s agenttest.Plan) string {
	return p.use("sql", func(string) (*event.ToolResult, *event.ToolError) {
		for _, state := range []event.TodoState{event.TodoPending, event.TodoRunning, event.TodoCompleted} {
			plan := event.PlanChanged{}
			for i, title := range s.Todos {
				plan.Todos = append(plan.Todos, event.Todo{ID: fmt.Sprintf("step-%d", i), Title: title, State: state})
			}
			p.Emit(plan)
		}
		return &event.ToolResult{Content: "done"}, nil
	})
}

func (p *player) propose(s agenttest.Propose) string {
	return p.use("exit_plan_mode", func(string) (*event.ToolResult, *event.ToolError) {
		p.Emit(event.PlanChanged{Text: s.Plan})
		a, _ := p.Ask(event.Question{Kind: event.AskPlan, Title: s.Plan, Text: s.Plan, Choices: []string{"interactive", "autopilot"}})
		if !a.Approved {
			return &event.ToolResult{Content: "Plan not approved. " + a.Reason}, nil
		}
		return &event.ToolResult{Content: "Plan approved: " + a.Text}, nil
	})
}

func (p *player) delegate(s agenttest.Delegate) string {
	return p.use("task", func(call string) (*event.ToolResult, *event.ToolError) {
		agent, message := p.ID("agent"), p.ID("message")
		p.EmitAs(agent,
			event.SubagentStarted{ID: agent, Call: call, Name: "general-purpose"},
			event.MessageStarted{ID: message},
			event.MessageDelta{ID: message, Text: s.Text},
			event.MessageEnded{ID: message, Text: s.Text},
			event.SubagentEnded{ID: agent, Outcome: event.Completed},
		)
		return &event.ToolResult{Content: s.Text}, nil
	})
}
