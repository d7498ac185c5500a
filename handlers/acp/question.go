package acp

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/copilot-portal/portal/copilot/acp"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/plain"
	"github.com/copilot-portal/portal/handlers/form"
)

// The ids of options. Those of scopes and choices have a prefix.
const (
	optionAllow  = "allow"
	optionReject = "reject"
	scopePrefix  = "always:"
	choicePrefix = "choice:"
)

// openQuestions are the requests to the editor that wait for an answer. It is safe for concurrent use.
type openQuestions struct {
	mu   sync.Mutex
	open map[string]openQuestion // by question
}

type openQuestion struct {
	call *jsonrpc.PendingCall
	stop context.CancelFunc
}

// add registers a request.
func (o *openQuestions) add(id string, c *jsonrpc.PendingCall, stop context.CancelFunc) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open == nil {
		o.open = map[string]openQuestion{}
	}
	o.open[id] = openQuestion{c, stop}
}

func (o *openQuestions) remove(id string) *jsonrpc.PendingCall {
	o.mu.Lock()
	defer o.mu.Unlock()
	q, isOpen := o.open[id]
	if isOpen {
		q.stop()
		delete(o.open, id)
	}
	return q.call
}

// withdraw tells the editor that a question needs no answer any more.
func (o *openQuestions) withdraw(ctx context.Context, peer *jsonrpc.Peer, id string) {
	if c := o.remove(id); c != nil {
		_ = peer.Notify(ctx, "$/cancel_request", cancelRequestParams{c.ID()}) // else the connection ends
	}
}

// withdrawUnless withdraws all questions but those to keep.
func (o *openQuestions) withdrawUnless(ctx context.Context, peer *jsonrpc.Peer, keep func(id string) bool) {
	o.mu.Lock()
	ids := slices.Collect(maps.Keys(o.open))
	o.mu.Unlock()
	for _, id := range slices.DeleteFunc(ids, keep) {
		o.withdraw(ctx, peer, id)
	}
}

// relay is a question in the form of a request to the editor.
type relay struct {
	method string
	params any
	// read reads the result. ok is false if it is no answer: the question stays open for other clients.
	read func(result) (answer event.Answer, ok bool)
}

// result is the result of either request.
type result struct {
	acp.PermissionResult
	elicitationResult
}

// attempt is how often a question was asked before, and what was wrong with the last answer.
type attempt struct {
	number  int
	problem string
}

// maxAttempts limits how often a question is asked whose answers are invalid.
const maxAttempts = 3

// ask asks the editor a question, behind the updates sent before, and leaves it to a goroutine to wait for the answer.
func (a *attachment) ask(ctx context.Context, q event.Question, n attempt) {
	can := a.conn.capabilities()
	switch {
	case q.Kind == event.AskTool || !a.session().HasOpenQuestion(q.ID):
		return
	case !answerable(can).CanAnswer(q):
		a.notice(ctx, "warning", "The agent asks what this editor cannot show:", plain.Text(q.Subject()))
		a.giveUp(ctx, q)
		return
	}
	shown := q
	shown.Text = strings.TrimSpace(n.problem + "\n\n" + q.Text)
	r := a.relay(shown, can)
	own, stop := context.WithCancel(ctx)
	pending, err := a.conn.peer.Begin(own, nil, r.method, r.params)
	if err != nil {
		stop()
		return // the connection ends
	}
	a.questions.add(q.ID, pending, stop)
	a.conn.work.Go(func() {
		var reply result
		err := pending.Await(own, &reply)
		if own.Err() != nil { // withdrawn, or the editor has gone
			return
		}
		a.questions.remove(q.ID)
		answer, ok := event.Answer{}, false
		if err == nil {
			answer, ok = r.read(reply)
		} else {
			a.conn.api.options.Log.Warn("an editor did not answer a question", "session", a.id, "question", q.ID, "err", err)
		}
		if ok {
			a.give(ctx, q, answer, n)
		} else {
			a.giveUp(ctx, q)
		}
	})
}

// give gives an answer to the session. A form whose values do not fit is asked again.
func (a *attachment) give(ctx context.Context, q event.Question, answer event.Answer, n attempt) {
	err := a.session().AnswerAs(context.WithoutCancel(ctx), q.ID, answer, Origin)
	switch {
	case err == nil, errors.Is(err, fault.ErrAlreadyAnswered), errors.Is(err, fault.ErrQuestionNotFound):
	case fault.KindOf(err) == fault.Invalid && q.Kind == event.AskForm && n.number < maxAttempts:
		a.ask(ctx, q, attempt{n.number + 1, err.Error()})
	default:
		a.conn.api.options.Log.Warn("the session rejected the answer of an editor", "session", a.id, "question", q.ID, "err", err)
		a.giveUp(ctx, q)
	}
}

