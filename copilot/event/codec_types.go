package event

import "encoding/json"

// formOf gives the name of a body's type and the form in which it is written, "" if
// it has none. The names are never changed, nor used for something else. Each
// form has the fields of its body, or it would not compile.
func formOf(b Body) (tag string, form any) {
	for _, f := range []func(Body) (string, any){formOfRun, formOfSession, formOfWork, formOfQuestion} {
		if tag, form = f(b); tag != "" {
			break
		}
	}
	return tag, form
}

// bodyOf reads a body by the name of its type.
func bodyOf(tag string, raw json.RawMessage) (Body, error) {
	if raw == nil {
		raw = json.RawMessage("{}")
	}
	for _, f := range []func(string, json.RawMessage) (Body, error){textOf, sessionOf, runOf, workOf, questionOf} {
		if b, err := f(tag, raw); b != nil || err != nil {
			return b, err
		}
	}
	return nil, errLaterVersion
}

// as reads a body from the form in which it is written.
func as[W any](raw json.RawMessage, body func(W) Body) (Body, error) {
	var w W
	if err := decode(raw, &w); err != nil {
		return nil, err
	}
	return body(w), nil
}

const (
	tagMessageEnded   = "message.ended"
	tagReasoningEnded = "reasoning.ended"
)

// textPayload is formOf for pieces of text and their ends, but for those that were cut off.
func textPayload(b Body) (tag string, form said) {
	switch b := b.(type) {
	case MessageDelta:
		return "message.delta", said(b)
	case ReasoningDelta:
		return "reasoning.delta", said(b)
	case ToolOutput:
		return "tool.output", said(b)
	case MessageEnded:
		if !b.Cut {
			return tagMessageEnded, said{b.ID, b.Text}
		}
	case ReasoningEnded:
		if !b.Cut {
			return tagReasoningEnded, said{b.ID, b.Text}
		}
	}
	return "", said{}
}

func textOf(tag string, raw json.RawMessage) (Body, error) {
	switch tag {
	case "message.delta":
		return as(raw, func(w said) Body { return MessageDelta(w) })
	case "reasoning.delta":
		return as(raw, func(w said) Body { return ReasoningDelta(w) })
	case "tool.output":
		return as(raw, func(w said) Body { return ToolOutput(w) })
	case tagMessageEnded:
		return as(raw, func(w ended) Body { return MessageEnded(w) })
	case tagReasoningEnded:
		return as(raw, func(w ended) Body { return ReasoningEnded(w) })
	}
	return nil, nil
}

func formOfSession(b Body) (tag string, form any) {
	switch b := b.(type) {
	case SessionOpened:
		return "session.opened", sessionOpened(b)
	case SessionClosed:
		return "session.closed", nothing(b)
	case SessionError:
		return "session.failed", sessionFailed(b)
	case ModelChanged:
		return "model.changed", modelChanged(b)
	case TitleChanged:
		return "title.changed", titleChanged(b)
	case PolicyChanged:
		return "policy.changed", policyChanged(b)
	case UsageChanged:
		return "usage.changed", usageChanged(b)
	case ModelCalled:
		return "model.called", modelCalled(b)
	case CompactionStarted:
		return "compaction.started", compactionStarted(b)
	case CompactionEnded:
		return "compaction.ended", compactionEnded(b)
	}
	return "", nil
}

func sessionOf(tag string, raw json.RawMessage) (Body, error) {
	switch tag {
	case "session.opened":
		return as(raw, func(w sessionOpened) Body { return SessionOpened(w) })
	case "session.closed":
		return as(raw, func(w nothing) Body { return SessionClosed(w) })
	case "session.failed":
		return as(raw, func(w sessionFailed) Body { return SessionError(w) })
	case "model.changed":
		return as(raw, func(w modelChanged) Body { return ModelChanged(w) })
	case "title.changed":
		return as(raw, func(w titleChanged) Body { return TitleChanged(w) })
	case "policy.changed":
		return as(raw, func(w policyChanged) Body { return PolicyChanged(w) })
	case "usage.changed":
		return as(raw, func(w usageChanged) Body { return UsageChanged(w) })
	case "model.called":
		return as(raw, func(w modelCalled) Body { return ModelCalled(w) })
	case "compaction.started":
		return as(raw, func(w compactionStarted) Body { return CompactionStarted(w) })
	case "compaction.ended":
		return as(raw, func(w compactionEnded) Body { return CompactionEnded(w) })
	}
	return nil, nil
}

