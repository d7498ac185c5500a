package render_test

import (
	"strings"
	"testing"

	"github.com/copilot-portal/portal/handlers/render"
	"github.com/stretchr/testify/assert"
)

func diffOf(lines ...string) string {
	return `<pre class="diff"><code>` + strings.Join(lines, "") + "</code></pre>\n"
}

func line(kind, numbers, text string) string {
	return `<span class="diff-` + kind + `"` + numbers + `>` + text + "\n</span>"
}

func TestDiffLinesHaveKindAndNumber(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in             string
		added, removed int
		want           string
	}{
		"a change": {
			"--- a/x\n+++ b/x\n@@ -3,3 +3,4 @@ f\n a\n-b\n+c\n+d\n e\n", 2, 1,
			diffOf(line("file", "", "--- a/x"), line("file", "", "+++ b/x"), line("hunk", "", "Lines 3–6 · f"), line("same", ` data-old="3" data-new="3"`, " a"),
				line("del", ` data-old="4"`, "-b"), line("add", ` data-new="4"`, "+c"), line("add", ` data-new="5"`, "+d"), line("same", ` data-old="5" data-new="6"`, " e")),
		},
		"lines that look like headers": {
			"@@ -1,2 +1,1 @@\n--- a\n-\n+++ b\n", 1, 2,
			diffOf(line("hunk", "", "Line 1"), line("del", ` data-old="1"`, "--- a"), line("del", ` data-old="2"`, "-"), line("add", ` data-new="1"`, "+++ b")),
		},
		"no newline at the end": {
			"@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+<b>", 1, 1,
			diffOf(line("hunk", "", "Line 1"), line("del", ` data-old="1"`, "-a"), line("note", "", `\ No newline at end of file`), line("add", ` data-new="1"`, "+&lt;b&gt;")),
		},
		"a rename": {
			"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n", 0, 0,
			diffOf(line("file", "", "diff --git a/x b/y"), line("meta", "", "similarity index 100%"), line("meta", "", "rename from x"), line("meta", "", "rename to y")),
		},
		"a binary file":            {"Binary files a/x and b/x differ", 0, 0, diffOf(line("meta", "", "Binary files a/x and b/x differ"))},
		"a hunk that is too short": {"@@ -1,9 +1,9 @@\n+a\ndiff --git a/x b/x\n", 1, 0, diffOf(line("hunk", "", "Lines 1–9"), line("add", ` data-new="1"`, "+a"), line("file", "", "diff --git a/x b/x"))},
		"hidden text":              {"@@ -0,0 +1 @@\n+a\u202e\x1b[31m\x00b\xff\r\n", 1, 0, diffOf(line("hunk", "", "Line 1"), line("add", ` data-new="1"`, "+a‹U+202E›[31mb�"))},
		"not a diff":               {"\x1b[31ma\x1b[0m\n+b\n", 0, 0, `<pre class="terminal"><code><span class="term-fg31">a</span>` + "\n+b</code></pre>\n"},
		"numbers too high":         {"@@ -999999999999 +1 @@\n+a", 0, 0, `<pre class="terminal"><code>@@ -999999999999 +1 @@` + "\n+a</code></pre>\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, added, removed := render.Diff(c.in)
			assert.Equal(t, c.want, out)
			assert.Equal(t, []int{c.added, c.removed}, []int{added, removed})
			checkHTML(t, out)
		})
	}
}

func TestLongDiffsAreCountedCompletely(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"short lines": "+a\n", "empty lines": "+\n", "long lines": "+" + strings.Repeat("<", 10_000) + "\n", "lines of 1 MB": "+" + strings.Repeat("\u202e", 1<<18) + "\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 3 << 20 / len(text)
			out, added, removed := render.Diff("@@ -0,0 +1,9999999 @@\n" + strings.Repeat(text, n))
			checkHTML(t, out)
			assert.Equal(t, []int{n, 0}, []int{added, removed})
			assert.Less(t, len(out), render.MaxHTML+1000)
			assert.Contains(t, out, "omitted")
		})
	}
}

func FuzzDiff(f *testing.F) {
	f.Add("diff --git a/x b/y\n--- a/x\n+++ b/x\n@@ -3,3 +3,4 @@ f\n a\n-b\n+<c>\n\\ No\n")
	f.Add("@@ -1 +1 @@\n\n\n@@@ -1 -1 +1 @@@\n\x1b[31m")
	f.Fuzz(func(t *testing.T, text string) {
		out, added, removed := render.Diff(text)
		checkHTML(t, out)
		if added < 0 || removed < 0 || added+removed > strings.Count(text, "\n")+strings.Count(text, "\r")+1 {
			t.Fatal(added, removed)
		}
	})
}
