package copilot

import (
	"context"
	"slices"

	"github.com/copilot-portal/portal/copilot/agent"
)

// remoteAttachment is a call that tells the holder of a session which questions the clients of this process can answer, for as
// long as it lasts.
type remoteAttachment struct {
	holder string
	can    Capabilities
	cancel context.CancelFunc
	done   chan struct{} // closed when the call has ended
}

// attach makes the holder of a session know the clients of this process. Only the follower's goroutine calls it.
func (f *remoteFollower) attach(ctx context.Context, s *Session) {
	s.mu.Lock()
	holder := s.owner.name
	s.mu.Unlock()
	clients := f.host.clients.of(s.id)
	can, some := unionOf(clients), len(clients) > 0
	if a := f.attached[s]; a != nil {
		if some && !agent.IsClosed(a.done) && a.holder == holder && a.can.equal(can) {
			return
		}
		f.detach(s)
	}
	if !some || holder == "" || f.host.processes == nil {
		return
	}
	call, cancel := context.WithCancel(ctx)
	a := &remoteAttachment{holder: holder, can: can, cancel: cancel, done: make(chan struct{})}
	f.attached[s] = a
	go func() {
		defer close(a.done)
		_ = f.host.processes.Call(call, holder, "/sessions/"+s.id+"/"+attachPath, can, nil) // the next refresh tries again
	}()
}

// detach ends the call for a session.
func (f *remoteFollower) detach(s *Session) {
	a := f.attached[s]
	if a == nil {
		return
	}
	delete(f.attached, s)
	a.cancel()
	<-a.done
}

func (f *remoteFollower) detachAll() {
	for s := range f.attached {
		f.detach(s)
	}
}

// unionOf returns the combined capabilities of clients.
func unionOf(clients []*Capabilities) (can Capabilities) {
	for _, c := range clients {
		can = can.union(*c)
	}
	return can
}

// equal reports whether two clients can answer the same questions.
func (a Capabilities) equal(b Capabilities) bool {
	return a.Choices == b.Choices && slices.Equal(a.Kinds, b.Kinds)
}
