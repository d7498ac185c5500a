package rpc

import (
	"encoding/json"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/handlers/wire"
)

// tool is a client tool as declared. The schema of its arguments has one of three names.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Schema      json.RawMessage `json:"schema"`
}

func declared(tools []tool, limit time.Duration) []event.Tool {
	return wire.List(tools, func(t tool) event.Tool {
		declared := event.Tool{Name: t.Name, Description: t.Description, Limit: limit}
		for _, schema := range []json.RawMessage{t.Parameters, t.InputSchema, t.Schema} {
			if len(schema) > 0 && string(schema) != "null" {
				declared.Schema = schema
				break
			}
		}
		return declared
	})
}

// gitTools are tools that the plugin has without declaring them
// (spec/contracts/json-rpc-http.notes.md, "Tool call-backs").
func gitTools(limit time.Duration) []event.Tool {
	schema := func(properties, required string) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":[` + required + `],"additionalProperties":false}`)
	}
	return []event.Tool{
		{
			Name: "git.status", Limit: limit, Schema: schema(``, ``),
			Description: "Shows the state of the Git repository that is open in the IDE: branch, staged and changed files.",
		},
		{
			Name: "git.commit", Limit: limit,
			Description: "Commits the changes in the IDE's Git repository, with a message of the Conventional Commits form. Prefer it to git commit in a shell.",
			Schema: schema(`"type":{"type":"string","description":"such as feat, fix, docs, refactor, test, chore"},`+
				`"scope":{"type":"string","description":"the part of the project"},`+
				`"description":{"type":"string","description":"what the commit does, in one line"},`+
				`"body":{"type":"string","description":"why, and details"},`+
				`"breaking":{"type":"boolean","description":"it breaks what uses the project"},`+
				`"amend":{"type":"boolean","description":"change the last commit instead"}`, `"type","description"`),
		},
		{
			Name: "git.push", Limit: limit,
			Description: "Pushes the current branch of the IDE's Git repository. Prefer it to git push in a shell.",
			Schema: schema(`"force":{"type":"boolean","description":"overwrite the remote branch"},`+
				`"setUpstream":{"type":"boolean","description":"make the remote branch the upstream"}`, ``),
		},
		{
			Name: "git.createBranch", Limit: limit, Description: "Creates a branch in the IDE's Git repository and switches to it.",
			Schema: schema(`"name":{"type":"string"},"from":{"type":"string","description":"where it begins; the current commit if absent"}`, `"name"`),
		},
		{
			Name: "git.switchBranch", Limit: limit, Description: "Switches the IDE's Git repository to another branch.",
			Schema: schema(`"name":{"type":"string"}`, `"name"`),
		},
	}
}
