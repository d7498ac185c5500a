package demo

import (
	"encoding/json"
	"strings"
)

// The most that a script may ask for, so that a slip of the finger does not keep a machine busy.
const maxTokens = 1_000_000

// bare is a keyword that stands alone.
func bare(s step) func(*reader) ([]step, verdict) {
	return func(*reader) ([]step, verdict) { return []step{s}, complete }
}

func parseThink(r *reader) ([]step, verdict) {
	if r.peek(0).plain() != "about" {
		return []step{think{}}, complete
	}
	r.take()
	return []step{think{topic: r.topic()}}, complete
}

// topic takes words up to the end of the sentence or the next keyword. An argument is a topic, too.
func (r *reader) topic() string {
	if r.peek(0).kind == quoted {
		return r.take().text
	}
	first, last := r.peek(0).start, r.peek(0).start
	for r.at < len(r.tokens) && r.inTopic(r.peek(0)) {
		t := r.take()
		last = t.end
		if strings.ContainsAny(t.text[len(t.text)-1:], ".,;:!?") || strings.Contains(r.prompt[t.end:r.peek(0).start], "\n") {
			break
		}
	}
	return strings.TrimRight(r.prompt[first:last], ".,;:!?")
}

func (r *reader) inTopic(t token) bool {
	_, known := r.known[t.plain()]
	return t.kind == word && !known && t.plain() != "and" && t.plain() != "then"
}

func parseSay(r *reader) ([]step, verdict) {
	args, v := r.exactly(1)
	if v != complete {
		return nil, v
	}
	return []step{say{args[0]}}, v
}

// parseTokens finds its number before the keyword.
func parseTokens(r *reader) ([]step, verdict) {
	n, err := parseCount(r.peek(-2).plain())
	if err != nil {
		return nil, prose
	}
	s := burst{count: n}
	if r.peek(0).plain() == "in" {
		r.take()
		over, v := r.duration()
		if v == prose {
			r.at-- // "in" belongs to the sentence
		}
		if v == unfinished {
			return nil, v
		}
		s.over = over
	}
	if n < 1 || n > maxTokens {
		return nil, unfinished
	}
	return []step{s}, complete
}

func parseWait(r *reader) ([]step, verdict) {
	d, v := r.duration()
	return []step{wait{d}}, v
}

func parseShow(r *reader) ([]step, verdict) {
	if r.peek(0).plain() != "request" {
		return nil, prose
	}
	r.take()
	return []step{showRequest{}}, complete
}

func parseFail(r *reader) ([]step, verdict) {
	status, err := parseCount(r.peek(0).plain())
	if err != nil {
		return []step{fail{status: 400}}, complete
	}
	r.take()
	if status < 400 || status > 599 {
		return nil, unfinished
	}
	return []step{fail{status: status}}, complete
}

func parseCall(r *reader) ([]step, verdict) {
	args, v := r.exactly(1)
	if v != complete {
		return nil, v
	}
	arguments := map[string]any{}
	if more := r.args(1); len(more) == 1 {
		if err := json.Unmarshal([]byte(more[0]), &arguments); err != nil || arguments == nil {
			return nil, unfinished
		}
	}
	return []step{call{title: "call " + quoteCode(args[0]), tools: args, args: arguments}}, complete
}
