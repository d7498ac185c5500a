// Package agenttest proves that an agent keeps what [agent.Agent] and
// [agent.Conversation] promise. Every agent passes the same rules, the one of
// package fake, too: what it does and the others do not would make the
// tests that are built on it worthless.
//
//	func TestMyAgentConforms(t *testing.T) {
//		agenttest.Run(t, agenttest.Subject{ … })
//	}
//
// A new agent needs a model that does what a [Scene] says, and declares by an
// [Capability] what it can do. What it does not declare it has to refuse, and its
// events must not come.
package agenttest
