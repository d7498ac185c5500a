package process

import (
	"fmt"
	"strings"
)

// Exit says how the process has ended, as in "exited with error code 1: 'out of memory'": with the last line of what it
// said, or the name of the signal that ended it, whose code is that of shells. Only once Gone is closed.
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

// shellSignal is what shells add to the number of a signal to make an exit code.
const shellSignal = 128

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
