package render

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// Diff renders a unified diff of git or diff, and counts the added and removed lines. Line
// numbers are attributes, so that they are not copied with the text. Text that is not a
// diff is rendered as terminal output.
func Diff(unified string) (out string, added, removed int) {
	text := clean(unified)
	if !isDiff(text) {
		return Terminal(unified, 0), 0, 0
	}
	var d diff
	for line := range strings.Lines(text) {
		d.read(line)
	}
	out = `<pre class="diff"><code>` + d.out.String() + "</code></pre>\n"
	if len(out) > maxHTML { // many empty lines, each with a number
		out = plain(cut(text, maxText))
	}
	if d.left > 0 {
		out += omission("%d more lines are omitted.", d.left)
	}
	return safe(out), d.added, d.removed
}

// isDiff reports whether a text contains a part of a diff.
func isDiff(text string) bool {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "diff --git ") || strings.HasPrefix(line, "Binary files ") {
			return true
		}
		if _, ok := parseHunk(line); ok {
			return true
		}
	}
	return false
}

// diff renders the lines of a diff.
type diff struct {
	out            strings.Builder
	hunk           hunk // its remaining lines
	size, left     int
	added, removed int
}

// hunk is the position and length of a part of a diff in both files.
type hunk struct{ old, oldLines, new, newLines int }

// title says which lines a hunk with a header has, after the change if there are any, and what git names as their context.
func (h hunk) title(header string) string {
	from, lines := h.new, h.newLines
	if lines == 0 {
		from, lines = h.old, h.oldLines
	}
	title := fmt.Sprintf("Lines %d–%d", from, from+lines-1)
	if lines <= 1 {
		title = fmt.Sprintf("Line %d", from)
	}
	if _, section, ok := strings.Cut(header[len("@@"):], "@@ "); ok && strings.TrimSpace(section) != "" {
		title += " · " + strings.TrimSpace(section)
	}
	return title
}

func (d *diff) read(line string) {
	text := strings.TrimSuffix(line, "\n")
	if next, ok := parseHunk(text); ok {
		d.hunk = next
		d.write("hunk", "", next.title(text))
		return
	}
	if strings.HasPrefix(text, `\`) {
		d.write("note", "", text) // no newline at the end of the file
		return
	}
	if d.hunk.oldLines <= 0 && d.hunk.newLines <= 0 {
		d.write(headerClass(text), "", text)
		return
	}
	d.line(text)
}

// line reads a line of a hunk. An empty line is a trimmed context line.
func (d *diff) line(text string) {
	h := &d.hunk
	switch {
	case strings.HasPrefix(text, "+"):
		d.added++
		d.write("add", attribute("new", h.new), text)
		h.new, h.newLines = h.new+1, h.newLines-1
	case strings.HasPrefix(text, "-"):
		d.removed++
		d.write("del", attribute("old", h.old), text)
		h.old, h.oldLines = h.old+1, h.oldLines-1
	case text == "" || text[0] == ' ' || text[0] == '\t':
		d.write("same", attribute("old", h.old)+attribute("new", h.new), text)
		*h = hunk{h.old + 1, h.oldLines - 1, h.new + 1, h.newLines - 1}
	default:
		*h = hunk{} // the hunk is shorter than announced
		d.write(headerClass(text), "", text)
	}
}

func (d *diff) write(kind, attributes, text string) {
	if d.size += len(text) + 1; d.size > maxText {
		d.left++
		return
	}
	d.out.WriteString(`<span class="diff-` + kind + `"` + attributes + `>` + html.EscapeString(text) + "\n</span>")
}

func attribute(side string, line int) string {
	return ` data-` + side + `="` + strconv.Itoa(line) + `"`
}

// headerClass classifies a line outside of hunks: a file name or other metadata.
func headerClass(text string) string {
	for _, prefix := range []string{"diff --", "--- ", "+++ ", "Index: "} {
		if strings.HasPrefix(text, prefix) {
			return "file"
		}
	}
	return "meta"
}

// parseHunk parses `@@ -1,2 +3,4 @@`. A missing count is 1.
func parseHunk(line string) (h hunk, ok bool) {
	rest, ok := strings.CutPrefix(line, "@@ -")
	if !ok || len(line) > maxLine {
		return h, false
	}
	ranges, _, ok := strings.Cut(rest, " @@")
	before, after, ok2 := strings.Cut(ranges, " +")
	if !ok || !ok2 {
		return h, false
	}
	h.old, h.oldLines, ok = parseRange(before)
	h.new, h.newLines, ok2 = parseRange(after)
	return h, ok && ok2
}

func parseRange(text string) (from, lines int, ok bool) {
	begin, count, found := strings.Cut(text, ",")
	if !found {
		count = "1"
	}
	if len(begin) > 8 || len(count) > 8 {
		return 0, 0, false
	}
	f, err := strconv.ParseUint(begin, 10, 31)
	n, err2 := strconv.ParseUint(count, 10, 31)
	return int(f), int(n), err == nil && err2 == nil
}
