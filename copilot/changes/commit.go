package changes

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/copilot-portal/portal/copilot/checkpoint"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/git"
	"github.com/copilot-portal/portal/copilot/plain"
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
	File

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
	maxCommitMessage = 20_000 // characters
	maxCommitFiles   = 2 * maxFiles
	maxNamedFiles    = 100 // that a question to the model names
	maxCommitSubject = 72  // characters that are usual in the first line of a message
)

// ProposeCommit proposes a commit of changed files, as far as they differ from the last commit of the git repository that a directory is in.
// The message is the first line of the text that prompt returns, unless the model answers: ask, if not nil, asks it.
func ProposeCommit(ctx context.Context, directory string, changed []File, prompt func() string, ask func(question string) string) (p CommitProposal, err error) {
	err = inRepository(ctx, directory, func(ctx context.Context, r *git.Repository) (err error) {
		if p.Head, err = r.Head(ctx); err == nil {
			p.Files, p.Staged, err = commitFiles(ctx, r, changed)
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
	p.Message = subjectOf(prompt())
	if ask != nil && p.Reason == "" {
		if message := secret.Mask(cleanMessage(ask(commitQuestion(p.Files)))); message != "" {
			p.Message, p.ByModel = message, true
		}
	}
	return p, nil
}

// commitFiles returns those changes that a commit can contain. A renamed file takes its old name along.
func commitFiles(ctx context.Context, r *git.Repository, changes []File) (files []CommitFile, staged int, err error) {
	byPath := map[string]File{}
	var paths []string
	for _, c := range changes {
		if c.OldPath != "" {
			paths = append(paths, c.OldPath)
			byPath[c.OldPath] = File{Change: checkpoint.Change{Path: c.OldPath, Status: checkpoint.Deleted, Removed: 0}, State: c.State, Also: c.Also}
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

// subjectOf returns the first line of a prompt as the message of a commit.
func subjectOf(prompt string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	return secret.Mask(plain.Cut(line, maxCommitSubject))
}

// CheckCommit checks the files and the message of a commit. Errors: kind [fault.Invalid].
func CheckCommit(paths []string, message string) error {
	switch {
	case len(paths) == 0:
		return fault.Errorf(fault.Invalid, "no file is chosen for the commit")
	case len(paths) > maxCommitFiles:
		return fault.Errorf(fault.Invalid, "a commit can have at most %d files", maxCommitFiles)
	case message == "":
		return fault.Errorf(fault.Invalid, "the message of the commit is missing")
	case utf8.RuneCountInString(message) > maxCommitMessage || !isText(message):
		return fault.Errorf(fault.Invalid, "the message of the commit is longer than %d characters, or no text", maxCommitMessage)
	}
	return nil
}

// Commit commits files as they are now, missing ones as deleted, and nothing else. No hook runs and nothing is signed. A branch of "" means
// any. Errors: kind [fault.Invalid] for what git refuses, or if another branch is current; kind [fault.Unavailable] outside of a repository.
func Commit(ctx context.Context, directory string, paths []string, message, branch string) (done Committed, err error) {
	err = inRepository(ctx, directory, func(ctx context.Context, r *git.Repository) (err error) {
		done, err = commitIn(ctx, r, paths, message, branch)
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

// commitRequest asks the model for the message of a commit.
const commitRequest = "Reply with a message for a git commit of these files and nothing else, without quotation marks, Markdown or a trailer: " +
	"a subject of at most 72 characters in the imperative mood that says what changes; if it needs reasons, an empty line and at most five short lines. The files:\n"

// commitQuestion asks the model for the message of a commit of files.
func commitQuestion(files []CommitFile) string {
	question := commitRequest
	for i, f := range files {
		if i == maxNamedFiles {
			question += fmt.Sprintf("and %d more\n", len(files)-i)
			break
		}
		question += fmt.Sprintf("%s %q (+%d -%d)\n", f.Status, f.Path, f.Added, f.Removed)
	}
	return question
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
