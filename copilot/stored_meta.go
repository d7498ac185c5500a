package copilot

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/session"
	"github.com/copilot-portal/portal/copilot/store"
)

// settings is what a session has in memory as its stored head has it. Maps and lists are replaced, never modified: forks share them.
type settings struct {
	runSummary

	AskUser         bool              `json:"ask_user,omitzero"`
	Attributes      map[string]string `json:"notes,omitzero"` // of its client
	Tools           []event.Tool      `json:"tools,omitzero"`
	Policy          permission.Policy `json:"policy,omitzero"`
	Remembered      permission.Policy `json:"remembered,omitzero"`   // rules from answers, which precede Policy
	Agent           string            `json:"agent,omitzero"`        // that has the conversation; "" for the first one
	Saved           savedConversation `json:"conversation,omitzero"` // in a cluster
	Usage           Usage             `json:"usage,omitzero"`
	Pinned          bool              `json:"pinned,omitzero"`   // see [Placement]
	Archived        bool              `json:"archived,omitzero"` // likewise
	ForkOf          ForkOrigin        `json:"fork_of,omitzero"`
	LastRunEnd      uint64            `json:"settled,omitzero"` // number of the last RunEnded: everything before it is finished
	ModelUnresolved bool              `json:"seeks,omitzero"`   // the model is the name that a client gave; the first conversation resolves it
}

// meta is the stored state of a session besides its record and the fields of lists. It suffices to continue in another process.
type meta struct {
	settings

	Answers       []event.QuestionKind `json:"answers,omitzero"` // what its client can answer without being attached
	Choices       bool                 `json:"choices,omitzero"` // likewise
	Model         storedModel          `json:"model"`
	State         State                `json:"state,omitzero"`     // in the process that holds it
	WaitsFor      string               `json:"waits_for,omitzero"` // likewise
	TitledByUser  bool                 `json:"named,omitzero"`     // a user has set the title
	TitledByModel bool                 `json:"titled,omitzero"`    // the model has
	HasHistory    bool                 `json:"said,omitzero"`      // [session.HasContent]
	NeverOpened   bool                 `json:"fresh,omitzero"`     // the conversation was never opened
	Queue         []json.RawMessage    `json:"queue,omitzero"`     // queued prompts; see [session.DecodeRun]
	Epoch         uint64               `json:"epoch"`              // epoch of the last owner
	Earlier       [][2]uint64          `json:"earlier,omitzero"`   // previous epochs, each with its end
}

type storedModel struct {
	Name       string  `json:"name,omitzero"`
	Multiplier float64 `json:"multiplier,omitzero"`
}

// storedHead is what the stored head of a session says about it while this process does not hold it.
type storedHead struct {
	meta         []byte            // as last read
	status       status            // of the session in the process that holds it
	queue        []json.RawMessage // prompts that were queued when the last owner ended
	decodedQueue []*session.Run    // the same while the session is at rest, once they are asked for
}

// owner is the process that holds a session in state [session.Elsewhere].
type owner struct {
	process int    // 0: none
	name    string // its [store.Store.Name]
}

// epochs are those of a session's record.
type epochs struct {
	current uint64
	earlier []journal.Position // with their ends
}

// next begins an epoch after the entry n.
func (e *epochs) next(n uint64) {
	e.earlier = append(e.earlier, journal.Position{Epoch: e.current, N: n})
	if len(e.earlier) > maxEpochs {
		e.earlier = e.earlier[len(e.earlier)-maxEpochs:]
	}
	e.current = newEpoch()
}

// maxEpochs limits the number of stored previous epochs; positions of older ones
// are stale.
const maxEpochs = 100

// head returns the stored form of the session, and remembers its status. The caller must hold the lock.
func (s *Session) head() *store.Session {
	s.stored.status = status{s.state(), s.waitsFor()}
	m := meta{
		settings: s.settings,
		State:    s.stored.status.state, WaitsFor: s.stored.status.waitsFor,
		Answers: s.capabilities.Kinds, Choices: s.capabilities.Choices,
		TitledByUser: s.titledBy == titleByUser, TitledByModel: s.titledBy == titleByModel,
		HasHistory: s.machine.History() == session.HasContent, NeverOpened: s.machine.History() == session.NeverOpened,
		Model: storedModel{s.model.Name, s.model.Multiplier},
		Queue: append(slices.Clone(s.stored.queue), storedQueue(s.machine.Queue())...),
		Epoch: s.epochs.current, Earlier: convert(s.epochs.earlier, func(p journal.Position) [2]uint64 { return [2]uint64{p.Epoch, p.N} }),
	}
	data, err := json.Marshal(m)
	if err != nil { // the schema of a tool, perhaps
		s.host.options.Log.Error("cannot encode session for the store", "session", s.id, "err", err)
		return nil
	}
	return &store.Session{
		ID: s.id, Origin: s.origin, Title: s.title, Model: s.model.ID, Directory: s.directory,
		Created: s.created, Changed: s.lastChange, Closed: s.state() == StateClosed, Pinned: s.settings.Pinned, Meta: data,
	}
}

