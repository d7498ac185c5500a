package copilot

import (
	"context"
	"maps"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/checkpoint"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// commands are all operations that change a session, or that only its holder can execute. Their documentation is that of the
// exported methods, which run them.
type commands struct {
	prompt            command[sentPrompt, string]
	cancel            command[string, none]
	answer            command[sentAnswer, none]
	close             command[none, none]
	reopen            command[none, none]
	resume            command[none, none]
	remove            command[none, none]
	rename            command[string, none]
	place             command[Placement, none]
	setAttribute      command[attribute, none]
	addCapabilities   command[Capabilities, none]
	setModel          command[string, none]
	setRules          command[permission.Policy, none]
	revoke            command[string, none]
	setTools          command[[]event.Tool, none]
	setServers        command[[]agent.ServerConfig, none]
	editQueued        command[queueChange, none]
	moveQueued        command[queueChange, none]
	sendQueued        command[string, string]
	fork              command[Cut, string]
	resend            command[resendOf, resent]
	revert            command[sentRevert, checkpoint.Restored]
	restore           command[Restore, restoredState]
	undo              command[sentUndo, checkpoint.Restored]
	proposeCommit     command[commitQuery, CommitProposal]
	commit            command[sentCommit, Committed]
	createPullRequest command[sentPullRequest, string]
	extensions        command[none, agent.Extensions]
	signIn            command[string, string]
}

// all returns the commands that other processes may call: every field.
func (c commands) all() []served {
	return []served{
		c.prompt, c.cancel, c.answer, c.close, c.reopen, c.resume, c.remove, c.rename, c.place, c.setAttribute, c.addCapabilities,
		c.setModel, c.setRules, c.revoke, c.setTools, c.setServers, c.editQueued, c.moveQueued, c.sendQueued, c.fork, c.resend,
		c.revert, c.restore, c.undo, c.proposeCommit, c.commit, c.createPullRequest, c.extensions, c.signIn,
	}
}

// Parameters and results.
type (
	sentPrompt struct {
		Prompt       event.Prompt
		RefuseIfBusy bool
		HasTools     bool
		Tools        []event.Tool
	}
	sentAnswer struct {
		Question string
		Answer   event.Answer
		By       string
	}
	attribute   struct{ Name, Value string }
	queueChange struct{ Run, Change string } // a text, or the run that follows
	resendOf    struct {
		Run    string
		Prompt Resend
	}
	resent     struct{ Session, Run string }
	sentRevert struct {
		Run   string
		Which checkpoint.Selection
		By    string
	}
	restoredState struct {
		Restored checkpoint.Restored
		Fork     string // id; "" if there is none
	}
	sentUndo    struct{ ID, By string }
	commitQuery struct {
		Run string
		Ask bool
	}
	sentCommit struct {
		Paths           []string
		Message, Branch string
	}
	sentPullRequest struct {
		Commands    []string
		Title, Body string
	}
)

// sent returns a prompt with what the JSON of prompts leaves out.
func sent(p event.Prompt) sentPrompt {
	all := sentPrompt{Prompt: p, RefuseIfBusy: p.RefuseIfBusy, HasTools: p.Tools != nil}
	if p.Tools != nil {
		all.Tools = *p.Tools
	}
	return all
}

func (p sentPrompt) whole() event.Prompt {
	p.Prompt.RefuseIfBusy = p.RefuseIfBusy
	if p.HasTools {
		p.Prompt.Tools = &p.Tools
	}
	return p.Prompt
}

// whole returns the answer. JSON makes lists of anything of its lists of texts.
func (p sentAnswer) whole() event.Answer {
	a := p.Answer
	a.Fields = maps.Clone(a.Fields)
	for name, value := range a.Fields {
		if list, ok := value.([]any); ok {
			a.Fields[name] = convert(list, func(v any) string { text, _ := v.(string); return text })
		}
	}
	return a
}

func newCommands() commands {
	return commands{
		prompt: newCommand("prompt", func(s *Session, _ context.Context, p sentPrompt) (string, error) {
			return s.promptHere(p.whole())
		}),
		cancel: withoutContext("cancel", (*Session).cancelHere),
		answer: withoutContext("answer", func(s *Session, p sentAnswer) error { return s.answerHere(p.Question, p.whole(), p.By) }),
		close:  withoutContext("close", func(s *Session, _ none) error { return s.closeHere() }),
		reopen: slow(withoutParams("reopen", (*Session).reopenHere)),
		resume: withoutParams("resume", (*Session).resumeHere),
		remove: slow(withoutParams("delete", (*Session).deleteHere)),
		rename: withoutResult("rename", (*Session).renameHere),
		place:  withoutResult("place", (*Session).placeHere),

		setAttribute:    withoutResult("set-attribute", (*Session).setAttributeHere),
		addCapabilities: withoutResult("add-capabilities", (*Session).addCapabilitiesHere),
		setModel:        slow(withoutResult("set-model", (*Session).setModelHere)),
		setRules:        withoutContext("set-rules", (*Session).setRulesHere),
		revoke:          withoutContext("revoke", (*Session).revokeHere),
		setTools:        withoutResult("set-tools", (*Session).setToolsHere),
		setServers:      withoutContext("set-servers", (*Session).setServersHere),

		editQueued: withoutContext("edit-queued", func(s *Session, p queueChange) error { return s.editQueuedHere(p.Run, p.Change) }),
		moveQueued: withoutContext("move-queued", func(s *Session, p queueChange) error { return s.moveQueuedHere(p.Run, p.Change) }),
		sendQueued: newCommand("send-queued", func(s *Session, _ context.Context, run string) (string, error) { return s.sendQueuedHere(run) }),

		fork: slow(newCommand("fork", func(s *Session, ctx context.Context, c Cut) (string, error) { return idOf(s.forkHere(ctx, c)) })),
		resend: slow(newCommand("resend", func(s *Session, ctx context.Context, p resendOf) (resent, error) {
			fork, run, err := s.resendHere(ctx, p.Run, p.Prompt)
			id, err := idOf(fork, err)
			return resent{id, run}, err
		})),
		revert: slow(newCommand("revert", func(s *Session, ctx context.Context, p sentRevert) (checkpoint.Restored, error) {
			return s.revertHere(ctx, p.Run, p.Which, p.By)
		})),
		restore: slow(newCommand("restore", func(s *Session, ctx context.Context, p Restore) (restoredState, error) {
			done, fork, err := s.restoreHere(ctx, p)
			id, err := idOf(fork, err)
			return restoredState{done, id}, err
		})),
		undo: slow(newCommand("undo", func(s *Session, ctx context.Context, p sentUndo) (checkpoint.Restored, error) {
			return s.undoHere(ctx, p.ID, p.By)
		})),
		proposeCommit: slow(newCommand("propose-commit", func(s *Session, ctx context.Context, q commitQuery) (CommitProposal, error) {
			return s.proposeCommitHere(ctx, q.Run, q.Ask)
		})),
		commit: slow(newCommand("commit", func(s *Session, ctx context.Context, c sentCommit) (Committed, error) {
			return s.commitHere(ctx, c.Paths, c.Message, c.Branch)
		})),
		createPullRequest: slow(newCommand("create-pull-request", func(s *Session, ctx context.Context, p sentPullRequest) (string, error) {
			return s.createPullRequestHere(ctx, p.Commands, p.Title, p.Body)
		})),
		extensions: slow(newCommand("extensions", func(s *Session, ctx context.Context, _ none) (agent.Extensions, error) { return s.extensionsHere(ctx) })),
		signIn:     slow(newCommand("sign-in", (*Session).signInHere)),
	}
}

// idOf returns the id of a session, which may be nil.
func idOf(s *Session, err error) (string, error) {
	if s == nil {
		return "", err
	}
	return s.id, err
}
