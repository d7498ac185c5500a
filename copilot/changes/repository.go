package changes

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/git"
	"github.com/copilot-portal/portal/copilot/secret"
)

// gitTime limits the use of git.
const gitTime = time.Minute

// inRepository calls do with the repository of a directory, for a limited time. Errors: kind [fault.Unavailable] if
// there is none; what git refuses has the kind [fault.Invalid].
func inRepository(ctx context.Context, directory string, do func(context.Context, *git.Repository) error) error {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	r, err := git.Open(ctx, directory)
	if err == nil {
		err = errors.Join(do(ctx, r), r.Close())
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, git.ErrNoRepository):
		return fault.Errorf(fault.Unavailable, "%s is in no git repository that can be used", directory)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fault.Errorf(fault.Timeout, "git took more than %v", gitTime)
	case fault.KindOf(err) != fault.Internal:
		return err
	}
	return fault.Errorf(fault.Invalid, "%s", secret.Mask(err.Error()))
}

// isText reports whether a text is UTF-8 without control characters except line breaks and tabs.
func isText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f })
}
