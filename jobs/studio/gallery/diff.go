package gallery

import (
	"context"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/copilot-portal/portal/copilot/fault"
)

// Compare gives the difference of the code of two versions as a unified diff, "" if there is none. Error: kind [fault.NotFound].
func (h *Host) Compare(ctx context.Context, id string, from, to int) (string, error) {
	_, before, err := h.Source(ctx, id, from)
	if err != nil {
		return "", err
	}
	_, after, err := h.Source(ctx, id, to)
	if err != nil {
		return "", err
	}
	return unified(fmt.Sprintf("version %d", from), fmt.Sprintf("version %d", to), before, after)
}

// unified is the difference of two texts in the form of diff -u. A missing line end at the end of a text is no difference.
func unified(nameA, nameB, a, b string) (string, error) {
	a, b = withLineEnd(a), withLineEnd(b)
	diff, err := udiff.ToUnified(nameA, nameB, a, udiff.Lines(a, b), udiff.DefaultContextLines)
	if err != nil {
		return "", fault.Errorf(fault.Internal, "the versions cannot be compared: %w", err)
	}
	return diff, nil
}

func withLineEnd(text string) string {
	if text == "" {
		return ""
	}
	return strings.TrimSuffix(text, "\n") + "\n"
}