// storedQueue returns the stored form of the queued prompts, except cancelled ones, those that the agent already has, and runs
// without a prompt. Prompts that steer are not queued, or get runs of their own.
func storedQueue(runs []*session.Run) (lines []json.RawMessage) {
	for _, r := range runs {
		if !r.NeedsStore() {
			continue
		}
		if line := r.Encoded(); line != nil {
			lines = append(lines, line)
		}
	}
	return lines
}

// restore returns a session for its stored head. It is inactive until it is used.
func (h *Host) restore(head store.Session) (*Session, error) {
	s := newSession(h, head.ID, agent.Model{}, Start{Origin: head.Origin, Directory: head.Directory})
	s.created, s.lease, s.storage.stored = head.Created, leaseNone, true
	if err := s.applyHead(head); err != nil {
		return nil, err
	}
	record, err := journal.Restore(h.recordOptions(s.id), head.Last, nil)
	if err != nil {
		return nil, err
	}
	record.Begin(s.epochs.current, s.epochs.earlier)
	s.record = record
	s.endRecord()
	return s, nil
}

// applyHead updates an inactive session from its stored head, which another process may have changed. The caller must hold the lock, or
// call it before the session is shared.
func (s *Session) applyHead(head store.Session) error {
	if s.stored.meta == nil || !bytes.Equal(s.stored.meta, head.Meta) { // while another process works, the head is read often
		m, err := decodeMeta(head)
		if err != nil {
			return err
		}
		s.applyMeta(m)
		s.stored.meta = head.Meta
	}
	s.setStored(head.Closed, owner{head.Owner, head.OwnerName})
	s.title, s.lastChange, s.model.ID = head.Title, head.Changed, head.Model
	return nil
}

func decodeMeta(head store.Session) (m meta, err error) {
	if err := json.Unmarshal(head.Meta, &m); err != nil {
		return m, fault.Errorf(fault.Internal, "what is stored of the session %s cannot be read: %w", head.ID, err)
	}
	return m, nil
}

// beginStoredEpoch continues the record in the epoch of the stored head. It must precede the entries of that epoch: readers would get them
// with positions of the epoch before, and not know that another process writes them.
func (s *Session) beginStoredEpoch(head store.Session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setStored(head.Closed, owner{head.Owner, head.OwnerName})
	if bytes.Equal(s.stored.meta, head.Meta) {
		return nil
	}
	m, err := decodeMeta(head)
	switch {
	case err != nil:
		return err
	case !m.continues(s.record.Position(s.record.Last())):
		return errRereadRecord
	}
	s.record.Begin(m.Epoch, m.earlier())
	return nil
}

// continues reports whether the stored record has the entries up to a position in memory. Otherwise its owner has begun an epoch without
// some that another process had.
func (m meta) continues(at journal.Position) bool {
	return at.N == 0 || at.Epoch == m.Epoch || slices.ContainsFunc(m.earlier(), func(end journal.Position) bool { return end.Epoch == at.Epoch && at.N <= end.N })
}

func (s *Session) applyMeta(m meta) {
	s.settings = m.settings
	s.titledBy, s.capabilities = m.titledBy(), Capabilities{m.Answers, m.Choices}
	s.machine.SetHistory(m.history())
	s.stored.status = status{m.State, m.WaitsFor}
	s.model = agent.Model{Name: m.Model.Name, Multiplier: m.Model.Multiplier}
	s.epochs = epochs{m.Epoch, m.earlier()}
	s.stored.queue, s.stored.decodedQueue = m.Queue, nil
}

func (m meta) earlier() []journal.Position {
	return convert(m.Earlier, func(p [2]uint64) journal.Position { return journal.Position{Epoch: p[0], N: p[1]} })
}

func (m meta) titledBy() titleSource {
	switch {
	case m.TitledByUser:
		return titleByUser
	case m.TitledByModel:
		return titleByModel
	}
	return titleByAgent
}

func (m meta) history() session.History {
	switch {
	case m.HasHistory:
		return session.HasContent
	case m.NeverOpened:
		return session.NeverOpened
	}
	return session.Opened
}

// convert returns a list with each element converted; nil stays nil.
func convert[A, B any](list []A, one func(A) B) []B {
	if list == nil {
		return nil
	}
	converted := make([]B, 0, len(list))
	for _, a := range list {
		converted = append(converted, one(a))
	}
	return converted
}
