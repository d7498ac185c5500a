package copilot

import (
	"maps"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/changes"
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
	recordRestored    command[checkpoint.Restored, none]
	proposeCommit     command[commitQuery, changes.CommitProposal]
	commit            command[sentCommit, changes.Committed]
	createPullRequest command[sentPullRequest, string]
	extensions        command[none, agent.Extensions]
	signIn            command[string, string]
}

// all returns the commands that other processes may call: every field.
func (c commands) all() []served {
	return []served{
		c.prompt, c.cancel, c.answer, c.close, c.reopen, c.resume, c.remove, c.rename, c.place, c.setAttribute, c.addCapabilities,
		c.setModel, c.setRules, c.revoke, c.setTools, c.setServers, c.editQueued, c.moveQueued, c.sendQueued, c.fork, c.resend,
		c.revert, c.restore, c.undo, c.recordRestored, c.proposeCommit, c.commit, c.createPullRequest, c.extensions, c.signIn,
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
		prompt: newCommand("prompt", (*Session).promptHere),
		cancel: withoutContext("cancel", (*Session).cancelHere),
		answer: withoutContext("answer", (*Session).answerHere),
		close:  withoutContext("close", (*Session).closeHere),
		reopen: slow(withoutParams("reopen", exclusive((*Session).reopenHere))),
		resume: withoutParams("resume", exclusive((*Session).resumeHere)),
		remove: slow(withoutParams("delete", exclusive((*Session).deleteHere))),
		rename: withoutResult("rename", (*Session).renameHere),
		place:  withoutResult("place", (*Session).placeHere),

		setAttribute:    withoutResult("set-attribute", (*Session).setAttributeHere),
		addCapabilities: withoutResult("add-capabilities", (*Session).addCapabilitiesHere),
		setModel:        slow(withoutResult("set-model", (*Session).setModelHere)),
		setRules:        withoutContext("set-rules", (*Session).setRulesHere),
		revoke:          withoutContext("revoke", (*Session).revokeHere),
		setTools:        withoutResult("set-tools", (*Session).setToolsHere),
		setServers:      withoutContext("set-servers", (*Session).setServersHere),

		editQueued: withoutContext("edit-queued", (*Session).editQueuedHere),
		moveQueued: withoutContext("move-queued", (*Session).moveQueuedHere),
		sendQueued: newCommand("send-queued", (*Session).sendQueuedHere),

		fork:              slow(newCommand("fork", (*Session).forkHere)),
		resend:            slow(newCommand("resend", (*Session).resendHere)),
		revert:            slow(newCommand("revert", (*Session).revertHere)),
		restore:           slow(newCommand("restore", (*Session).restoreHere)),
		undo:              slow(newCommand("undo", (*Session).undoHere)),
		recordRestored:    withoutResult("record-restored", (*Session).recordRecoveredHere),
		proposeCommit:     slow(newCommand("propose-commit", (*Session).proposeCommitHere)),
		commit:            slow(newCommand("commit", (*Session).commitHere)),
		createPullRequest: slow(newCommand("create-pull-request", (*Session).createPullRequestHere)),
		extensions:        slow(newCommand("extensions", (*Session).extensionsHere)),
		signIn:            slow(newCommand("sign-in", (*Session).signInHere)),
	}
}
