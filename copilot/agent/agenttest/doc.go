// Package agenttest checks that an agent obeys the rules of [agent.Agent] and [agent.Conversation]. Every
// agent passes the same rules, including package fake: otherwise, tests based on it would be worthless.
//
//	func TestMyAgentConforms(t *testing.T) {
//		agenttest.Run(t, agenttest.Subject{ … })
//	}
//
// A new agent needs a model that plays each [Scene]. It declares its capabilities with [agent.Capability]. It must
// refuse everything else, and must not send events of other capabilities.
package agenttest
