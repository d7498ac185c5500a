package soak_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"strings"
)

// recorded is an event of an export.
type recorded struct {
	Type string
	Run  string
	Body struct{ ID, Text, Outcome string }
}

// record is what the portal has of a session.
type record struct {
	events []recorded
	texts  map[string]string // by block
}

// export reads the record of a session.
func (h *host) export(ctx context.Context, session string) (r record, err error) {
	var raw []byte
	if raw, err = h.request(ctx, "GET", "/api/copilot/session/"+session+"/export?format=jsonl", ""); err != nil {
		return r, err
	}
	r.texts = map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, len(raw)+1)
	for lines.Scan() {
		var e recorded
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return r, err
		}
		r.add(e)
	}
	return r, lines.Err()
}

// add adds an event. The end of a text contains all of it.
func (r *record) add(e recorded) {
	r.events = append(r.events, e)
	kind, verb, _ := strings.Cut(e.Type, ".")
	block := kind + " " + e.Body.ID
	switch {
	case kind != "reasoning" && kind != "message":
	case verb == "delta":
		r.texts[block] += normal(block, e.Body.Text)
	case verb == "ended" && (e.Body.Text != "" || r.texts[block] != ""):
		r.texts[block] = normal(block, e.Body.Text)
	}
}

// outcome returns that of the last run.
func (r *record) outcome() (last string) {
	for _, e := range r.events {
		if e.Type == "run.ended" {
			last = e.Body.Outcome
		}
	}
	return last
}

// facts returns the facts that a dialect reports.
func (r *record) facts(fact func(recorded) string) (list []string) {
	for _, e := range r.events {
		if f := fact(e); f != "" {
			list = append(list, f)
		}
	}
	return list
}

// factCommon returns the facts that all dialects have in the same form.
func factCommon(e recorded) string {
	switch e.Type {
	case "tool.started":
		return "call " + e.Body.ID
	case "tool.ended":
		return "result " + e.Body.ID
	case "question.answered":
		return "answered " + e.Body.ID
	}
	return ""
}

func factLive(e recorded) string {
	switch e.Type {
	case "reasoning.ended", "message.ended":
		kind, _, _ := strings.Cut(e.Type, ".")
		return said(kind, e.Body.ID, e.Body.Text)
	case "question.asked":
		return "asked " + e.Body.ID
	case "session.failed":
		return "error " + firstLine(e.Body.Text)
	case "run.ended":
		return "end"
	}
	return factCommon(e)
}

func factREST(e recorded) string {
	if e.Type == "user.message" {
		return "prompt " + e.Run + " " + e.Body.Text
	}
	return factLive(e)
}

func factRPC(e recorded) string {
	if e.Type == "run.ended" {
		return "end " + e.Run + " " + e.Body.Outcome
	}
	return factREST(e)
}

func factUI(e recorded) string {
	switch e.Type {
	case "user.message":
		return factREST(e)
	case "session.failed":
		return factREST(e)
	case "run.ended":
		status := e.Body.Outcome
		if status == "failed" || status == "interrupted" {
			status = "error"
		}
		return "end " + e.Run + " " + status
	}
	return factCommon(e)
}
