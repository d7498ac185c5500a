package event

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

// Question is something the agent wants to know, or to have done, before it
// goes on.
type Question struct {
	ID       string       `json:"id,omitzero"`
	Kind     QuestionKind `json:"kind,omitzero"`
	Call     string       `json:"call,omitzero"`     // the tool call it belongs to, "" if none
	Deadline time.Time    `json:"deadline,omitzero"` // when it ends without an answer; zero: with its run

	// Of a permission: what the agent wants to do. See also Scopes.
	Names  []string          `json:"names,omitzero"`  // what is asked for, by the names of [permission.Policy]; at least one
	Path   string            `json:"path,omitzero"`   // of a file to be read, links followed; "" if it is about none
	Opaque bool              `json:"opaque,omitzero"` // it runs code given as text, so Names cannot tell all it does
	Needs  []permission.Need `json:"-"`               // Names with targets, for the decision; the record does not keep them
	Title  string            `json:"title,omitzero"`  // one line for people
	Detail string            `json:"detail,omitzero"` // the whole command, the diff, the address

	// Of user input, of a form, of a plan (its text), of a sign-in. See also Form.
	Text     string   `json:"text,omitzero"`
	Choices  []string `json:"choices,omitzero"`  // of a plan: how to go on, the recommended way first
	Freeform bool     `json:"freeform,omitzero"` // an answer besides the choices is welcome
	Source   string   `json:"source,omitzero"`   // the MCP server that asks, "" for the agent itself
	URL      string   `json:"url,omitzero"`      // the page to visit

	// Of a tool of a client, which is to be called: its name as declared, also of
	// the permission for it.
	Tool      string          `json:"tool,omitzero"`
	Arguments json.RawMessage `json:"arguments,omitempty"`

	// The encoding has these last.
	Scopes []permission.Scope `json:"scopes,omitzero"` // what remembering the answer can cover, narrowest first; none: it is for once
	Form   *Form              `json:"form,omitzero"`   // the fields to fill in
}

// QuestionKind tells which answer a question wants.
type QuestionKind string

// The kinds of question.
const (
	AskPermission QuestionKind = "permission"
	AskInput      QuestionKind = "input"
	AskForm       QuestionKind = "form"    // an MCP server wants fields filled in
	AskSignIn     QuestionKind = "sign-in" // somebody has to visit a page, and say when it is done
	AskPlan       QuestionKind = "plan"    // shall the plan be carried out?
	AskTool       QuestionKind = "tool"    // a [Tool] of a client is to be called; no person is needed
)

// Answer to a question. Approved and Reason answer all but user input and tools:
// Remember is for permissions, Fields for a form, Text for one of the choices of
// a plan. User input has Text alone, or declines with the reason alone. A tool's
// result is Text, or Failed with the reason.
type Answer struct {
	Approved bool                 `json:"approved,omitzero"`
	Remember bool                 `json:"remember,omitzero"` // the same answer for the rest of the session, within a scope
	Scope    permission.ScopeKind `json:"scope,omitzero"`    // one of those offered, which is then remembered; "": the narrowest
	Reason   string               `json:"reason,omitzero"`   // of a refusal, a failure or for not answering; the model reads it
	Text     string               `json:"text,omitzero"`
	Fields   map[string]any       `json:"fields,omitzero"` // of a form: texts, numbers (float64), booleans, lists of texts
	Failed   bool                 `json:"failed,omitzero"` // the tool could not do it
}

// Ending says how a question ended.
type Ending string

// The endings of a question.
const (
	Answered  Ending = "answered"
	Withdrawn Ending = "cancelled" // its run ended first
	Expired   Ending = "expired"   // nobody answered in time
)

// NeedsPerson says whether a person is asked.
func (q Question) NeedsPerson() bool { return q.Kind != AskTool }

// Check refuses an answer that the question does not allow.
func (q Question) Check(a Answer) error {
	switch {
	case a.Fields != nil && q.Kind != AskForm:
		return fault.Errorf(fault.Invalid, "the question has no fields")
	case a.Failed && q.Kind != AskTool:
		return fault.Errorf(fault.Invalid, "only the call of a tool can have failed")
	case a.Scope != "" && !q.offers(a.Scope):
		offered := make([]permission.ScopeKind, 0, len(q.Scopes))
		for _, s := range q.Scopes {
			offered = append(offered, s.Kind)
		}
		return fault.Errorf(fault.Invalid, "the scope %q is not offered: this question offers %q", a.Scope, offered)
	}
	return q.checkKind(a)
}

