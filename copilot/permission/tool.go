package permission

import (
	"encoding/json"
)

// OfTool returns the permission name of a call of a client tool: the tool's own name, except that a forced
// push is [ForcePush].
func OfTool(tool string, arguments json.RawMessage) string {
	if tool != Push {
		return tool
	}
	var given map[string]any
	if json.Unmarshal(arguments, &given) != nil {
		return tool // without arguments, or with invalid ones
	}
	if force := given["force"]; force == nil || force == false {
		return tool
	}
	return ForcePush
}
