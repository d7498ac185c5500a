package ui

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/plain"
	"github.com/copilot-portal/portal/handlers/form"
)

// desk puts one question to a UI by the requests of spec/contracts/ui-protocol.md, "7. Runtime → UI".
type desk struct {
	*connection
	session, run string
	q            event.Question
	fault        string // what was wrong with the answer before
	queued       func() // is called when the first request is on its way
}

// call asks the UI for something.
func (d desk) call(ctx context.Context, method string, params, result any) error {
	pending, err := d.peer.Begin(ctx, nil, method, params)
	if err != nil {
		return err
	}
	d.queued()
	return pending.Await(ctx, result)
}

// message puts what was wrong before a text.
func (d desk) message(text string) string {
	return strings.TrimSpace(d.fault + "\n\n" + plain.Text(text))
}

type questionMeta struct {
	SessionID  string             `json:"session_id"`
	QuestionID string             `json:"question_id"`
	Kind       event.QuestionKind `json:"kind"`
	Call       string             `json:"tool_call_id,omitempty"`
	URL        string             `json:"url,omitempty"`
	Choices    []string           `json:"choices,omitempty"` // of a plan: the ways to carry it out
	HTML       string             `json:"html,omitempty"`    // of what is to be approved
}

func (d desk) meta() questionMeta {
	return questionMeta{SessionID: d.session, QuestionID: d.q.ID, Kind: d.q.Kind, Call: d.q.Call, URL: d.q.URL}
}

// put returns the answer of the UI, or why there is none.
func (d desk) put(ctx context.Context) (event.Answer, error) {
	switch d.q.Kind {
	case event.AskPermission:
		return d.permission(ctx)
	case event.AskPlan:
		return d.confirm(ctx, confirmParams{
			Title: plain.Text(cmp.Or(d.q.Title, "Carry out this plan?")), Message: plain.Text(d.q.Text), Confirm: "Carry it out", Cancel: "Do not", Reason: true,
		})
	case event.AskSignIn:
		return d.confirm(ctx, confirmParams{
			Title: "Sign in to " + plain.Text(cmp.Or(d.q.Source, "a service")), Message: plain.Text(strings.TrimSpace(d.q.Text + "\n\n" + d.q.URL)),
			Confirm: "Done", Cancel: "Do not",
		})
	case event.AskForm:
		return d.form(ctx)
	case event.AskTool:
		return d.tool(ctx)
	case event.AskInput:
	}
	return d.input(ctx)
}

type confirmParams struct {
	RunID    string       `json:"run_id,omitempty"`
	Title    string       `json:"title"`
	Message  string       `json:"message"`
	Confirm  string       `json:"confirm_label"`
	Cancel   string       `json:"cancel_label"`
	Danger   string       `json:"danger_level"`
	Remember bool         `json:"allow_remember"`
	Reason   bool         `json:"allow_reason"`
	Scopes   []form.Scope `json:"scopes,omitempty"` // how far it can be remembered, narrowest first
	Meta     questionMeta `json:"meta"`
}

type confirmResult struct {
	OK       *bool                `json:"ok"`
	Remember bool                 `json:"remember"`
	Scope    permission.ScopeKind `json:"scope"` // one of those offered
	Reason   string               `json:"reason"`
	Choice   string               `json:"choice"` // of a plan: one of the ways
}

func (d desk) permission(ctx context.Context) (event.Answer, error) {
	return d.confirm(ctx, confirmParams{
		Title: plain.Text(d.q.Title), Message: plain.Text(cmp.Or(d.q.Detail, d.q.Title)), Confirm: "Allow", Cancel: "Refuse",
		Danger: danger(d.q), Remember: len(d.q.Scopes) > 0, Reason: true, Scopes: scopes(d.q),
	})
}

// scopes are what the answer can cover, as people can be shown them.
func scopes(q event.Question) []form.Scope {
	list := form.Scopes(q.Scopes)
	for i := range list {
		list[i].Label = plain.Text(list[i].Label)
	}
	return list
}

// danger says whether more than files of the project may change.
func danger(q event.Question) string {
	for _, name := range q.Names {
		if name == permission.Exec || name == permission.Push || name == permission.ForcePush {
			return "danger"
		}
	}
	return "normal"
}

func (d desk) confirm(ctx context.Context, p confirmParams) (event.Answer, error) {
	p.RunID, p.Meta, p.Danger = d.run, d.meta(), cmp.Or(p.Danger, "normal")
	p.Meta.Choices = d.ways()
	if d.capable().HTML {
		p.Meta.HTML = questionHTML(d.q)
	}
	var result confirmResult
	if err := d.call(ctx, "ui.confirm.request", p, &result); err != nil {
		return event.Answer{}, err
	}
	if result.OK == nil {
		return event.Answer{}, jsonrpc.InvalidParams(`the answer has no "ok"`)
	}
	a := event.Answer{Approved: *result.OK, Remember: p.Remember && result.Remember}
	if p.Remember {
		a.Scope = result.Scope
	}
	switch {
	case !a.Approved:
		a.Reason = result.Reason
	case result.Choice == "" || len(p.Meta.Choices) == 0: // as the agent recommends
	case !slices.Contains(p.Meta.Choices, result.Choice):
		return event.Answer{}, jsonrpc.InvalidParams("%q is none of the choices", result.Choice)
	default:
		a.Text = result.Choice
	}
	return a, nil
}

