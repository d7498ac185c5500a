// Package copilottest is a scripted agent for tests of all that is built on
// sessions: a [copilot.Launch] without a process behind it.
//
//	agents := copilottest.New()
//	defer agents.Close()
//	agents.Script = func(t *copilottest.Turn) {
//		if a, ok := t.Ask(copilot.Question{Names: []string{copilot.PermExec}, Title: "Run a command"}); ok && a.Approved {
//			t.Say("It is done.")
//		}
//	}
//	host := agents.NewHost(copilot.Options{})
//
// It behaves as the driver of the real agent was seen to behave, in what is
// promised and in what is not:
//
//   - Events of a conversation come in order, one at a time, on a goroutine of
//     the agent; the first may come before Send has returned. None comes after
//     Close of the conversation has returned, or after the process has died.
//   - Every prompt ends with one Idle, unless the process dies.
//   - Abort withdraws what is being asked, before it returns; Idle comes after
//     the script has ended. Nothing follows an Abort when nothing is being done.
//   - An answer is followed by the agent's own word that the question is over.
//     An answer to a question that is over is no error.
//   - SetModel is followed by ModelChanged. Any model is taken.
//   - A dying process first fails all calls, at once, and then closes Done. No
//     event tells of it. What was said is saved and can be resumed on another.
//   - It is working from Send until the script has ended, told or not.
//   - Of two conversations of one session only the later hears anything.
//
// It works in the bubbles of testing/synctest: whatever waits does so on
// channels and timers. [Agents.Close] waits for all its goroutines.
package copilottest
