package copilot

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/copilot-portal/portal/copilot/plain"
)

// forkSuffix matches the end of the title of a fork.
var forkSuffix = regexp.MustCompile(` \(fork(?: ([0-9]{1,6}))?\)$`)

// forkTitle returns a title for a fork: that of the session, or else its last prompt, with a number that no listed session has.
// It returns "" for a session without both.
func (h *Host) forkTitle(ctx context.Context, from *Session) string {
	info := from.Info()
	base := forkSuffix.ReplaceAllString(cmp.Or(info.Title, info.Prompt), "")
	if base == "" {
		return ""
	}
	base = plain.Cut(base, maxTitle-len(" (fork 999999)"))
	list, _, _ := h.Sessions(ctx, "", 0) // without the store, those in memory
	highest := 0
	for _, i := range list {
		if suffix, ok := strings.CutPrefix(i.Title, base); ok {
			highest = max(highest, forkNumber(suffix))
		}
	}
	if highest == 0 {
		return base + " (fork)"
	}
	return fmt.Sprintf("%s (fork %d)", base, highest+1)
}

// forkNumber returns the number in the suffix of a fork's title; 0 for other texts.
func forkNumber(suffix string) int {
	found := forkSuffix.FindStringSubmatch(suffix)
	if found == nil || found[0] != suffix {
		return 0
	}
	n, err := strconv.Atoi(cmp.Or(found[1], "1"))
	if err != nil {
		return 0
	}
	return n
}