func formOfRun(b Body) (tag string, form any) {
	switch b := b.(type) {
	case RunStarted:
		return "run.started", nothing(b)
	case RunEnded:
		return "run.ended", runEnded(b)
	case UserMessage:
		return "user.message", userMessageForm(b)
	case QueueChanged:
		return "queue.changed", queueChanged{mapSlice(b.Waiting, func(w Waiting) waiting { return waiting(w) })}
	case TurnStarted:
		return "turn.started", named(b)
	case TurnEnded:
		return "turn.ended", named(b)
	case MessageEnded:
		return tagMessageEnded, ended(b)
	case ReasoningEnded:
		return tagReasoningEnded, ended(b)
	case MessageStarted:
		return "message.started", named(b)
	case ReasoningStarted:
		return "reasoning.started", named(b)
	case Idle:
		return "idle", idle(b)
	}
	return "", nil
}

func runOf(tag string, raw json.RawMessage) (Body, error) {
	switch tag {
	case "run.started":
		return as(raw, func(w nothing) Body { return RunStarted(w) })
	case "run.ended":
		return as(raw, func(w runEnded) Body { return RunEnded(w) })
	case "user.message":
		return as(raw, userMessage.body)
	case "queue.changed":
		return as(raw, func(w queueChanged) Body {
			return QueueChanged{mapSlice(w.Waiting, func(w waiting) Waiting { return Waiting(w) })}
		})
	case "turn.started":
		return as(raw, func(w named) Body { return TurnStarted(w) })
	case "turn.ended":
		return as(raw, func(w named) Body { return TurnEnded(w) })
	case "message.started":
		return as(raw, func(w named) Body { return MessageStarted(w) })
	case "reasoning.started":
		return as(raw, func(w named) Body { return ReasoningStarted(w) })
	case "idle":
		return as(raw, func(w idle) Body { return Idle(w) })
	}
	return nil, nil
}

func formOfWork(b Body) (tag string, form any) {
	switch b := b.(type) {
	case ToolStarted:
		b.Arguments = validJSON(b.Arguments)
		return "tool.started", toolStarted(b)
	case ToolEnded:
		return "tool.ended", toolEnded{b.ID, (*toolResult)(b.Result), (*toolError)(b.Error)}
	case PlanChanged:
		return "plan.changed", planChanged{b.Text, mapSlice(b.Todos, func(t Todo) todo { return todo(t) })}
	case SubagentStarted:
		return "subagent.started", subagentStarted(b)
	case SubagentEnded:
		return "subagent.ended", subagentEnded(b)
	case ServerChanged:
		return "server.changed", serverChanged{server(b.Server)}
	}
	return "", nil
}

func workOf(tag string, raw json.RawMessage) (Body, error) {
	switch tag {
	case "tool.started":
		return as(raw, func(w toolStarted) Body { return ToolStarted(w) })
	case "tool.ended":
		return as(raw, func(w toolEnded) Body { return ToolEnded{w.ID, (*ToolResult)(w.Result), (*ToolError)(w.Error)} })
	case "plan.changed":
		return as(raw, func(w planChanged) Body {
			return PlanChanged{w.Text, mapSlice(w.Todos, func(t todo) Todo { return Todo(t) })}
		})
	case "subagent.started":
		return as(raw, func(w subagentStarted) Body { return SubagentStarted(w) })
	case "subagent.ended":
		return as(raw, func(w subagentEnded) Body { return SubagentEnded(w) })
	case "server.changed":
		return as(raw, func(w serverChanged) Body { return ServerChanged{Server(w.Server)} })
	}
	return nil, nil
}

func formOfQuestion(b Body) (tag string, form any) {
	switch b := b.(type) {
	case QuestionAsked:
		return "question.asked", questionAskedForm(b.Question)
	case QuestionClosed:
		return "question.answered", questionAnswered{b.ID, b.Kind, b.By, b.Ending, answer(b.Answer)}
	case Notice:
		b.Raw = validJSON(b.Raw)
		return "notice", notice(b)
	}
	return "", nil
}

func questionOf(tag string, raw json.RawMessage) (Body, error) {
	switch tag {
	case "question.asked":
		return as(raw, questionAsked.body)
	case "question.answered":
		return as(raw, questionAnswered.body)
	case "notice":
		return as(raw, func(w notice) Body { return Notice(w) })
	}
	return nil, nil
}

// validJSON is JSON in any case: what is none becomes a text.
func validJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || json.Valid(raw) {
		return raw
	}
	return appendText(nil, string(raw))
}

// mapSlice converts what stands in a list; nil stays nil.
func mapSlice[A, B any](list []A, convert func(A) B) []B {
	if list == nil {
		return nil
	}
	out := make([]B, 0, len(list))
	for _, a := range list {
		out = append(out, convert(a))
	}
	return out
}
