package event

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

// Question is something the agent needs to know, or to have done, before it continues.
type Question struct {
	ID       string       `json:"id,omitzero"`
	Kind     QuestionKind `json:"kind,omitzero"`
	Call     string       `json:"call,omitzero"`     // tool call that it belongs to, or ""
	Deadline time.Time    `json:"deadline,omitzero"` // when it expires; zero: with its run

	// Fields of a permission: what the agent wants to do. See also Scopes.
	Names  []string          `json:"names,omitzero"`  // names as in [permission.Policy], at least one
	Path   string            `json:"path,omitzero"`   // file to be read, with links followed, or ""
	Opaque bool              `json:"opaque,omitzero"` // the command runs code given as text, so Names may be incomplete
	Needs  []permission.Need `json:"-"`               // Names with targets, for the decision; not recorded
	Title  string            `json:"title,omitzero"`  // one line for people
	Detail string            `json:"detail,omitzero"` // the whole command, the diff or the address

	// Fields of a user input, a form, a plan (its text) or a sign-in. See also Form.
	Text     string   `json:"text,omitzero"`
	Choices  []string `json:"choices,omitzero"`  // of a plan: how to continue, the recommended way first
	Freeform bool     `json:"freeform,omitzero"` // answers other than the choices are allowed
	Source   string   `json:"source,omitzero"`   // MCP server that asks, or "" for the agent
	URL      string   `json:"url,omitzero"`      // page to visit

	// Fields of a call of a client tool. Tool is the declared name, also on the permission for the call.
	Tool      string          `json:"tool,omitzero"`
	Arguments json.RawMessage `json:"arguments,omitempty"`

	// The encoding has these fields last.
	Scopes []permission.Scope `json:"scopes,omitzero"` // scopes in which the answer can be remembered, narrowest first; none if it cannot
	Form   *Form              `json:"form,omitzero"`   // fields to fill in
}

// QuestionKind is the kind of answer that a question expects.
type QuestionKind string

// The kinds of question.
const (
	AskPermission QuestionKind = "permission"
	AskInput      QuestionKind = "input"
	AskForm       QuestionKind = "form"    // an MCP server requests form fields
	AskSignIn     QuestionKind = "sign-in" // a person must visit a page and confirm
	AskPlan       QuestionKind = "plan"    // whether to carry out a plan
	AskTool       QuestionKind = "tool"    // a call of a client's [Tool]; no person is needed
)

// Answer is the answer to a question. Approved and Reason answer all kinds except user input and tools. Remember is for
// permissions, Fields for a form, Text for one of the choices of a plan. User input has only Text, or only Reason to
// decline. A tool's result is Text, or Failed with Reason.
type Answer struct {
	Approved bool                 `json:"approved,omitzero"`
	Remember bool                 `json:"remember,omitzero"` // repeat the answer for the rest of the session, within a scope
	Scope    permission.ScopeKind `json:"scope,omitzero"`    // one of the offered scopes; "" means the narrowest
	Reason   string               `json:"reason,omitzero"`   // why it was refused, failed or not answered; the model reads it
	Text     string               `json:"text,omitzero"`
	Fields   map[string]any       `json:"fields,omitzero"` // of a form: texts, numbers (float64), booleans, lists of texts
	Failed   bool                 `json:"failed,omitzero"` // the tool failed
}

// Ending is how a question ended.
type Ending string

// The endings of a question.
const (
	Answered  Ending = "answered"
	Withdrawn Ending = "cancelled" // its run ended first
	Expired   Ending = "expired"   // no answer in time
)

// NeedsPerson reports whether a person must answer.
func (q Question) NeedsPerson() bool { return q.Kind != AskTool }

