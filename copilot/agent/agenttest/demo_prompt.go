package agenttest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
)

// DemoPrompt returns a prompt for scenes in the language of the scripted model, package demo; it is a [Subject.Write] for agents on it.
func DemoPrompt(scenes ...Scene) string {
	words := make([]string, len(scenes))
	for i, s := range scenes {
		words[i] = keyword(s)
	}
	return strings.Join(words, ", then ")
}

func keyword(s Scene) string { //nolint:cyclop // one case for each scene
	switch s := s.(type) {
	case Say:
		return "say `" + s.Text + "`"
	case Think:
		return "think"
	case Stream:
		return fmt.Sprintf("%d tokens in %d ms", s.Chunks, s.Over.Milliseconds())
	case Wait:
		return fmt.Sprintf("wait %d ms", s.For.Milliseconds())
	case Shell:
		return "run `" + s.Command + "`"
	case Ask:
		return "ask `" + s.Question + "`" + choices(s.Choices)
	case Call:
		return "call `" + event.Tool{Name: s.Tool}.Alias() + "` `" + s.Arguments + "`"
	case Plan:
		return "plan `" + strings.Join(s.Todos, "` `") + "`"
	case Propose:
		return toolCall("exit_plan_mode", map[string]any{
			"summary": s.Plan, "actions": []string{"interactive", "autopilot"}, "recommendedAction": "interactive",
		})
	case Fail:
		return "fail"
	case Recall:
		return "recall"
	case Show:
		return "show request"
	case Delegate:
		return toolCall("task", map[string]any{
			"agent_type": "general-purpose", "name": "helper", "description": "x", "mode": "sync",
			"prompt": keyword(Say(s)),
		})
	}
	panic(fmt.Sprintf("no keyword for %T", s))
}

func choices(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return " choices `" + strings.Join(list, "` `") + "`"
}

func toolCall(tool string, arguments map[string]any) string {
	b, err := json.Marshal(arguments)
	if err != nil {
		panic(err)
	}
	return "call `" + tool + "` ``" + string(b) + "``"
}
