package permission

import "github.com/copilot-portal/portal/copilot/fault"

// ruleTool is the name of rules for one tool alone, as in tool(shop): a rule by the
// name shop is also about shop.buy, and one by the name git.push about commands of a
// shell.
const ruleTool = "tool"

// toolPattern matches one tool, of a client or of a server.
type toolPattern string

func parseTool(body string) (pattern, error) {
	if body == "" || body == All {
		return nil, fault.Errorf(fault.Invalid, "%q is no tool: it is a name, as in tool(openFile) or tool(mcp.db.query)", body)
	}
	return toolPattern(body), nil
}

func (p toolPattern) matches(n Need, _ Decision) bool { return n.isTool() && n.Name == string(p) }

func (p toolPattern) rank() int { return exactRank }

// isTool says whether a need is the use of a tool, which may have a name of git, too.
// A command always has a target; what is needed of a file or the network never is a
// tool, even if it cannot be told.
func (n Need) isTool() bool {
	isOther := isFile(n.Name) || isNamed(n.Name, "", All, Exec, Fetch)
	return !isOther && n.Target == "" && n.Line == "" && !n.Opaque
}
