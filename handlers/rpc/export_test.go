package rpc

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/handlers/edit"
)

// For the tests of package rpc_test.
type (
	CreateParams  = createParams
	SendParams    = sendParams
	ListParams    = listParams
	AnswerParams  = answerParams
	RevokeParams  = revokeParams
	CancelParams  = cancelParams
	ForkParams    = forkParams
	ChangesParams = changesParams
	RestoreParams = restoreParams
	UndoParams    = struct {
		sessionParams
		edit.UndoParams
	}
	ResendParams    = resendParams
	UpdateParams    = updateParams
	FileParams      = fileParams
	SubscribeParams = subscribeParams

	ProposeCommitParams = proposeCommitParams
	CreateCommitParams  = struct {
		sessionParams
		edit.CommitParams
	}
	CreatePullParams = struct {
		sessionParams
		edit.PullParams
	}
)

// ParamsOf returns the names of parameters in their order.
func ParamsOf(params any) (names []string) {
	for _, field := range reflect.VisibleFields(reflect.TypeOf(params)) {
		if !field.Anonymous {
			names = append(names, field.Tag.Get("json"))
		}
	}
	return names
}

// Carrier returns what carries callbacks; see [Options].
func Carrier(remote bool) http.RoundTripper { return carrier(remote) }

// UsedSessions returns the sessions that the dialect keeps something of.
func (a *API) UsedSessions() []string {
	a.uses.mu.Lock()
	ids := maps.Clone(a.uses.byID)
	a.uses.mu.Unlock()
	a.delivered.mu.Lock()
	defer a.delivered.mu.Unlock()
	for id := range a.delivered.bySession {
		ids[id] = nil
	}
	return slices.Collect(maps.Keys(ids))
}

// Encode returns what a stream sends: all entries of each record, after a gap where another record follows.
func Encode(gap journal.GapError, records ...[]event.Body) (sent []string) {
	enc := newEncoder()
	for i, bodies := range records {
		if i > 0 {
			enc.skip(&gap)
		}
		for n, b := range bodies {
			for _, m := range enc.encode(journal.Entry[event.Event]{N: gap.First*uint64(i) + uint64(n) + 1, Value: event.Event{Body: b}}) {
				raw, _ := json.Marshal(m.payload())
				sent = append(sent, m.event+" "+string(raw))
			}
		}
	}
	return sent
}

// Share returns what each of two readers of an entry shares. The second one gets it from the cache.
func Share() (shared [2]string) {
	var cache eventCache
	entry := []message{{event: "x", delta: textDelta{of: blockKey{blockMessage, "m"}, content: "hello"}, shared: true}}
	for i := range shared {
		_ = encodeEntry(&cache, journal.Position{Epoch: 1, N: 1}, entry, encodeEvent, func(form []byte) { shared[i] = string(form) }, func([]byte) {})
	}
	return shared
}