// Subject returns what a question for a person is about: the command or the title of a permission, the text of others. It is not masked.
func (q Question) Subject() string {
	switch q.Kind {
	case AskPermission:
		if slices.Contains(q.Names, permission.Exec) {
			return "Run " + cmp.Or(q.Detail, q.Title)
		}
		return q.Title
	case AskPlan:
		return cmp.Or(q.Title, "Carry out a plan")
	case AskSignIn:
		return "Sign in to " + cmp.Or(q.Source, "a service")
	case AskInput, AskForm, AskTool:
	}
	return q.Text
}

// Check rejects an answer that the question does not allow.
func (q Question) Check(a Answer) error {
	switch {
	case a.Fields != nil && q.Kind != AskForm:
		return fault.Errorf(fault.Invalid, "the question has no fields")
	case a.Failed && q.Kind != AskTool:
		return fault.Errorf(fault.Invalid, "only a tool call can fail")
	case a.Scope != "" && !q.offers(a.Scope):
		offered := make([]permission.ScopeKind, 0, len(q.Scopes))
		for _, s := range q.Scopes {
			offered = append(offered, s.Kind)
		}
		return fault.Errorf(fault.Invalid, "the scope %q is not offered: this question offers %q", a.Scope, offered)
	}
	return q.checkKind(a)
}

// checkKind checks the requirements of the kind of question.
func (q Question) checkKind(a Answer) error {
	switch q.Kind {
	case AskInput:
		return q.checkInput(a)
	case AskTool:
		if a.Approved {
			return fault.Errorf(fault.Invalid, "answer this tool call with a result, not an approval")
		}
	case AskForm:
		return q.checkForm(a)
	case AskPlan:
		return q.checkPlan(a)
	case AskPermission, AskSignIn:
		if a.Text != "" {
			return fault.Errorf(fault.Invalid, "answer this question with approve or deny, not text")
		}
	}
	return nil
}

func (q Question) offers(kind permission.ScopeKind) bool {
	return slices.ContainsFunc(q.Scopes, func(s permission.Scope) bool { return s.Kind == kind })
}

func (q Question) checkForm(a Answer) error {
	if a.Text != "" {
		return fault.Errorf(fault.Invalid, "answer this question with fields, not text")
	}
	return q.Form.check(a)
}

// checkPlan rejects a choice without approval, which would look like an approval.
func (q Question) checkPlan(a Answer) error {
	switch {
	case a.Text == "":
		return nil
	case !a.Approved:
		return fault.Errorf(fault.Invalid, "a choice needs an approval: approve with one of %q", q.Choices)
	}
	return among(a.Text, q.Choices)
}

func (q Question) checkInput(a Answer) error {
	switch {
	case a.Approved:
		return fault.Errorf(fault.Invalid, "answer this question with text, not with approve or deny")
	case a.Text == "" && a.Reason != "":
		return nil // the user declines
	case a.Text == "" && !slices.Contains(q.Choices, ""):
		return fault.Errorf(fault.Invalid, "answer this question with text")
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

// ExpiredAnswer returns the answer for the agent when there was none in time.
func (q Question) ExpiredAnswer() Answer {
	const reason = "Nobody answered in time."
	switch q.Kind {
	case AskTool:
		return Answer{Failed: true, Reason: "The tool gave no result in time."}
	case AskInput, AskPermission, AskForm, AskSignIn, AskPlan:
	}
	return Answer{Reason: reason}
}

// SurvivesRestart reports whether a restarted agent can receive the answer.
func (q Question) SurvivesRestart() bool { return q.Kind == AskPermission || q.Kind == AskTool }

// UnattendedAnswer returns the answer for a client that cannot ask anyone: [permission.Allow] approves permissions and
// plans; everything else is refused. The caller adds the reason of a refusal.
func (q Question) UnattendedAnswer(d permission.Decision) Answer {
	return Answer{Approved: d == permission.Allow && (q.Kind == AskPermission || q.Kind == AskPlan), Failed: q.Kind == AskTool}
}

// SetNeeds sets the needs of a permission and the fields derived from them.
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

// AllNeeds returns the needs of a permission, at least one. For a question that has only names, they have no targets,
// except for the path of a read.
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
