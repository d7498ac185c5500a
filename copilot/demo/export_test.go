package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Steps parses a prompt and writes each step on a line of its own.
func Steps(prompt, dir string) []string {
	var lines []string
	for _, s := range orFriendly(recognize(prompt, dir)) {
		lines = append(lines, line(s))
	}
	return lines
}

func line(s step) string {
	switch s := s.(type) {
	case burst:
		return fmt.Sprintf("burst{%d in %v}", s.count, s.over)
	case wait:
		return fmt.Sprintf("wait{%v}", s.length)
	case call:
		args, err := json.Marshal(s.args)
		if err != nil {
			return err.Error()
		}
		return strings.Join(s.tools, "|") + string(args)
	default:
		return strings.TrimPrefix(fmt.Sprintf("%T%+v", s, s), "demo.")
	}
}

// Unwrap leaves what the user wrote.
func Unwrap(content string) string { return unwrap(content) }

// Decode reads a request, and the script in it.
func Decode(body io.Reader) ([]string, error) {
	req, err := decode(body)
	if err != nil {
		return nil, err
	}
	t := readTurn(req)
	var lines []string
	for _, s := range t.due(t.script()) {
		lines = append(lines, line(s))
	}
	return lines, nil
}
