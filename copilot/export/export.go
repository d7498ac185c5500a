// Package export writes a session's record as Markdown for people and as lines of JSON for programs.
package export

import (
	"bufio"
	"encoding/json"
	"io"
	"iter"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/follow"
)

// Entries are the entries of a record, in order, and its gaps. An error is the last element.
type Entries = iter.Seq2[follow.Batch[follow.Entry], error]

// header is the first line of a JSONL export.
type header struct {
	Version   int           `json:"v"`
	Type      string        `json:"type"` // session; no event has this type
	ID        string        `json:"id"`
	Origin    string        `json:"origin,omitzero"`
	Title     string        `json:"title,omitzero"`
	Model     string        `json:"model,omitzero"`
	Directory string        `json:"directory,omitzero"`
	State     copilot.State `json:"state,omitzero"`
	Created   time.Time     `json:"created,omitzero"`
	Usage     usage         `json:"usage,omitzero"`
}

type usage struct {
	Used       int64   `json:"used,omitzero"`
	Limit      int64   `json:"limit,omitzero"`
	Multiplier float64 `json:"multiplier,omitzero"`
	Calls      int64   `json:"calls,omitzero"`
	Input      int64   `json:"input,omitzero"`
	Output     int64   `json:"output,omitzero"`
}

// gap is the line for missing entries: those after one number and before another.
type gap struct {
	Version int    `json:"v"`
	Type    string `json:"type"` // gap; no event has this type
	After   uint64 `json:"after"`
	First   uint64 `json:"first"`
}

// JSONL writes a line of type "session" about the session, and one line per event, encoded by [event.Encode]. It omits
// entries that a later one stands for. A line of type "gap" stands for missing entries. Its errors are those of w, of
// the entries and of the encoding.
func JSONL(w io.Writer, info copilot.Info, entries Entries) error {
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(header{
		1, "session", info.ID, info.Origin, info.Title, info.Model, info.Directory,
		info.State, info.Created.UTC(), usage(info.Usage),
	}); err != nil {
		return err
	}
	for b, err := range entries {
		if err == nil {
			err = writeBatch(out, lines, b)
		}
		if err != nil {
			return err
		}
	}
	return out.Flush()
}

func writeBatch(out *bufio.Writer, lines *json.Encoder, b follow.Batch[follow.Entry]) error {
	if b.Gap != nil {
		return lines.Encode(gap{1, "gap", b.Gap.After, b.Gap.First})
	}
	for _, e := range b.Entries {
		if e.Superseded {
			continue
		}
		line, err := event.Encode(e.Value)
		if err != nil {
			return err
		}
		_, _ = out.Write(line) // the next write returns its error
		if err := out.WriteByte('\n'); err != nil {
			return err
		}
	}
	return nil
}