// giveUp refuses a question that the editor has not answered, if nobody else can. Otherwise it stays open for other clients.
func (a *attachment) giveUp(ctx context.Context, q event.Question) {
	if !a.conn.onlyClient || a.session().Info().Owner != 0 || a.conn.host().Clients(a.id) > 1 {
		return
	}
	refusal := event.Answer{Reason: "The editor could not ask the user, or the user has closed the question."}
	_ = a.session().AnswerAs(context.WithoutCancel(ctx), q.ID, refusal, Origin) // it may be closed by now
}

func (a *attachment) relay(q event.Question, can acp.ClientCapabilities) relay {
	switch q.Kind {
	case event.AskPermission:
		return a.permission(q)
	case event.AskPlan:
		return a.plan(q)
	case event.AskSignIn:
		return a.signIn(q, can)
	case event.AskForm:
		return a.form(q)
	case event.AskInput, event.AskTool:
	}
	if can.Elicitation.Form != nil {
		return a.input(q)
	}
	return a.choose(q, q.Choices, "The agent asks")
}

func option(id, name, kind string) acp.PermissionOption {
	return acp.PermissionOption{ID: id, Name: name, Kind: kind}
}

// options returns a request for permission. read gets the id of an option that was offered.
func (a *attachment) options(call toolCall, offered []acp.PermissionOption, read func(id string) event.Answer) relay {
	return relay{
		method: "session/request_permission", params: permissionParams{a.id, call, offered},
		read: func(r result) (event.Answer, bool) {
			known := slices.ContainsFunc(offered, func(o acp.PermissionOption) bool { return o.ID == r.Outcome.Option })
			switch {
			case r.Outcome.Outcome != "selected": // the turn is over, or the user has closed the dialog
				return event.Answer{}, false
			case !known:
				return event.Answer{Reason: "The editor sent an unreadable answer."}, true
			}
			return read(r.Outcome.Option), true
		},
	}
}

func (a *attachment) permission(q event.Question) relay {
	offered := []acp.PermissionOption{option(optionAllow, "Allow once", "allow_once")}
	for _, s := range form.Scopes(q.Scopes) {
		offered = append(offered, option(scopePrefix+string(s.Kind), plain.Text(s.Label), "allow_always"))
	}
	offered = append(offered, option(optionReject, "Refuse", "reject_once"))
	return a.options(a.encoder.ofQuestion(q), offered, func(id string) event.Answer {
		if scope, ok := strings.CutPrefix(id, scopePrefix); ok {
			return event.Answer{Approved: true, Remember: true, Scope: permission.ScopeKind(scope)}
		}
		return event.Answer{Approved: id == optionAllow}
	})
}

// plan asks whether to carry out a plan, and in which way.
func (a *attachment) plan(q event.Question) relay {
	offered := []acp.PermissionOption{}
	for i, way := range q.Choices {
		offered = append(offered, option(choicePrefix+strconv.Itoa(i), plain.Text(way), "allow_once"))
	}
	if len(offered) == 0 {
		offered = append(offered, option(optionAllow, "Carry it out", "allow_once"))
	}
	offered = append(offered, option(optionReject, "Do not", "reject_once"))
	call := toolCall{
		ID: cmp.Or(q.Call, q.ID), Status: "pending", Title: plain.Line(plain.Text(cmp.Or(q.Title, "Carry out this plan?")), maxTitle), ToolKind: "switch_mode",
		Content: []toolContent{text(plain.Text(q.Text))},
	}
	return a.options(call, offered, func(id string) event.Answer {
		if way, ok := choiceOf(id, q.Choices); ok {
			return event.Answer{Approved: true, Text: way}
		}
		return event.Answer{Approved: id == optionAllow}
	})
}

func choiceOf(id string, choices []string) (string, bool) {
	n, ok := strings.CutPrefix(id, choicePrefix)
	i, err := strconv.Atoi(n)
	if !ok || err != nil || i < 0 || i >= len(choices) {
		return "", false
	}
	return choices[i], true
}

