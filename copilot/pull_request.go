package copilot

import (
	"context"
	"strings"

	"github.com/copilot-portal/portal/copilot/changes"
)

// ProposePullRequest proposes a pull request on GitHub for the current branch of the session's repository, with the title and body
// that `gh pr create --fill` would give it, and the commands that [Session.CreatePullRequest] runs. It reads only local files.
func (s *Session) ProposePullRequest(ctx context.Context) (changes.PullRequestProposal, error) {
	return changes.ProposePullRequest(ctx, s.directory, s.Info().Title)
}

// CreatePullRequest pushes the current branch to its repository on GitHub, never by force, and creates a pull request with the
// GitHub CLI. commands are those of the proposal that the user saw, or nil. It returns the address. Errors: kind [fault.Invalid] with the output of
// git or gh, or if others would run now; those of [Session.ProposePullRequest] with the kind [fault.Unavailable]. If only gh fails,
// the branch stays pushed.
func (s *Session) CreatePullRequest(ctx context.Context, commands []string, title, body string) (address string, err error) {
	return s.host.commands.createPullRequest.run(ctx, s, sentPullRequest{commands, title, body})
}

func (s *Session) createPullRequestHere(ctx context.Context, p sentPullRequest) (address string, err error) {
	title, body := strings.TrimSpace(p.Title), strings.TrimSpace(p.Body)
	if err := changes.CheckPullRequest(title, body); err != nil {
		return "", err
	}
	if err := s.checkNotWorking(ctx, "you create a pull request"); err != nil {
		return "", err
	}
	return changes.CreatePullRequest(ctx, s.directory, p.Commands, title, body)
}
