package event

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/secret"
)

// visitor goes over what a body holds: one method of each body serves masking, the memory estimate, search and the codec. It is
// passed by value, as a pointer would cost an allocation for each event.
type visitor struct {
	purpose purpose
	found   *findings // nil: nobody asks for them
}

// purpose is what a visitor changes.
type purpose int

const (
	looking  purpose = iota // changes nothing
	masking                 // masks credentials
	encoding                // makes valid what is about to be encoded
	decoding                // gives what was decoded the types that it had
)

// role says what a text is for.
type role int

const (
	masked  role = 1 << iota // a credential in it is masked
	counted                  // it may be long, so the memory estimate counts it
)

// findings are what a visitor notes.
type findings struct {
	bytes int // that the body holds
	kind  TextKind
	text  string // that can be searched
}

// TextKind is the kind of a text that can be searched.
type TextKind string

// The kinds of text.
const (
	TextPrompt TextKind = "prompt"
	TextAnswer TextKind = "answer" // of the agent, complete
	TextTitle  TextKind = "title"
)

// visit visits a body; nil has nothing to visit.
func visit(b Body, v visitor) Body {
	if b == nil {
		return nil
	}
	return b.visit(v)
}

// Searchable is the text of a body that can be searched, "" if there is none.
func Searchable(b Body) (kind TextKind, text string) {
	if _, isDelta := deltaText(b); isDelta { // as nearly all are
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

// json visits raw JSON, which becomes a JSON text before it is encoded if it is none.
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

// textCost is what a text costs besides its bytes, and any small value.
const textCost = 32

// value visits what a field of a form holds; it is masked and counted.
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
			*x = texts(value)
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

// texts makes a list of texts of one that has nothing else; others stay.
func texts(list []any) any {
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

// time visits a point in time, which is encoded and decoded in UTC.
func (v visitor) time(t *time.Time) {
	if v.purpose == encoding || v.purpose == decoding {
		*t = formatUTC(*t)
	}
}

// hold counts bytes that the body holds.
func (v visitor) hold(n int) {
	if v.found != nil {
		v.found.bytes += n
	}
}

// find notes the text that can be searched.
func (v visitor) find(kind TextKind, text string) {
	if v.found != nil {
		v.found.kind, v.found.text = kind, text
	}
}

// each visits the members of a list, and copies it first if they may change.
func each[E any](v visitor, list *[]E, visit func(*E, visitor)) {
	if v.purpose != looking {
		*list = slices.Clone(*list)
	}
	for i := range *list {
		visit(&(*list)[i], v)
	}
}

// at visits what a pointer points to, and copies it first if it may change.
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
