package operation

import (
	"context"
	"errors"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/git"
)

// commitTime is how long a commit may take.
const commitTime = time.Minute

// commit commits a file alone, whatever else is staged, and gives the commit. If
// nothing has changed in it, that is the one that there is. Nothing runs that the
// repository defines. Its error is all that git said.
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
