package ui

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/plain"
	"github.com/copilot-portal/portal/handlers/form"
)

// questionRelay asks a UI one question by the requests of spec/contracts/ui-protocol.md, "7.
// Runtime → UI".
type questionRelay struct {
	*connection
	session, run string
	question     event.Question
	lastError    string // the error of the previous answer
	queued       func() // called when the first request is queued
}

// callUI sends a request to the UI and waits for its result.
func (r questionRelay) callUI(ctx context.Context, method string, params, result any) error {
	pending, err := r.peer.Begin(ctx, nil, method, params)
	if err != nil {
		return err
	}
	r.queued()
	return pending.Await(ctx, result)
}

// message puts the error of the previous answer before a text.
func (r questionRelay) message(text string) string {
	return strings.TrimSpace(r.lastError + "\n\n" + plain.Text(text))
}

type questionMeta struct {
	SessionID  string             `json:"session_id"`
	QuestionID string             `json:"question_id"`
	Kind       event.QuestionKind `json:"kind"`
	Call       string             `json:"tool_call_id,omitempty"`
	URL        string             `json:"url,omitempty"`
	Choices    []string           `json:"choices,omitempty"` // of a plan: the ways to execute it
	HTML       string             `json:"html,omitempty"`    // of what needs approval
}

func (r questionRelay) meta() questionMeta {
	return questionMeta{SessionID: r.session, QuestionID: r.question.ID, Kind: r.question.Kind, Call: r.question.Call, URL: r.question.URL}
}

// askUser returns the answer of the UI.
func (r questionRelay) askUser(ctx context.Context) (event.Answer, error) {
	switch r.question.Kind {
	case event.AskPermission:
		return r.permission(ctx)
	case event.AskPlan:
		return r.confirm(ctx, confirmParams{
			Title: plain.Text(cmp.Or(r.question.Title, "Carry out this plan?")), Message: plain.Text(r.question.Text), Confirm: "Carry it out", Cancel: "Do not", Reason: true,
		})
	case event.AskSignIn:
		return r.confirm(ctx, confirmParams{
			Title: "Sign in to " + plain.Text(cmp.Or(r.question.Source, "a service")), Message: plain.Text(strings.TrimSpace(r.question.Text + "\n\n" + r.question.URL)),
			Confirm: "Done", Cancel: "Do not",
		})
	case event.AskForm:
		return r.form(ctx)
	case event.AskTool:
		return r.tool(ctx)
	case event.AskInput:
	}
	return r.input(ctx)
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
	Scopes   []form.Scope `json:"scopes,omitempty"` // the scopes of a remembered answer, narrowest first
	Meta     questionMeta `json:"meta,omitzero"`    // absent if no session asks
}

type confirmResult struct {
	OK       *bool                `json:"ok"`
	Remember bool                 `json:"remember"`
	Scope    permission.ScopeKind `json:"scope"` // one of those offered
	Reason   string               `json:"reason"`
	Choice   string               `json:"choice"` // of a plan: one of the ways
}

func (r questionRelay) permission(ctx context.Context) (event.Answer, error) {
	return r.confirm(ctx, confirmParams{
		Title: plain.Text(r.question.Title), Message: plain.Text(cmp.Or(r.question.Detail, r.question.Title)), Confirm: "Allow", Cancel: "Refuse",
		Danger: dangerLevel(r.question), Remember: len(r.question.Scopes) > 0, Reason: true, Scopes: scopes(r.question),
	})
}

// scopes returns the offered scopes with labels that are safe to show.
func scopes(q event.Question) []form.Scope {
	list := form.Scopes(q.Scopes)
	for i := range list {
		list[i].Label = plain.Text(list[i].Label)
	}
	return list
}

// dangerLevel returns "danger" if more than files of the project may change.
func dangerLevel(q event.Question) string {
	for _, name := range q.Names {
		if name == permission.Exec || name == permission.Push || name == permission.ForcePush {
			return "danger"
		}
	}
	return "normal"
}

func (r questionRelay) confirm(ctx context.Context, p confirmParams) (event.Answer, error) {
	p.RunID, p.Meta, p.Danger = r.run, r.meta(), cmp.Or(p.Danger, "normal")
	p.Meta.Choices = r.planChoices()
	if _, limited := copilot.AccessOf(ctx); limited {
		p.Remember, p.Scopes = false, nil
	}
	if r.capabilities().HTML {
		p.Meta.HTML = questionHTML(r.question)
	}
	var result confirmResult
	if err := r.callUI(ctx, "ui.confirm.request", p, &result); err != nil {
		return event.Answer{}, err
	}
	if result.OK == nil {
		return event.Answer{}, jsonrpc.InvalidParams(`"ok" is missing in the answer`)
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
		return event.Answer{}, jsonrpc.InvalidParams("%q is not one of the choices", result.Choice)
	default:
		a.Text = result.Choice
	}
	return a, nil
}

