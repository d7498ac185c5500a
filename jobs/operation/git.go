package operation

import (
	"context"
	"errors"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/git"
)

// commitTime is the time limit of a commit.
const commitTime = time.Minute

// commit commits only the given file, whatever else is staged, and returns the commit. If the file is
// unchanged, it returns the current commit. It runs nothing that the repository defines. The error contains
// git's output.
func commit(ctx context.Context, directory, file, message string) (hash string, err error) {
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	r, err := git.Open(ctx, directory)
	if err == nil {
		hash, err = r.Commit(ctx, file, message)
		err = errors.Join(err, r.Close())
	}
	if ctx.Err() != nil {
		return "", fault.Errorf(fault.Timeout, "git took more than %v", commitTime)
	}
	return hash, err
}
