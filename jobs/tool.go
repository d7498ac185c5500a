package jobs

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/jobs/book"
)

// jobTools returns the tools with which the agent reports the result of a task.
func jobTools() []event.Tool {
	return []event.Tool{
		jobTool(book.PrepareDocument, "Says where a document is, or will be, that this task writes. Call it when the task asks for it.",
			"the path of the document"),
		jobTool(book.BooleanTrue, "Answers a question with yes, or confirms that a condition holds. If there are several answers, the last one counts.",
			"the reason, in a sentence"),
		jobTool(book.BooleanFalse, "Answers a question with no, or reports that a condition does not hold. If there are several answers, the last one counts.",
			"the reason, in a sentence, or everything that must be corrected"),
		jobTool(book.PrerequisiteFailed, "Ends the task as failed because a prerequisite is missing without which it is impossible. "+
			"Do nothing more after it.", "what is missing"),
	}
}

func jobTool(name, description, argument string) event.Tool {
	schema, _ := json.Marshal(map[string]any{ // strings always encode
		"type":                 "object",
		"properties":           map[string]any{"argument": map[string]any{"type": "string", "description": "Text: " + argument + "."}},
		"required":             []string{"argument"},
		"additionalProperties": false,
	})
	return event.Tool{Name: name, Description: description, Schema: schema}
}

func isJobTool(name string) bool {
	switch name {
	case book.PrepareDocument, book.BooleanTrue, book.BooleanFalse, book.PrerequisiteFailed:
		return true
	}
	return false
}

// jobToolsAllowed returns rules that allow job tools without asking.
func jobToolsAllowed() permission.Policy {
	rules := permission.Policy{}
	for _, t := range jobTools() {
		rules[t.Name] = permission.Allow
	}
	return rules
}

// withJobTools returns the tools of a session with those of a task, which replace tools of the same name.
func withJobTools(tools []event.Tool) []event.Tool {
	return append(withoutJobTools(tools), jobTools()...)
}

func withoutJobTools(tools []event.Tool) []event.Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t event.Tool) bool { return isJobTool(t.Alias()) })
}

// argumentOf decodes the argument of a job tool. wrong is an error text for the model, or "".
func argumentOf(raw json.RawMessage) (argument, wrong string) {
	var given struct {
		Argument *string `json:"argument"`
	}
	if err := json.Unmarshal(raw, &given); err != nil || given.Argument == nil {
		return "", `The call is not valid: it must have one string "argument". Call the tool again.`
	}
	return strings.TrimSpace(*given.Argument), ""
}
