package event

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
)

// Tool is a tool that a client offers to the agent. When the model calls it, the policy decides under the tool's name.
// Then an [AskTool] question waits for the result, which any client may give. Its JSON is stored with sessions.
type Tool struct {
	Name        string          `json:"name"`                 // letters, digits, "_", "-" and "."; the model sees "_" instead of "."
	Description string          `json:"description,omitzero"` // for the model
	Schema      json.RawMessage `json:"schema,omitempty"`     // JSON Schema of its arguments, an object; or nil
	Limit       time.Duration   `json:"limit_ns,omitzero"`    // time limit for a result; 0: that of all questions
	// NoApproval skips the question for permission, unless a rule denies the call, because the tool only shows
	// something.
	NoApproval bool `json:"no_approval,omitzero"`
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// Alias returns the tool's name as the model sees it.
func (t Tool) Alias() string { return strings.ReplaceAll(t.Name, ".", "_") }

// CheckTools rejects tools that cannot be offered to a model.
func CheckTools(tools []Tool) error {
	seen := map[string]string{}
	for _, t := range tools {
		if !toolName.MatchString(t.Name) {
			return fault.Errorf(fault.Invalid, "%q is not a valid tool name: use up to 64 letters, digits, _, - and dots", t.Name)
		}
		if other, taken := seen[t.Alias()]; taken {
			return fault.Errorf(fault.Invalid, "the tools %q and %q would have the same name for the model", other, t.Name)
		}
		seen[t.Alias()] = t.Name
		var object map[string]any
		if t.Schema != nil && (json.Unmarshal(t.Schema, &object) != nil || object == nil) {
			return fault.Errorf(fault.Invalid, "the schema of the tool %q is not a JSON object", t.Name)
		}
		if t.Limit < 0 {
			return fault.Errorf(fault.Invalid, "the time limit of the tool %q is negative", t.Name)
		}
	}
	return nil
}

// Equal reports whether two tools are the same to an agent, which is not told NoApproval.
func (t Tool) Equal(other Tool) bool {
	return t.Name == other.Name && t.Description == other.Description && t.Limit == other.Limit && bytes.Equal(t.Schema, other.Schema)
}
