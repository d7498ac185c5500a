package changes

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/git"
	"github.com/copilot-portal/portal/copilot/plain"
	"github.com/copilot-portal/portal/copilot/secret"
)

// PullRequestProposal proposes a pull request for the current branch.
type PullRequestProposal struct {
	git.PullRequest

	Reason   string // why none can be created; then everything else may be empty
	Commits  int    // that it would contain; 0 if that is unknown
	Commands []string
}

// Limits of pull requests.
const (
	maxPullTitle   = 256    // GitHub's, in characters
	maxPullBody    = 65_536 // GitHub's, in characters
	maxPullCommits = 50     // that the proposed text lists
)

// ProposePullRequest proposes a pull request on GitHub for the current branch of a directory's repository. title is for one of several
// commits; "" means the branch. It reads only local files.
func ProposePullRequest(ctx context.Context, directory, title string) (p PullRequestProposal, err error) {
	if !git.HasGitHubCLI() {
		return PullRequestProposal{Reason: "the GitHub CLI (gh) is not installed"}, nil
	}
	err = inRepository(ctx, directory, func(ctx context.Context, r *git.Repository) (err error) {
		p, err = proposeIn(ctx, r, title)
		return err
	})
	if fault.KindOf(err) == fault.Unavailable {
		return PullRequestProposal{Reason: err.Error()}, nil
	}
	p.Title, p.Body = secret.Mask(p.Title), secret.Mask(p.Body)
	p.Commands = nil
	if p.Reason == "" {
		p.Commands = p.PullRequest.Commands()
	}
	return p, err
}

// proposeIn finds out where the branch goes, and what it contains.
func proposeIn(ctx context.Context, r *git.Repository, title string) (p PullRequestProposal, err error) {
	if p.Branch, err = r.CurrentBranch(); err != nil {
		return p, err
	}
	remotes, err := r.Remotes(ctx, p.Branch)
	switch {
	case err != nil:
		return p, err
	case p.Branch == "":
		p.Reason = "HEAD is detached: switch to a branch first"
		return p, nil
	case len(remotes) == 0:
		p.Reason = "no remote of the repository is on github.com"
		return p, nil
	}
	p.From, p.To = remotes[0], remotes[0]
	if i := slices.IndexFunc(remotes, func(one git.Remote) bool { return one.Name == "upstream" }); i >= 0 {
		p.To = remotes[i] // From is a fork
	}
	p.Base = r.DefaultBranch(ctx, p.To.Name)
	isDefault := p.Branch == p.Base || p.Base == "" && slices.Contains([]string{"main", "master", "trunk", "develop"}, p.Branch)
	if isDefault && p.From.IsSameOwner(p.To) {
		p.Reason = "you are on " + p.Branch + ", the branch that pull requests go to: switch to a branch of its own first"
		return p, nil
	}
	return p, describePull(ctx, r, &p, title)
}

// describePull proposes a title and a body: those of the only commit, or a list of the commits.
func describePull(ctx context.Context, r *git.Repository, p *PullRequestProposal, title string) error {
	commits, err := r.Commits(ctx, "refs/remotes/"+p.To.Name+"/"+p.Base+"..HEAD", maxPullCommits)
	known := p.Base != "" && err == nil
	if known && len(commits) == 0 {
		base, err := r.Commits(ctx, "refs/remotes/"+p.To.Name+"/"+p.Base, 1)
		if known = err == nil && len(base) > 0; known {
			p.Reason = "the branch has no commit that " + p.Base + " does not have"
			return nil
		}
	}
	if p.Commits = len(commits); !known {
		if commits, err = r.Commits(ctx, "HEAD", 1); err != nil {
			return err
		}
	}
	if len(commits) == 1 {
		p.Title, p.Body = commits[0].Subject, commits[0].Body
	} else {
		p.Title = cmp.Or(title, p.Branch)
		for _, c := range slices.Backward(commits) {
			p.Body += "- " + c.Subject + "\n"
		}
	}
	p.Title = plain.Cut(p.Title, maxPullTitle)
	p.Body = plain.Cut(strings.TrimSpace(p.Body), maxPullBody)
	return err
}

// CreatePullRequest pushes the current branch, never by force, and creates the pull request that [ProposePullRequest] proposes, with another
// title and body. commands are those of the proposal that the user saw, or nil. It returns the address. Errors: kind [fault.Invalid] with
// the output of git or gh, or if others would run now, and kind [fault.Unavailable] if none can be created.
func CreatePullRequest(ctx context.Context, directory string, commands []string, title, body string) (address string, err error) {
	p, err := ProposePullRequest(ctx, directory, title)
	switch {
	case err != nil:
		return "", err
	case p.Reason != "":
		return "", fault.Errorf(fault.Unavailable, "no pull request can be created: %s", p.Reason)
	case commands != nil && !slices.Equal(commands, p.Commands):
		return "", fault.Errorf(fault.Invalid, "the branch, its commits or its remotes have changed since: look at the pull request again")
	}
	p.Title, p.Body = title, body
	err = inRepository(ctx, directory, func(ctx context.Context, r *git.Repository) (err error) {
		if err = r.Push(ctx, p.PullRequest); err == nil {
			address, err = r.CreatePullRequest(ctx, p.PullRequest)
		}
		return err
	})
	return address, err
}

// CheckPullRequest checks the texts of a pull request. Errors: kind [fault.Invalid].
func CheckPullRequest(title, body string) error {
	switch {
	case title == "" || strings.ContainsAny(title, "\r\n") || !isText(title) || utf8.RuneCountInString(title) > maxPullTitle:
		return fault.Errorf(fault.Invalid, "the title of a pull request is one line of at most %d characters", maxPullTitle)
	case !isText(body) || utf8.RuneCountInString(body) > maxPullBody:
		return fault.Errorf(fault.Invalid, "the text of a pull request has at most %d characters", maxPullBody)
	}
	return nil
}
