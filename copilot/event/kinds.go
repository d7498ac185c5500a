package event

import (
	"encoding/json"
	"reflect"
)

// Names of texts, which are encoded without the table.
const (
	nameReasoningDelta = "reasoning.delta"
	nameReasoningEnded = "reasoning.ended"
	nameMessageDelta   = "message.delta"
	nameMessageEnded   = "message.ended"
	nameToolOutput     = "tool.output"
)

// kind is a type of body in the store.
type kind struct {
	name   string // never renamed, and never reused for another type
	body   reflect.Type
	form   func(Body) any // the value to encode; nil: the body
	decode func(raw json.RawMessage) (Body, error)
}

// kinds has a row for each type of body.
var kinds = []kind{ //nolint:gochecknoglobals // a table
	kindOf[SessionOpened]("session.opened"),
	kindOf[SessionClosed]("session.closed"),
	kindOf[SessionError]("session.failed"),
	kindOf[ModelChanged]("model.changed"),
	kindOf[TitleChanged]("title.changed"),
	kindOf[PolicyChanged]("policy.changed"),
	kindOf[UsageChanged]("usage.changed"),
	kindOf[ModelCalled]("model.called"),
	kindOf[CompactionStarted]("compaction.started"),
	kindOf[CompactionEnded]("compaction.ended"),
	kindOf[RunStarted]("run.started"),
	kindOf[RunEnded]("run.ended"),
	kindAs("user.message", func(b *UserMessage) *Prompt { return &b.Prompt }),
	kindOf[QueueChanged]("queue.changed"),
	kindOf[TurnStarted]("turn.started"),
	kindOf[TurnEnded]("turn.ended"),
	kindOf[ReasoningStarted]("reasoning.started"),
	kindOf[ReasoningDelta](nameReasoningDelta),
	kindOf[ReasoningEnded](nameReasoningEnded),
	kindOf[MessageStarted]("message.started"),
	kindOf[MessageDelta](nameMessageDelta),
	kindOf[MessageEnded](nameMessageEnded),
	kindOf[ToolStarted]("tool.started"),
	kindOf[ToolOutput](nameToolOutput),
	kindOf[ToolEnded]("tool.ended"),
	kindOf[PlanChanged]("plan.changed"),
	kindOf[SubagentStarted]("subagent.started"),
	kindOf[SubagentEnded]("subagent.ended"),
	kindOf[ServerChanged]("server.changed"),
	kindAs("question.asked", func(b *QuestionAsked) *Question { return &b.Question }),
	kindOf[QuestionClosed]("question.answered"),
	kindOf[FilesRestored]("files.restored"),
	kindOf[Notice]("notice"),
	kindOf[Idle]("idle"),
}

var (
	kindsByName = index(func(k kind) string { return k.name })       //nolint:gochecknoglobals // a table
	kindsByBody = index(func(k kind) reflect.Type { return k.body }) //nolint:gochecknoglobals // a table
)

func index[K comparable](key func(kind) K) map[K]kind {
	m := make(map[K]kind, len(kinds))
	for _, k := range kinds {
		m[key(k)] = k
	}
	return m
}

// kindOf returns the row of a body type.
func kindOf[B Body](name string) kind {
	k := kindAs(name, func(b *B) *B { return b })
	k.form = nil
	return k
}

// kindAs returns the row of a body type that is encoded as its only field.
func kindAs[B Body, F any](name string, field func(*B) *F) kind {
	return kind{
		name, reflect.TypeFor[B](),
		func(body Body) any {
			b, _ := body.(B) // rows are found by type
			return *field(&b)
		},
		func(raw json.RawMessage) (Body, error) {
			var b B
			if err := decode(raw, field(&b)); err != nil {
				return nil, err
			}
			return b.visit(visitor{purpose: decoding}), nil
		},
	}
}
