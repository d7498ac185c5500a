package permission

import "github.com/copilot-portal/portal/copilot/fault"

// ruleTool is the name of rules for exactly one tool, such as tool(shop): a rule shop also covers shop.buy,
// and a rule git.push covers shell commands.
const ruleTool = "tool"

// toolPattern matches one tool, of a client or of a server.
type toolPattern string

func parseTool(body string) (pattern, error) {
	if body == "" || body == All {
		return nil, fault.Errorf(fault.Invalid, "%q is not the name of a tool: use a name, as in tool(openFile) or tool(mcp.db.query)", body)
	}
	return toolPattern(body), nil
}

func (p toolPattern) matches(n Need, _ Decision) bool { return n.isTool() && n.Name == string(p) }

func (p toolPattern) rank() int { return exactRank }

// isTool reports whether a need is a call of a tool, whose name may be one of git. A command always has a
// target; a need for a file or the network is never a tool, even if its target is unknown.
func (n Need) isTool() bool {
	isOther := isFile(n.Name) || isNamed(n.Name, "", All, Exec, Fetch)
	return !isOther && n.Target == "" && n.Line == "" && !n.Opaque
}
