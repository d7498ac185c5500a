package process

import (
	"fmt"
	"strings"
)

// Exit describes how the process ended, such as "exited with error code 1: 'out of memory'", with the last line of
// its output, or with the name of the signal that ended it, whose code is that of shells. Call it only after
// Exited is closed.
func (p *Process) Exit(said string) string {
	state := p.command.ProcessState
	code, reason := state.ExitCode(), lastLine(said)
	if number, name := signalOf(state); number > 0 {
		code, reason = shellSignal+number, name
	}
	if reason == "" {
		return fmt.Sprintf("exited with error code %d", code)
	}
	return fmt.Sprintf("exited with error code %d: '%s'", code, reason)
}

// shellSignal is the offset that shells add to a signal number to get an exit code.
const shellSignal = 128

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