// checkKind is check for what the kind of question wants.
func (q Question) checkKind(a Answer) error {
	switch q.Kind {
	case AskInput:
		return q.checkInput(a)
	case AskTool:
		if a.Approved {
			return fault.Errorf(fault.Invalid, "the tool call wants a result and no permission")
		}
	case AskForm:
		return q.checkForm(a)
	case AskPlan:
		return q.checkPlan(a)
	case AskPermission, AskSignIn:
		if a.Text != "" {
			return fault.Errorf(fault.Invalid, "the question wants a permission and no text")
		}
	}
	return nil
}

func (q Question) offers(kind permission.ScopeKind) bool {
	return slices.ContainsFunc(q.Scopes, func(s permission.Scope) bool { return s.Kind == kind })
}

func (q Question) checkForm(a Answer) error {
	if a.Text != "" {
		return fault.Errorf(fault.Invalid, "the question wants fields and no text")
	}
	return q.Form.check(a)
}

// checkPlan refuses a way alone: it would seem to approve, and would not.
func (q Question) checkPlan(a Answer) error {
	switch {
	case a.Text == "":
		return nil
	case !a.Approved:
		return fault.Errorf(fault.Invalid, "the question wants an approval, perhaps with one of the ways %q", q.Choices)
	}
	return among(a.Text, q.Choices)
}

func (q Question) checkInput(a Answer) error {
	switch {
	case a.Approved:
		return fault.Errorf(fault.Invalid, "the question wants a text and no permission")
	case a.Text == "" && a.Reason != "":
		return nil // the user declines
	case a.Text == "" && !slices.Contains(q.Choices, ""):
		return fault.Errorf(fault.Invalid, "the question wants a text")
	case q.Freeform:
		return nil
	}
	return among(a.Text, q.Choices)
}

func among(text string, choices []string) error {
	if slices.Contains(choices, text) {
		return nil
	}
	return fault.Errorf(fault.Invalid, "%q is not among the choices %q", text, choices)
}

// ExpiredAnswer is what the agent is told when nobody answered in time.
func (q Question) ExpiredAnswer() Answer {
	const reason = "Nobody answered in time."
	switch q.Kind {
	case AskTool:
		return Answer{Failed: true, Reason: "The tool gave no result in time."}
	case AskInput, AskPermission, AskForm, AskSignIn, AskPlan:
	}
	return Answer{Reason: reason}
}

// SurvivesRestart says whether an agent that is started anew can take the answer.
func (q Question) SurvivesRestart() bool { return q.Kind == AskPermission || q.Kind == AskTool }

// UnattendedAnswer is the answer in place of a client that cannot ask anybody: [permission.Allow] approves permissions and plans, and
// everything else is refused. What refuses needs a reason besides.
func (q Question) UnattendedAnswer(d permission.Decision) Answer {
	return Answer{Approved: d == permission.Allow && (q.Kind == AskPermission || q.Kind == AskPlan), Failed: q.Kind == AskTool}
}

// SetNeeds sets what a question asks for.
func (q *Question) SetNeeds(needs ...permission.Need) {
	q.Needs, q.Names, q.Opaque = needs, nil, false
	for _, n := range needs {
		q.Opaque = q.Opaque || n.Opaque
		if !slices.Contains(q.Names, n.Name) {
			q.Names = append(q.Names, n.Name)
		}
		if n.Name == permission.Read {
			q.Path = n.Target
		}
	}
}

// AllNeeds are those of a permission, at least one: of a question that has only
// names, they are about nothing that is known, except for the path of a read.
func (q Question) AllNeeds() []permission.Need {
	if len(q.Needs) > 0 {
		return q.Needs
	}
	needs := make([]permission.Need, 0, max(1, len(q.Names)))
	for _, name := range q.Names {
		needs = append(needs, permission.Need{Name: name, Target: q.Path, Opaque: q.Opaque})
	}
	if len(needs) == 0 {
		needs = append(needs, permission.Need{Name: permission.All})
	}
	return needs
}
