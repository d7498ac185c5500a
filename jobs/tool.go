package jobs

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/jobs/book"
)

// jobTools are those that the agent has in a task, to say what it found.
func jobTools() []event.Tool {
	return []event.Tool{
		jobTool(book.PrepareDocument, "Says where a document is, or will be, that this task writes. Call it when the task asks for it.",
			"the path of the document"),
		jobTool(book.BooleanTrue, "Answers a question with yes, or says that something holds. Of several answers the last one counts.",
			"the reason, in a sentence"),
		jobTool(book.BooleanFalse, "Answers a question with no, or says that something does not hold. Of several answers the last one counts.",
			"the reason, in a sentence, or all that has to be put right"),
		jobTool(book.PrerequisiteFailed, "Ends the task as failed, because something is missing without which it cannot be done at all. "+
			"Do nothing more after it.", "what is missing"),
	}
}

func jobTool(name, description, argument string) event.Tool {
	schema, _ := json.Marshal(map[string]any{ // texts
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

// jobToolsAllowed are the rules by which job tools never wait for permission.
func jobToolsAllowed() permission.Policy {
	rules := permission.Policy{}
	for _, t := range jobTools() {
		rules[t.Name] = permission.Allow
	}
	return rules
}

// withJobTools are the tools of a session with those of a task, which replace what would have the same name.
func withJobTools(tools []event.Tool) []event.Tool {
	return append(withoutJobTools(tools), jobTools()...)
}

func withoutJobTools(tools []event.Tool) []event.Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t event.Tool) bool { return isJobTool(t.Alias()) })
}

// argumentOf reads the argument of a job tool. The error is for the model.
func argumentOf(raw json.RawMessage) (argument, wrong string) {
	var given struct {
		Argument *string `json:"argument"`
	}
	if err := json.Unmarshal(raw, &given); err != nil || given.Argument == nil {
		return "", `The call was not taken: it must have one "argument", a text. Call the tool again.`
	}
	return strings.TrimSpace(*given.Argument), ""
}
