package copilot

import (
	"cmp"
	"context"
	"strings"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/changes"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
)

// ProposeCommit proposes a commit of the files that a run changed, or for "" all runs, as far as they differ from the last commit
// of their git repository. If ask is set, the model writes the message, which takes a request to it and up to 20 s; without an
// answer, and for a session without a conversation, the message is the first line of the prompt. Errors: those of [Session.Changes].
func (s *Session) ProposeCommit(ctx context.Context, run string, ask bool) (changes.CommitProposal, error) {
	return s.host.commands.proposeCommit.run(ctx, s, commitQuery{run, ask})
}

func (s *Session) proposeCommitHere(ctx context.Context, q commitQuery) (changes.CommitProposal, error) {
	c, err := s.Changes(ctx, q.Run)
	if err != nil || c.Reason != "" {
		return changes.CommitProposal{Reason: c.Reason}, err
	}
	var ask func(string) string
	if q.Ask {
		ask = func(question string) string { return s.askModel(ctx, question) }
	}
	return changes.ProposeCommit(ctx, s.directory, c.Files, func() string { return s.promptText(ctx, q.Run) }, ask)
}

// Commit commits files of the session's directory as they are now, missing ones as deleted, and nothing else: what else is staged
// stays staged. No hook runs and nothing is signed, because the repository names the programs. Paths and branch are those of a
// [changes.CommitProposal]; a branch of "" means any.
//
// Errors, after which nothing has changed: kind [fault.Invalid] for a commit without files or message, one that git refuses, or
// if another branch is current;
// [fault.ErrBusy] while a run works; kind [fault.Unavailable] outside of a repository.
func (s *Session) Commit(ctx context.Context, paths []string, message, branch string) (changes.Committed, error) {
	return s.host.commands.commit.run(ctx, s, sentCommit{paths, message, branch})
}

func (s *Session) commitHere(ctx context.Context, c sentCommit) (changes.Committed, error) {
	message := strings.TrimSpace(c.Message)
	if err := changes.CheckCommit(c.Paths, message); err != nil {
		return changes.Committed{}, err
	}
	if err := s.checkNotWorking(ctx, "you commit"); err != nil {
		return changes.Committed{}, err
	}
	return changes.Commit(ctx, s.directory, c.Paths, message, c.Branch)
}

// promptText returns the prompt of a run, or for "" the last one; without any, the title.
func (s *Session) promptText(ctx context.Context, run string) (text string) {
	_ = s.eachEntry(ctx, s.record.Last(), func(e journal.Entry[event.Event]) bool { // without the record there is only the title
		if m, ok := e.Value.Body.(event.UserMessage); ok && (run == "" || e.Value.Run == run) {
			text = m.Prompt.Text
		}
		return true
	}, func() { text = "" })
	return cmp.Or(strings.TrimSpace(text), s.Info().Title)
}

// askModel asks the model something that is no part of the conversation. It returns "" without an answer.
func (s *Session) askModel(ctx context.Context, question string) string {
	l := s.currentLink()
	if l == nil || !l.pool.can(agent.Asking) {
		return ""
	}
	call, cancel := l.callContext(ctx.Done())
	defer cancel()
	answer, err := l.conversation.Ask(call, question)
	if err != nil {
		s.host.options.Log.Debug("the model did not answer", "session", s.id, "err", err)
		return ""
	}
	return answer
}
