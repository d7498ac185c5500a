package ui_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
)

func TestWhatTheAgentDoesBetweenRunsIsNoEventOfTheRunThatHasEnded(t *testing.T) {
	for name, bodies := range map[string][]copilot.Body{
		"a tool":     {copilot.ToolStarted{ID: "late", Name: "bash"}, copilot.ToolEnded{ID: "late", Result: &copilot.ToolResult{Content: "x"}}},
		"a thought":  {copilot.ReasoningEnded{ID: "late", Text: "Hm"}},
		"a question": {copilot.QuestionAsked{Question: copilot.Question{ID: "late", Kind: copilot.AskPermission, Names: []string{copilot.PermExec}, Title: "ls"}}},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(p *portal) {
				u := p.able()
				run, session := u.run("a")
				require.Contains(t, u.heard(), "status completed")
				p.agents.Emit(session, bodies...)
				for _, f := range u.raw() {
					params, _ := f["params"].(document)
					if f["method"] == "agent.event" || f["method"] == "run.status" {
						assert.NotEqual(t, run, params["run_id"], "%s behind its terminal status", line(f))
					}
				}
			})
		})
	}
}
