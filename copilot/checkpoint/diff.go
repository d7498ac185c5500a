package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
)

// MaxLines is the maximum number of lines of a [Diff].
const MaxLines = 5000

// Diff is the difference of one file.
type Diff struct {
	Change
	Hunks     []Hunk // none for a binary file, or if only its name or mode has changed
	Truncated bool   // lines are missing at the end
}

// Hunk is a part of a difference. Lines count from 1.
type Hunk struct {
	ID                 string // changes with the content
	OldStart, OldLines int
	NewStart, NewLines int
	Section            string // the line that git names as its context, such as a function, or ""
	Lines              []Line
	State              State // what became of it; that of the file if it has very many hunks. Only [View.Diff] sets it
}

// Line is a line of a hunk.
type Line struct {
	Kind      byte   // ' ', '+' or '-'
	Text      string // without its line feed
	NoNewline bool   // the file ends here without a line feed
}

func (u *use) diff(ctx context.Context, a, b, path string) (Diff, error) {
	change, err := u.find(ctx, a, b, path)
	if err != nil {
		return Diff{}, err
	}
	d := Diff{Change: change}
	if d.Binary || d.From.Object == d.To.Object {
		return d, nil
	}
	out, err := u.run(ctx, "-C", u.place.Top, "diff-tree", "-r", "-p", "-U3", "--no-color", "--no-ext-diff", "--no-textconv", renames, a, b, "--", change.Path, change.old())
	if err != nil {
		return Diff{}, unavailable(err)
	}
	d.Hunks = parseHunks(change.Path, out)
	return d, nil
}

// find returns the change of a file.
func (u *use) find(ctx context.Context, a, b, path string) (Change, error) {
	list, err := u.compare(ctx, a, b, renames)
	for _, c := range list {
		if c.Path == path {
			return c, nil
		}
	}
	if err == nil {
		err = errUnchanged(path)
	}
	return Change{}, err
}

func errUnchanged(path string) error {
	return fault.Errorf(fault.NotFound, "the file %q did not change there", path)
}

// parseHunks parses a patch of one file.
func parseHunks(path, patch string) (hunks []Hunk) {
	before, after := 0, 0 // lines that are missing in the last hunk
	for line := range strings.SplitSeq(strings.TrimSuffix(patch, "\n"), "\n") {
		switch last := len(hunks) - 1; {
		case strings.HasPrefix(line, `\`) && last >= 0:
			hunks[last].Lines[len(hunks[last].Lines)-1].NoNewline = true
		case before <= 0 && after <= 0:
			if h, ok := parseHeader(line); ok { // else a line of the file's header
				hunks, before, after = append(hunks, h), h.OldLines, h.NewLines
			}
		case line != "":
			hunks[last].Lines = append(hunks[last].Lines, Line{Kind: line[0], Text: line[1:]})
			if line[0] != '+' {
				before--
			}
			if line[0] != '-' {
				after--
			}
		}
	}
	for i := range hunks {
		hunks[i].ID = hunks[i].id(path)
	}
	return hunks
}

// id returns a name of the hunk that changes with its content.
func (h Hunk) id(path string) string {
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%s\x00%d,%d\n", path, h.OldStart, h.NewStart)
	for _, l := range h.Lines {
		_, _ = fmt.Fprintf(sum, "%c%s\x00%t\n", l.Kind, l.Text, l.NoNewline)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// truncate cuts the lines beyond a limit.
func (d *Diff) truncate(limit int) {
	for i := range d.Hunks {
		if n := len(d.Hunks[i].Lines); n > limit {
			d.Hunks[i].Lines, d.Hunks, d.Truncated = d.Hunks[i].Lines[:limit], d.Hunks[:i+1], true
			return
		}
		limit -= len(d.Hunks[i].Lines)
	}
}

// parseHeader parses "@@ -a,b +c,d @@ section".
func parseHeader(line string) (h Hunk, ok bool) {
	rest, ok := strings.CutPrefix(line, "@@ -")
	if !ok {
		return Hunk{}, false
	}
	ranges, section, ok := strings.Cut(rest, " @@")
	before, after, both := strings.Cut(ranges, " +")
	h.OldStart, h.OldLines = parseRange(before)
	h.NewStart, h.NewLines = parseRange(after)
	h.Section = strings.TrimPrefix(section, " ")
	return h, ok && both
}

func parseRange(text string) (start, lines int) {
	first, count, ok := strings.Cut(text, ",")
	start, _ = strconv.Atoi(first) // git writes numbers
	if lines = 1; ok {
		lines, _ = strconv.Atoi(count)
	}
	return start, lines
}
