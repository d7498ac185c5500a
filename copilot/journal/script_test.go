package journal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/journal"
)

// event is the entry type of the tests.
type event struct {
	key  string
	end  bool
	cost int
	id   int
}

func costOf(e event) int             { return e.cost }
func groupOf(e event) (string, bool) { return e.key, e.end }

func newJournal(budget int) *journal.Journal[event] {
	return journal.New(journal.Options[event]{Budget: budget, Cost: costOf, Group: groupOf})
}

// script parses events from words: "." stands alone, "a" belongs to group a, "A" ends it. A number after it is the
// cost; the default is 1. "600*a" is 600 times "a".
func script(t *testing.T, words string) []event {
	t.Helper()
	var events []event
	for _, word := range strings.Fields(words) {
		e := event{cost: 1}
		times := 1
		if number, rest, found := strings.Cut(word, "*"); found {
			word = rest
			var err error
			times, err = strconv.Atoi(number)
			require.NoError(t, err)
		}
		if letter := word[:1]; letter != "." {
			e.key = strings.ToLower(letter)
			e.end = e.key != letter
		}
		if word[1:] != "" {
			cost, err := strconv.Atoi(word[1:])
			require.NoError(t, err)
			e.cost = cost
		}
		for range times {
			e.id = len(events) + 1
			events = append(events, e)
		}
	}
	return events
}

func record(t *testing.T, j *journal.Journal[event], words string) {
	t.Helper()
	for _, e := range script(t, words) {
		_, err := j.Append(e)
		require.NoError(t, err)
	}
}

// ended returns a context with which Next does not wait.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// show reads without waiting and returns the outcome as text: numbers, with a ~ after superseded ones, or what happened
// instead.
func show(j *journal.Journal[event], after uint64, limit int) string {
	return outcome(j.Next(ended(), after, limit))
}

func outcome(entries []journal.Entry[event], err error) string {
	var gap *journal.GapError
	switch {
	case errors.As(err, &gap):
		return fmt.Sprintf("gap after %d until %d", gap.After, gap.First)
	case errors.Is(err, io.EOF):
		return "EOF"
	case errors.Is(err, context.Canceled):
		return "nothing yet"
	case err != nil:
		return err.Error()
	}
	var words []string
	for _, e := range entries {
		word := strconv.FormatUint(e.N, 10)
		if e.Superseded {
			word += "~"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}
