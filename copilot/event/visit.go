package event

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/secret"
)

// visitor visits the values of a body. One method of each body serves masking, the memory estimate, search and the
// codec. It is passed by value, because a pointer would cost an allocation for each event.
type visitor struct {
	purpose purpose
	found   *findings // nil if not needed
}

// purpose is what a visitor changes.
type purpose int

const (
	looking  purpose = iota // changes nothing
	masking                 // masks credentials
	encoding                // makes values valid for encoding
	decoding                // restores the types of decoded values
)

// role says how a text is treated.
type role int

const (
	masked  role = 1 << iota // credentials are masked
	counted                  // may be long, so the memory estimate counts it
)

// findings collects the results of a visitor.
type findings struct {
	bytes int // size of the body
	kind  TextKind
	text  string // searchable text
}

// TextKind is the kind of a searchable text.
type TextKind string

// The kinds of searchable texts.
const (
	TextPrompt TextKind = "prompt"
	TextAnswer TextKind = "answer" // complete answer of the agent
	TextTitle  TextKind = "title"
)

// visit visits a body, which may be nil.
func visit(b Body, v visitor) Body {
	if b == nil {
		return nil
	}
	return b.visit(v)
}

// Searchable returns the searchable text of a body, or "".
func Searchable(b Body) (kind TextKind, text string) {
	if _, isDelta := deltaText(b); isDelta { // nearly all events
		return "", ""
	}
	var found findings
	visit(b, visitor{found: &found})
	return found.kind, found.text
}

// text visits a text.
func (v visitor) text(s *string, is role) {
	if is&counted != 0 {
		v.hold(len(*s))
	}
	if v.purpose == masking && is&masked != 0 {
		*s = secret.Mask(*s)
	}
}

// json visits raw JSON. Before encoding, invalid JSON becomes a JSON string.
func (v visitor) json(raw *json.RawMessage, is role) {
	if is&counted != 0 {
		v.hold(len(*raw))
	}
	switch {
	case v.purpose == masking && is&masked != 0:
		*raw = secret.MaskJSON(*raw)
	case v.purpose == encoding && len(*raw) > 0 && !json.Valid(*raw):
		*raw = appendText(nil, string(*raw))
	}
}

// textCost is the cost of a text in addition to its bytes, and of any small value.
const textCost = 32

// value visits the value of a form field, which is masked and counted.
func (v visitor) value(x *any) {
	v.hold(textCost)
	switch value := (*x).(type) {
	case string:
		v.text(&value, masked|counted)
		if v.purpose == masking {
			*x = value
		}
	case []string:
		list := make([]string, 0, len(value))
		for _, s := range value {
			v.hold(textCost)
			v.text(&s, masked|counted)
			list = append(list, s)
		}
		if v.purpose == masking {
			*x = list
		}
	case []any:
		if v.purpose == decoding {
			*x = Texts(value)
		}
	}
}

// values visits the fields of an answer.
func (v visitor) values(fields *map[string]any) {
	if v.purpose != looking {
		*fields = maps.Clone(*fields)
	}
	for name, value := range *fields {
		v.hold(textCost + len(name))
		v.value(&value)
		if v.purpose != looking {
			(*fields)[name] = value
		}
	}
}

// Texts returns a list of texts if all elements are texts, otherwise the list.
func Texts(list []any) any {
	out := make([]string, 0, len(list))
	for _, v := range list {
		s, ok := v.(string)
		if !ok {
			return list
		}
		out = append(out, s)
	}
	return out
}

// time visits a time, which is encoded and decoded in UTC.
func (v visitor) time(t *time.Time) {
	if v.purpose == encoding || v.purpose == decoding {
		*t = formatUTC(*t)
	}
}

// hold counts bytes of the body.
func (v visitor) hold(n int) {
	if v.found != nil {
		v.found.bytes += n
	}
}

// find stores the searchable text.
func (v visitor) find(kind TextKind, text string) {
	if v.found != nil {
		v.found.kind, v.found.text = kind, text
	}
}

// each visits the elements of a list, and copies the list first if they may change.
func each[E any](v visitor, list *[]E, visit func(*E, visitor)) {
	if v.purpose != looking {
		*list = slices.Clone(*list)
	}
	for i := range *list {
		visit(&(*list)[i], v)
	}
}

// at visits a pointer's target, and copies it first if it may change.
func at[E any](v visitor, p **E, visit func(*E, visitor)) {
	if *p == nil {
		return
	}
	if v.purpose != looking {
		own := **p
		*p = &own
	}
	visit(*p, v)
}
