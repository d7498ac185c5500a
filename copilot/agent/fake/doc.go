// Package fake is a scripted agent for tests of sessions and everything based on them: an [agent.Launch]
// without a process.
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
// It obeys the same rules as the driver of the real agent: package agenttest checks both. Where the rules
// leave a choice, it behaves like the real one:
//
//   - Events come on a goroutine of the agent; the first may come before Send has
//     returned.
//   - Abort withdraws open questions before it returns; Idle comes after the
//     script has ended. An interrupted tool call has no end.
//   - Every answer is followed by an event that closes the question.
//   - The ids of turns start at 0 in each prompt.
//   - A dying process first fails all calls, at once, and then closes Done. Only
//     errors of its agent name the cause.
//   - Questions that were open when a process died wait for a conversation that
//     is opened with them as pending; everything else of that prompt is lost.
//   - It is working from Send until the script has ended.
//
// It works in bubbles of testing/synctest: it only blocks on channels and timers. [Agents.Close] waits for
// all its goroutines.
package fake
