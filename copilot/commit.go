package copilot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/checkpoint"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/git"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/secret"
)

// CommitProposal proposes a commit of what the runs of a session changed.
type CommitProposal struct {
	Reason  string // why nothing can be committed; then everything else may be empty
	Files   []CommitFile
	Message string
	ByModel bool // the model wrote the message; otherwise it is from the prompt
	Head    git.Head
	Staged  int // other files that are staged, and stay so
}

// CommitFile is a file of a [CommitProposal].
type CommitFile struct {
	FileChange

	Problem string // why it cannot be committed; "" if it can
}

// Committed is a commit that was made.
type Committed struct {
	Hash   string
	Branch string // "" if HEAD is detached
	Files  int
}

// Limits of commits.
const (
	commitTime       = time.Minute
	maxCommitMessage = 20_000 // characters
	maxCommitFiles   = 2 * maxFileChanges
	maxNamedFiles    = 100 // that a question to the model names
	maxCommitSubject = 72  // characters that are usual in the first line of a message
)

// ProposeCommit proposes a commit of the files that a run changed, or for "" all runs, as far as they differ from the last commit
// of their git repository. If ask is set, the model writes the message, which takes a request to it and up to 20 s; without an
// answer, and for a session without a conversation, the message is the first line of the prompt. Errors: those of [Session.Changes].
func (s *Session) ProposeCommit(ctx context.Context, run string, ask bool) (p CommitProposal, err error) {
	return s.host.commands.proposeCommit.run(ctx, s, commitQuery{run, ask})
}

func (s *Session) proposeCommitHere(ctx context.Context, q commitQuery) (p CommitProposal, err error) {
	changes, err := s.Changes(ctx, q.Run)
	if err != nil || changes.Reason != "" {
		return CommitProposal{Reason: changes.Reason}, err
	}
	err = s.inRepository(ctx, func(ctx context.Context, r *git.Repository) (err error) {
		if p.Head, err = r.Head(ctx); err == nil {
			p.Files, p.Staged, err = commitFiles(ctx, r, changes.Files)
		}
		return err
	})
	if err != nil {
		if fault.KindOf(err) == fault.Unavailable {
			return CommitProposal{Reason: err.Error()}, nil
		}
		return p, err
	}
	switch {
	case p.Head.Problem != "":
		p.Reason = p.Head.Problem
	case len(p.Files) == 0:
		p.Reason = "the files that the agent changed are committed already, or git ignores them"
	}
	p.Message = s.promptMessage(ctx, q.Run)
	if q.Ask && p.Reason == "" {
		if message := s.askMessage(ctx, p.Files); message != "" {
			p.Message, p.ByModel = message, true
		}
	}
	return p, nil
}

// commitFiles returns those changes that a commit can contain. A renamed file takes its old name along.
func commitFiles(ctx context.Context, r *git.Repository, changes []FileChange) (files []CommitFile, staged int, err error) {
	byPath := map[string]FileChange{}
	var paths []string
	for _, c := range changes {
		if c.OldPath != "" {
			paths = append(paths, c.OldPath)
			byPath[c.OldPath] = FileChange{Change: checkpoint.Change{Path: c.OldPath, Status: checkpoint.Deleted, Removed: 0}, State: c.State, Also: c.Also}
		}
		paths = append(paths, c.Path)
		c.OldPath = ""
		byPath[c.Path] = c
	}
	candidates, staged, err := r.Candidates(ctx, paths)
	for _, c := range candidates {
		files = append(files, CommitFile{byPath[c.Path], c.Problem})
	}
	return files, staged, err
}

// Commit commits files of the session's directory as they are now, missing ones as deleted, and nothing else: what else is staged
// stays staged. No hook runs and nothing is signed, because the repository names the programs. Paths and branch are those of a
// [CommitProposal]; a branch of "" means any.
//
// Errors, after which nothing has changed: kind [fault.Invalid] for a commit without files or message, one that git refuses, or
// if another branch is current;
// [fault.ErrBusy] while a run works; kind [fault.Unavailable] outside of a repository.
func (s *Session) Commit(ctx context.Context, paths []string, message, branch string) (done Committed, err error) {
	return s.host.commands.commit.run(ctx, s, sentCommit{paths, message, branch})
}

func (s *Session) commitHere(ctx context.Context, c sentCommit) (done Committed, err error) {
	message := strings.TrimSpace(c.Message)
	switch {
	case len(c.Paths) == 0:
		return done, fault.Errorf(fault.Invalid, "no file is chosen for the commit")
	case len(c.Paths) > maxCommitFiles:
		return done, fault.Errorf(fault.Invalid, "a commit can have at most %d files", maxCommitFiles)
	case message == "":
		return done, fault.Errorf(fault.Invalid, "the message of the commit is missing")
	case utf8.RuneCountInString(message) > maxCommitMessage || !isText(message):
		return done, fault.Errorf(fault.Invalid, "the message of the commit is longer than %d characters, or no text", maxCommitMessage)
	}
	if err := s.checkNotWorking("you commit"); err != nil {
		return done, err
	}
	err = s.inRepository(ctx, func(ctx context.Context, r *git.Repository) (err error) {
		done, err = commitIn(ctx, r, c.Paths, message, c.Branch)
		return err
	})
	return done, err
}