// ways are those to carry out a plan, for UIs that know more than spec/contracts/ui-protocol.md,
// "7.1 ui.confirm.request".
func (d desk) ways() []string {
	if d.q.Kind != event.AskPlan || !d.capable().Deltas {
		return nil
	}
	return d.q.Choices
}

type promptParams struct {
	RunID     string       `json:"run_id,omitempty"`
	Title     string       `json:"title"`
	Message   string       `json:"message"`
	Default   string       `json:"default_value,omitempty"`
	Multiline bool         `json:"multiline"`
	Meta      questionMeta `json:"meta"`
}

// prompt asks for a text; not ok if the person declines.
func (d desk) prompt(ctx context.Context, p promptParams) (text string, ok bool, err error) {
	p.RunID, p.Meta = d.run, d.meta()
	var result struct {
		Value *string `json:"value"`
	}
	if err := d.call(ctx, "ui.prompt.request", p, &result); err != nil {
		return "", false, err
	}
	if result.Value == nil {
		return "", false, nil
	}
	return *result.Value, true, nil
}

type pickParams struct {
	RunID string       `json:"run_id,omitempty"`
	Title string       `json:"title"`
	Items []item       `json:"items"`
	Multi bool         `json:"multi"`
	Meta  questionMeta `json:"meta"`
}

type item struct {
	ID     string `json:"id"`
	Label  string `json:"label"`
	Detail string `json:"detail,omitempty"`
}

// pick lets choose among items; none if the person declines.
func (d desk) pick(ctx context.Context, p pickParams) (ids []string, err error) {
	p.RunID, p.Meta = d.run, d.meta()
	var result struct {
		IDs []string `json:"ids"`
	}
	if err := d.call(ctx, "ui.pick.request", p, &result); err != nil {
		return nil, err
	}
	for _, id := range result.IDs {
		if !slices.ContainsFunc(p.Items, func(i item) bool { return i.ID == id }) {
			return nil, jsonrpc.InvalidParams("%q is none of the items", id)
		}
	}
	return result.IDs, nil
}

// otherItem stands for an answer that is none of the choices.
const otherItem = "other"

// input asks for a text or one of the choices.
func (d desk) input(ctx context.Context) (event.Answer, error) {
	can := d.capable()
	if len(d.q.Choices) == 0 || !can.Pick {
		return d.free(ctx)
	}
	items := make([]item, 0, len(d.q.Choices)+1)
	for i, c := range d.q.Choices {
		items = append(items, item{ID: strconv.Itoa(i), Label: plain.Text(c)})
	}
	if d.q.Freeform && can.Prompt {
		items = append(items, item{ID: otherItem, Label: "Something else…"})
	}
	ids, err := d.pick(ctx, pickParams{Title: plain.Text(d.q.Text), Items: items})
	switch {
	case err != nil:
		return event.Answer{}, err
	case len(ids) == 0:
		return declined(d.q), nil
	case ids[0] == otherItem:
		return d.free(ctx)
	}
	i, _ := strconv.Atoi(ids[0]) // pick has looked at it
	return event.Answer{Text: d.q.Choices[i]}, nil
}

// free asks for a text. Without a way to pick, the choices stand in the message.
func (d desk) free(ctx context.Context) (event.Answer, error) {
	message := d.message(d.q.Text)
	if len(d.q.Choices) > 0 && !d.capable().Pick {
		message += plain.Text("\n\n- " + strings.Join(d.q.Choices, "\n- "))
	}
	text, ok, err := d.prompt(ctx, promptParams{Title: "The agent asks", Message: message, Multiline: true})
	switch {
	case err != nil:
		return event.Answer{}, err
	case !ok || text == "":
		return declined(d.q), nil
	}
	return event.Answer{Text: text}, nil
}

type formParams struct {
	RunID   string       `json:"run_id,omitempty"`
	Title   string       `json:"title"`
	Message string       `json:"message"`
	Fields  []form.Field `json:"fields"`
	Meta    questionMeta `json:"meta"`
}

type formResult struct {
	OK     *bool          `json:"ok"`
	Fields map[string]any `json:"fields"`
	Reason string         `json:"reason"`
}

// form has a form filled in.
func (d desk) form(ctx context.Context) (event.Answer, error) {
	if !d.capable().Forms {
		return d.fill(ctx)
	}
	p := formParams{d.run, d.formTitle(), d.message(d.q.Text), form.Fields(d.q.Form), d.meta()}
	var result formResult
	if err := d.call(ctx, "portal.form.request", p, &result); err != nil {
		return event.Answer{}, err
	}
	if result.OK == nil {
		return event.Answer{}, jsonrpc.InvalidParams(`the answer has no "ok"`)
	}
	if !*result.OK {
		return event.Answer{Reason: result.Reason}, nil
	}
	values, err := form.Values(result.Fields)
	return event.Answer{Approved: true, Fields: values}, err
}

func (d desk) formTitle() string { return plain.Text(cmp.Or(d.q.Source, "The agent")) + " asks" }
