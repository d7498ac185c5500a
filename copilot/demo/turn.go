package demo

import (
	"encoding/json"
	"slices"
	"strings"
)

// A turn is what a request tells about the conversation.
type turn struct {
	prompt   string          // the last prompt, without the wrappers of the CLI
	raw      json.RawMessage // the same as it was received
	document string          // of an operation, in this prompt or an earlier one
	fresh    bool            // the document stands in this prompt
	earlier  []string        // the prompts before it
	results  []result        // one for each call after the prompt
	ended    string          // what to say when the script is over and the CLI goes on by itself
	messages int
	tools    []string // the names of the offered tools
	noTools  bool     // none of them may be called
	dir      string   // the working directory, if the CLI names it
}

// A result is what a tool said to a call.
type result struct{ id, text string }

func readTurn(req *request) *turn {
	t := &turn{messages: len(req.Messages), noTools: req.ToolChoice == "none"}
	for _, offered := range req.Tools {
		t.tools = append(t.tools, offered.Function.Name)
	}
	for _, m := range req.Messages {
		switch m.Role {
		case "system", "developer":
			t.dir = workingDirectory(m.Content.all(), t.dir)
		case "user":
			t.readPrompt(m)
		case "assistant":
			t.readAnswer(m)
		case "tool":
			t.readResult(m)
		}
	}
	return t
}

// readPrompt passes over messages that hold nothing but what the CLI added: the script goes on.
func (t *turn) readPrompt(m message) {
	if past, ok := compacted(m.Content.first()); ok {
		t.prompt, t.raw, t.results, t.earlier, t.ended, t.fresh = "", nil, nil, past, summarized, false
		return
	}
	document, around, fresh := splitDocument(m.Content.first())
	prompt := unwrap(around)
	if prompt == "" && !fresh && t.raw != nil {
		return
	}
	if t.raw != nil {
		t.earlier = append(t.earlier, t.prompt)
	}
	t.prompt, t.raw, t.results, t.ended, t.fresh = prompt, m.Content.raw, nil, "", fresh
	if fresh {
		t.document = document
	}
}

// readAnswer counts the calls of the script. The CLI puts calls of its own into the conversation.
func (t *turn) readAnswer(m message) {
	if len(m.ToolCalls) == 0 {
		t.ended = "Noted."
		return
	}
	if id := m.ToolCalls[0].ID; strings.HasPrefix(id, callPrefix) {
		t.results = append(t.results, result{id: id})
	}
}

func (t *turn) readResult(m message) {
	for i := range t.results {
		if t.results[i].id == m.ToolCallID {
			t.results[i].text = m.Content.all()
		}
	}
}

// workingDirectory finds the directory in the system message of the CLI.
func workingDirectory(text, otherwise string) string {
	_, rest, ok := strings.Cut(text, "Current working directory: ")
	if !ok {
		return otherwise
	}
	dir, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(dir)
}

// offers finds the name under which a tool is offered.
func (t *turn) offers(names []string) (string, bool) {
	if t.noTools {
		return "", false
	}
	for _, name := range names {
		if slices.Contains(t.tools, name) {
			return name, true
		}
	}
	return "", false
}

// calls says whether a step will call a tool, and so end the answer.
func (t *turn) calls(s step) bool {
	c, ok := s.(call)
	if ok {
		_, ok = t.offers(c.tools)
	}
	return ok
}

// script is what the prompt asks for: work on a document, or what its keywords say. Where it asks for nothing that is recognised, and the CLI wants a plan, that is one. A
// call that was made already can only have been its proposal.
func (t *turn) script() []step {
	if e, ok := t.errand(); ok {
		return e.steps(t.dir)
	}
	if steps, ok := t.studio(); ok {
		return steps
	}
	steps, loose := recognize(t.prompt, t.dir)
	if t.fresh {
		directed, _ := recognize(stageDirections(t.document), t.dir)
		steps = append(directed, steps...)
	}
	proposed := proposal(t.prompt)
	if len(steps) == 0 && (len(t.results) > 0 || t.calls(proposed)) {
		return []step{proposed}
	}
	return orFriendly(steps, loose)
}

// due is the part of the script that this answer is to do.
func (t *turn) due(script []step) []step {
	for range t.results {
		i := slices.IndexFunc(script, t.calls)
		if i < 0 {
			return nil
		}
		script = script[i+1:]
	}
	if i := slices.IndexFunc(script, t.calls); i >= 0 {
		return script[:i+1]
	}
	return script
}