func commitIn(ctx context.Context, r *git.Repository, paths []string, message, branch string) (Committed, error) {
	current, err := r.CurrentBranch()
	if err != nil {
		return Committed{}, err
	}
	if branch != "" && branch != current {
		return Committed{}, fault.Errorf(fault.Invalid, "the current branch is now %q: look at the commit again", current)
	}
	before, err := r.Commits(ctx, "HEAD", 1)
	if err != nil {
		return Committed{}, err
	}
	hash, err := r.CommitFiles(ctx, paths, message)
	if err != nil {
		return Committed{}, err
	}
	if len(before) > 0 && before[0].Hash == hash {
		return Committed{}, fault.Errorf(fault.Invalid, "nothing was committed: these files are as in the last commit")
	}
	return Committed{hash, current, len(paths)}, nil
}

// isText reports whether a text is UTF-8 without control characters except line breaks and tabs.
func isText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f })
}

// cutText returns a text as valid UTF-8 of at most some characters.
func cutText(text string, most int) string {
	text = strings.ToValidUTF8(text, "")
	if runes := []rune(text); len(runes) > most {
		return strings.TrimRight(string(runes[:most-1]), " ") + "…"
	}
	return text
}

// inRepository calls do with the repository of the session's directory, for a limited time. Errors: kind [fault.Unavailable] if
// there is none; what git refuses has the kind [fault.Invalid].
func (s *Session) inRepository(ctx context.Context, do func(context.Context, *git.Repository) error) error {
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	r, err := git.Open(ctx, s.directory)
	if err == nil {
		err = errors.Join(do(ctx, r), r.Close())
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, git.ErrNoRepository):
		return fault.Errorf(fault.Unavailable, "%s is in no git repository that can be used", s.directory)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fault.Errorf(fault.Timeout, "git took more than %v", commitTime)
	case fault.KindOf(err) != fault.Internal:
		return err
	}
	return fault.Errorf(fault.Invalid, "%s", secret.Mask(err.Error()))
}

// promptMessage returns the first line of the prompt of a run, or for "" of the last one, as a message.
func (s *Session) promptMessage(ctx context.Context, run string) (message string) {
	_ = s.eachEntry(ctx, s.record.Last(), func(e journal.Entry[event.Event]) bool { // without the record there is only the title
		if m, ok := e.Value.Body.(event.UserMessage); ok && (run == "" || e.Value.Run == run) {
			message = m.Prompt.Text
		}
		return true
	}, func() { message = "" })
	line, _, _ := strings.Cut(strings.TrimSpace(cmp.Or(strings.TrimSpace(message), s.Info().Title)), "\n")
	return secret.Mask(cutText(line, maxCommitSubject))
}

// commitQuestion asks the model for the message of a commit.
const commitQuestion = "Reply with a message for a git commit of these files and nothing else, without quotation marks, Markdown or a trailer: " +
	"a subject of at most 72 characters in the imperative mood that says what changes; if it needs reasons, an empty line and at most five short lines. The files:\n"

// askMessage asks the model for the message of a commit. It returns "" without an answer.
func (s *Session) askMessage(ctx context.Context, files []CommitFile) string {
	l := s.currentLink()
	if l == nil || !l.pool.can(agent.Asking) {
		return ""
	}
	question := commitQuestion
	for i, f := range files {
		if i == maxNamedFiles {
			question += fmt.Sprintf("and %d more\n", len(files)-i)
			break
		}
		question += fmt.Sprintf("%s %q (+%d -%d)\n", f.Status, f.Path, f.Added, f.Removed)
	}
	call, cancel := l.callContext(ctx.Done())
	defer cancel()
	answer, err := l.conversation.Ask(call, question)
	message := cleanMessage(answer)
	if err != nil || message == "" {
		s.host.options.Log.Debug("the model gave no message for a commit", "session", s.id, "err", err)
	}
	return secret.Mask(message)
}

// maxModelMessage is the maximum length of a message of the model, in characters. Longer answers are no messages.
const maxModelMessage = 2000

// cleanMessage returns the message in an answer of the model: what is in a code block, if it has one; "" if there is none.
func cleanMessage(answer string) string {
	text := strings.TrimSpace(strings.ReplaceAll(answer, "\r\n", "\n"))
	if _, inside, ok := strings.Cut("\n"+text, "\n```"); ok {
		_, inside, _ = strings.Cut(inside, "\n")
		text, _, _ = strings.Cut("\n"+inside, "\n```")
	}
	subject, body, _ := strings.Cut(strings.TrimSpace(text), "\n")
	subject = cleanSubject(subject)
	text = strings.TrimSpace(subject + "\n\n" + strings.TrimSpace(body))
	if utf8.RuneCountInString(text) > maxModelMessage || subject == "" || !isText(text) {
		return ""
	}
	return text
}

// cleanSubject removes the mark of a heading and what encloses the whole subject.
func cleanSubject(subject string) string {
	if marks := strings.TrimLeft(subject, "#"); strings.HasPrefix(marks, " ") {
		subject = marks
	}
	subject = strings.TrimSpace(subject)
	for _, pair := range [][2]string{{"**", "**"}, {`"`, `"`}, {"`", "`"}, {"“", "”"}, {"„", "“"}} {
		if inner, ok := strings.CutPrefix(subject, pair[0]); ok {
			if inner, ok = strings.CutSuffix(inner, pair[1]); ok && !strings.Contains(inner, pair[0]) {
				subject = strings.TrimSpace(inner)
			}
		}
	}
	return subject
}
