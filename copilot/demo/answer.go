package demo

import (
	"context"
	"crypto/rand"
	"strings"
	"unicode/utf8"
)

// An answer takes what the steps stream and hands it on piece by piece.
type answer struct {
	send   func(delta) error
	pieces int
	spoke  bool // some text was streamed
	called bool // a tool was called: nothing may follow
}

// newAnswer sends pieces until the client is gone.
func newAnswer(ctx context.Context, send func(delta) error) *answer {
	return &answer{send: func(d delta) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return send(d)
	}}
}

func (a *answer) emit(d delta) error {
	if a.pieces == 0 {
		d.Role = "assistant"
	}
	a.pieces++
	return a.send(d)
}

// reason streams a piece of reasoning.
func (a *answer) reason(s string) error { return a.emit(delta{Reasoning: s}) }

// say streams one piece of text.
func (a *answer) say(s string) error {
	a.spoke = true
	return a.emit(delta{Content: s})
}

// text streams a text word by word.
func (a *answer) text(s string) error {
	for s != "" {
		n := wordSize(s)
		if err := a.say(s[:n]); err != nil {
			return err
		}
		s = s[n:]
	}
	return nil
}

// call streams a tool call as models do: first its name, then its arguments in pieces. Its id is random, for the
// ids of a session must differ, and not all of its calls are in a request.
func (a *answer) call(name, args string) error {
	a.called = true
	first := toolCall{ID: callPrefix + rand.Text(), Type: "function", Function: function{Name: name}}
	if err := a.emit(delta{ToolCalls: []toolCall{first}}); err != nil {
		return err
	}
	for args != "" {
		n := runeSize(args, longestPiece)
		if err := a.emit(delta{ToolCalls: []toolCall{{Function: function{Arguments: args[:n]}}}}); err != nil {
			return err
		}
		args = args[n:]
	}
	return nil
}

// finish is the reason why the answer ends.
func (a *answer) finish() string {
	if a.called {
		return "tool_calls"
	}
	return "stop"
}

// callPrefix marks the calls that are of a script.
const callPrefix = "demo_"

// longestPiece bounds a chunk, in bytes.
const longestPiece = 1024

// wordSize is the size of the first word of s and the blanks after it.
func wordSize(s string) int {
	limit := runeSize(s, longestPiece)
	end := strings.IndexAny(s[:limit], " \n")
	if end < 0 {
		return limit
	}
	for end < limit && (s[end] == ' ' || s[end] == '\n') {
		end++
	}
	return end
}

// runeSize is the size of a beginning of s that has at most limit bytes and ends with a whole rune.
func runeSize(s string, limit int) int {
	if len(s) <= limit {
		return len(s)
	}
	for limit > 1 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return limit
}
