package acp

import "github.com/copilot-portal/portal/copilot/agent"

// Kill kills the process of an agent.
func Kill(a agent.Agent) {
	if one, ok := a.(*Agent); ok {
		one.link.Program.Kill()
	}
}
