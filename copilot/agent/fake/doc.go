// Package fake is a scripted agent for tests of all that is built on
// sessions: a [agent.Launch] without a process behind it.
//
//	agents := fake.New()
//	defer agents.Close()
//	agents.Script = func(t *fake.Turn) {
//		if a, ok := t.Ask(event.Question{Names: []string{permission.Exec}, Title: "Run a command"}); ok && a.Approved {
//			t.Say("It is done.")
//		}
//	}
//	host := agents.NewHost(copilot.Options{})
//
// It keeps the same rules as the driver of the real agent: package agenttest has
// them, and both are held to them. In what no rule can say, it behaves as the
// real one was seen to behave:
//
//   - Events come on a goroutine of the agent; the first may come before Send has
//     returned.
//   - Abort withdraws what is being asked, before it returns; Idle comes after
//     the script has ended. Of a tool that is cut off no end is told.
//   - An answer is followed by the agent's own word that the question is over.
//   - The ids of turns count from 0 in each prompt.
//   - A dying process first fails all calls, at once, and then closes Done. Only
//     the errors of its agent say that they come from that.
//   - What was asked when a process died waits for a conversation that is opened
//     with it as pending; all else of that prompt is lost.
//   - It is working from Send until the script has ended, told or not.
//
// It works in the bubbles of testing/synctest: whatever waits does so on
// channels and timers. [Agents.Close] waits for all its goroutines.
package fake