// choose asks for one of the choices.
func (a *attachment) choose(q event.Question, choices []string, title string) relay {
	offered := []acp.PermissionOption{}
	for i, c := range choices {
		offered = append(offered, option(choicePrefix+strconv.Itoa(i), plain.Text(c), "allow_once"))
	}
	offered = append(offered, option(optionReject, "Do not answer", "reject_once"))
	call := toolCall{ID: cmp.Or(q.Call, q.ID), Status: "pending", Title: title, ToolKind: "other", Content: []toolContent{text(plain.Text(q.Text))}}
	return a.options(call, offered, func(id string) event.Answer {
		if c, ok := choiceOf(id, choices); ok {
			return event.Answer{Text: c}
		}
		return declined()
	})
}

func declined() event.Answer { return event.Answer{Reason: "The user did not want to answer."} }

// signIn sends the user to a page.
func (a *attachment) signIn(q event.Question, can acp.ClientCapabilities) relay {
	message := plain.Text(cmp.Or(q.Text, "Sign in to "+cmp.Or(q.Source, "a service")))
	if can.Elicitation.URL == nil || q.URL == "" {
		call := toolCall{
			ID: cmp.Or(q.Call, q.ID), Status: "pending", Title: "Sign in to " + plain.Text(cmp.Or(q.Source, "a service")), ToolKind: "fetch",
			Content: []toolContent{text(strings.TrimSpace(message + "\n\n" + plain.Text(q.URL)))},
		}
		offered := []acp.PermissionOption{option(optionAllow, "Done", "allow_once"), option(optionReject, "Do not", "reject_once")}
		return a.options(call, offered, func(id string) event.Answer { return event.Answer{Approved: id == optionAllow} })
	}
	return a.elicit(elicitationParams{Mode: "url", SessionID: a.id, CallID: q.Call, Message: message, ID: q.ID, URL: q.URL},
		func(elicitationResult) event.Answer { return event.Answer{Approved: true} }, event.Answer{})
}

// elicit asks for what a form or a page yields. A dialog that the user closes is no answer.
func (a *attachment) elicit(p elicitationParams, read func(elicitationResult) event.Answer, decline event.Answer) relay {
	return relay{method: "elicitation/create", params: p, read: func(r result) (event.Answer, bool) {
		switch r.Action {
		case "accept":
			return read(r.elicitationResult), true
		case "decline":
			return decline, true
		}
		return event.Answer{}, false
	}}
}

// answerField is the field of a form that asks for one text.
const answerField = "answer"

// input asks for a text, or one of the choices.
func (a *attachment) input(q event.Question) relay {
	field := property{Type: "string", Title: "Answer"}
	if !q.Freeform {
		for _, c := range q.Choices {
			field.OneOf = append(field.OneOf, titledConst{c, plain.Text(c)})
		}
	}
	message := plain.Text(q.Text)
	if q.Freeform && len(q.Choices) > 0 {
		message += plain.Text("\n\n- " + strings.Join(q.Choices, "\n- "))
	}
	schema := &elicitationSchema{"object", map[string]property{answerField: field}, []string{answerField}}
	return a.elicit(elicitationParams{Mode: "form", SessionID: a.id, CallID: q.Call, Message: message, Schema: schema}, func(r elicitationResult) event.Answer {
		if answer, ok := r.Content[answerField].(string); ok && answer != "" {
			return event.Answer{Text: answer}
		}
		return declined()
	}, declined())
}

// form asks for the fields of a form.
func (a *attachment) form(q event.Question) relay {
	schema := &elicitationSchema{Type: "object", Properties: map[string]property{}}
	for _, f := range form.Fields(q.Form) {
		schema.Properties[f.Name] = describeField(f)
		if f.Required {
			schema.Required = append(schema.Required, f.Name)
		}
	}
	return a.elicit(elicitationParams{Mode: "form", SessionID: a.id, CallID: q.Call, Message: plain.Text(q.Text), Schema: schema}, func(r elicitationResult) event.Answer {
		values, err := form.Values(r.Content)
		if err != nil {
			return event.Answer{Reason: "The editor sent an unreadable answer."}
		}
		return event.Answer{Approved: true, Fields: values}
	}, event.Answer{})
}

func describeField(f form.Field) property {
	p := property{Type: string(f.Type), Title: plain.Text(f.Title), Description: plain.Text(f.Detail), Format: f.Format, Default: f.Default}
	switch f.Type {
	case event.FieldText:
		p.MinLength, p.MaxLength = f.Min, f.Max
		if len(f.Choices) > 0 {
			p.OneOf = titled(f.Choices)
		}
	case event.FieldList:
		p.MinItems, p.MaxItems = f.Min, f.Max
		p.Items = &propertyItems{titled(f.Choices)}
	case event.FieldNumber, event.FieldInteger:
		p.Minimum, p.Maximum = f.Min, f.Max
	case event.FieldBoolean:
	}
	return p
}
