package copilot

import (
	"context"
	"strings"

	"github.com/copilot-portal/portal/copilot/archive"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/store"
)

// maxFound is the maximum number of results of a search.
const maxFound = 200

// Found is a result of a search.
type Found struct {
	Session   string
	Title     string // of the session
	Directory string // of the session
	N         uint64 // number of the event
	Run       string // to which it belongs, or ""
	Kind      event.TextKind
	Snippet   string   // the text around the matches
	Hits      [][2]int // start and end of each match in the snippet, in bytes
}

// Search finds the prompts, answers and titles that contain all the words, newest first: at most limit, and at most 200, which 0
// means. It finds stored texts only, shortly after they were recorded. Errors: kind [fault.Invalid] without any word, kind
// [fault.Unavailable] without a store or if it cannot be read.
func (h *Host) Search(ctx context.Context, words string, limit int) ([]Found, error) {
	if _, limited := AccessOf(ctx); limited {
		return nil, fault.Errorf(fault.Denied, "a link to one session cannot search")
	}
	if h.options.Store == nil {
		return nil, fault.Errorf(fault.Unavailable, "sessions are not stored, so they cannot be searched")
	}
	if strings.TrimSpace(words) == "" {
		return nil, fault.Errorf(fault.Invalid, "name a word to look for")
	}
	if limit <= 0 || limit > maxFound {
		limit = maxFound
	}
	found, err := h.options.Store.Search(ctx, words, limit)
	if err != nil {
		return nil, fault.Errorf(fault.Unavailable, "the stored sessions could not be searched: %w", err)
	}
	return convert(found, func(f store.Found) Found {
		return Found{
			Session: f.Session, Title: f.Title, Directory: f.Directory,
			N: f.Number, Run: h.runOf(ctx, f), Kind: event.TextKind(f.Kind), Snippet: f.Snippet, Hits: f.Hits,
		}
	}), nil
}

// runOf returns the run of a stored event, or "" if it cannot be read: the result of the search is useful without it.
func (h *Host) runOf(ctx context.Context, f store.Found) string {
	entries, err := archive.Read(ctx, h.options.Store, f.Session, f.Number-1, 1)
	if err != nil || len(entries) == 0 || entries[0].N != f.Number {
		return ""
	}
	return entries[0].Value.Run
}