// planChoices returns the ways to execute a plan, for UIs that know more than
// spec/contracts/ui-protocol.md, "7.1 ui.confirm.request".
func (r questionRelay) planChoices() []string {
	if r.question.Kind != event.AskPlan || !r.capabilities().Deltas {
		return nil
	}
	return r.question.Choices
}

type promptParams struct {
	RunID     string       `json:"run_id,omitempty"`
	Title     string       `json:"title"`
	Message   string       `json:"message"`
	Default   string       `json:"default_value,omitempty"`
	Multiline bool         `json:"multiline"`
	Meta      questionMeta `json:"meta"`
}

// prompt asks for a text; ok is false if the user declines.
func (r questionRelay) prompt(ctx context.Context, p promptParams) (text string, ok bool, err error) {
	p.RunID, p.Meta = r.run, r.meta()
	var result struct {
		Value *string `json:"value"`
	}
	if err := r.callUI(ctx, "ui.prompt.request", p, &result); err != nil {
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

// pick asks the user to choose among items; it returns none if the user declines.
func (r questionRelay) pick(ctx context.Context, p pickParams) (ids []string, err error) {
	p.RunID, p.Meta = r.run, r.meta()
	var result struct {
		IDs []string `json:"ids"`
	}
	if err := r.callUI(ctx, "ui.pick.request", p, &result); err != nil {
		return nil, err
	}
	for _, id := range result.IDs {
		if !slices.ContainsFunc(p.Items, func(i item) bool { return i.ID == id }) {
			return nil, jsonrpc.InvalidParams("%q is not one of the items", id)
		}
	}
	return result.IDs, nil
}

// otherItem stands for an answer that is not one of the choices.
const otherItem = "other"

// input asks for a text or one of the choices.
func (r questionRelay) input(ctx context.Context) (event.Answer, error) {
	can := r.capabilities()
	if len(r.question.Choices) == 0 || !can.Pick {
		return r.freeText(ctx)
	}
	items := make([]item, 0, len(r.question.Choices)+1)
	for i, c := range r.question.Choices {
		items = append(items, item{ID: strconv.Itoa(i), Label: plain.Text(c)})
	}
	if r.question.Freeform && can.Prompt {
		items = append(items, item{ID: otherItem, Label: "Something else…"})
	}
	ids, err := r.pick(ctx, pickParams{Title: plain.Text(r.question.Text), Items: items})
	switch {
	case err != nil:
		return event.Answer{}, err
	case len(ids) == 0:
		return declined(r.question), nil
	case ids[0] == otherItem:
		return r.freeText(ctx)
	}
	i, _ := strconv.Atoi(ids[0]) // pick has checked it
	return event.Answer{Text: r.question.Choices[i]}, nil
}

// freeText asks for a text. If the UI cannot pick, the message lists the choices.
func (r questionRelay) freeText(ctx context.Context) (event.Answer, error) {
	message := r.message(r.question.Text)
	if len(r.question.Choices) > 0 && !r.capabilities().Pick {
		message += plain.Text("\n\n- " + strings.Join(r.question.Choices, "\n- "))
	}
	text, ok, err := r.prompt(ctx, promptParams{Title: "The agent asks", Message: message, Multiline: true})
	switch {
	case err != nil:
		return event.Answer{}, err
	case !ok || text == "":
		return declined(r.question), nil
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

// form asks the user to fill in a form.
func (r questionRelay) form(ctx context.Context) (event.Answer, error) {
	if !r.capabilities().Forms {
		return r.fill(ctx)
	}
	p := formParams{r.run, r.formTitle(), r.message(r.question.Text), form.Fields(r.question.Form), r.meta()}
	var result formResult
	if err := r.callUI(ctx, "portal.form.request", p, &result); err != nil {
		return event.Answer{}, err
	}
	if result.OK == nil {
		return event.Answer{}, jsonrpc.InvalidParams(`"ok" is missing in the answer`)
	}
	if !*result.OK {
		return event.Answer{Reason: result.Reason}, nil
	}
	values, err := form.Values(result.Fields)
	return event.Answer{Approved: true, Fields: values}, err
}

func (r questionRelay) formTitle() string {
	return plain.Text(cmp.Or(r.question.Source, "The agent")) + " asks"
}
