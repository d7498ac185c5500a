package fake

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// process is an [agent.Agent].
type process struct {
	agents *Agents
	number int
	died   chan struct{} // closed when calls start to fail, with the lock held
	done   chan struct{}
	work   sync.WaitGroup // scripts and calls while the process is alive

	mu            sync.Mutex
	halted        error                    // result of pings, once halted
	conversations map[string]*conversation // by session
}

// errGone returns the error of calls after the process has died.
func errGone() error {
	return fault.Errorf(fault.Unavailable, "the connection to the agent is closed")
}

func newProcess(a *Agents, number int) *process {
	return &process{
		agents: a, number: number, died: make(chan struct{}), done: make(chan struct{}),
		conversations: map[string]*conversation{},
	}
}

// supervise waits for the end of the process and cleans up.
func (p *process) supervise() {
	<-p.died
	p.work.Wait()
	if p.agents.Dying > 0 {
		<-time.After(p.agents.Dying)
	}
	p.agents.forget(p)
	close(p.done)
}

func (p *process) die() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isDead() {
		close(p.died)
	}
}

// start runs f in a goroutine, unless the process is dead.
func (p *process) start(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isDead() {
		return false
	}
	p.work.Go(f)
	return true
}

func (p *process) isDead() bool { return agent.IsClosed(p.died) }

// call records a call and returns its error, if it fails.
func (p *process) call(ctx context.Context, c Call) error {
	c.Process = p.number
	alive, cancel := context.WithCancel(ctx)
	defer cancel()
	started := p.start(func() {
		select {
		case <-p.died:
			cancel()
		case <-alive.Done():
		}
	})
	if !started {
		return errGone()
	}
	err := p.halt(alive, c)
	if err == nil {
		err = p.agents.received(alive, c)
	}
	switch {
	case p.isDead():
		return errGone()
	case err != nil:
		return err
	}
	return ctx.Err()
}

// Done returns a channel that is closed when the process has ended and cleaned up.
func (p *process) Done() <-chan struct{} { return p.done }

// Exit reports a kill, the most frequent end.
func (p *process) Exit() string { return "exited with error code 137: 'killed'" }

// Stop stops the process. If Before blocks, it is killed when ctx is done.
func (p *process) Stop(ctx context.Context) {
	_ = p.call(ctx, Call{Method: Stop}) // it ends in any case
	p.die()
	<-p.done
}

// Models returns [Agents.Models].
func (p *process) Models(ctx context.Context) ([]agent.Model, error) {
	if err := p.call(ctx, Call{Method: Models}); err != nil {
		return nil, err
	}
	return slices.Clone(p.agents.Models), nil
}

// Account returns [Agents.Account].
func (p *process) Account(ctx context.Context) (agent.Account, error) {
	return p.agents.Account, p.call(ctx, Call{Method: Account})
}

// SignOut marks [Agents.Account] as not signed in.
func (p *process) SignOut(ctx context.Context) (bool, error) {
	if err := p.call(ctx, Call{Method: SignOut}); err != nil {
		return false, err
	}
	was := p.agents.Account.SignedIn
	p.agents.Account = agent.Account{}
	return was, nil
}

// Extensions returns those of [Agents], with the servers that were added.
func (p *process) Extensions(ctx context.Context, _ string) (agent.Extensions, error) {
	return p.agents.extensions(event.ServerConfigured), p.call(ctx, Call{Method: Extensions})
}

// Open starts a conversation, or resumes a saved one if there is one.
func (p *process) Open(ctx context.Context, o agent.Opening, sink agent.Sink) (agent.Conversation, error) {
	c := newConversation(p, o, sink)
	if err := checkTools(o.Tools); err != nil {
		return nil, err
	}
	if err := p.call(ctx, Call{Method: Open, Session: o.Session, Opening: o, conversation: c}); err != nil {
		c.mute()
		return nil, err
	}
	switch {
	case !o.Resume:
		p.agents.begin(o.Session)
	case p.agents.isNew(o.Session):
		c.emit("", []event.Body{notResumed()})
	}
	p.mu.Lock()
	old := p.conversations[o.Session]
	p.conversations[o.Session] = c
	p.mu.Unlock()
	if old != nil {
		old.mute()
	}
	p.agents.addHeld(1)
	c.resume()
	return c, nil
}

// notResumed returns the error for a session without saved state.
func notResumed() event.SessionError {
	return event.SessionError{
		Kind: fault.Unavailable,
		Text: "the agent's saved conversation cannot be resumed: it starts anew and does not know the earlier conversation",
	}
}

// OwnTool is a built-in tool of the agent.
const OwnTool = "bash"

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// checkTools rejects tools that the model cannot be offered.
func checkTools(tools []event.Tool) error {
	for _, t := range tools {
		if !toolName.MatchString(t.Alias()) {
			return fmt.Errorf("%q is not a valid tool name", t.Name)
		}
		if t.Name == OwnTool {
			return fault.Errorf(fault.Invalid, "the agent has a tool %q of its own", t.Name)
		}
	}
	return nil
}

func (p *process) conversation(session string) *conversation {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conversations[session]
}

func (p *process) closed(c *conversation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conversations[c.opening.Session] == c {
		delete(p.conversations, c.opening.Session)
	}
}
