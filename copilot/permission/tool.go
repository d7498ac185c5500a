package permission

import (
	"encoding/json"
)

// OfTool is the name under which the policy decides on a call of a
// client's tool: its own, but that of a push with force is [ForcePush].
func OfTool(tool string, arguments json.RawMessage) string {
	if tool != Push {
		return tool
	}
	var given map[string]any
	if json.Unmarshal(arguments, &given) != nil {
		return tool // without arguments, or with some that nobody can use
	}
	if force := given["force"]; force == nil || force == false {
		return tool
	}
	return ForcePush
}
