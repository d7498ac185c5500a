package gallery_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/jobs/studio/gallery"
)

func TestADifferenceIsShownAsDiffDoes(t *testing.T) {
	for name, c := range map[string]struct{ a, b, diff string }{
		"nothing":          {"a\nb\n", "a\nb\n", ""},
		"a line changed":   {"a\nb\nc\n", "a\nx\nc\n", "--- A\n+++ B\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"},
		"a line added":     {"a\n", "a\nb\n", "--- A\n+++ B\n@@ -1,1 +1,2 @@\n a\n+b\n"},
		"all of it new":    {"", "a\n", "--- A\n+++ B\n@@ -1,0 +1,1 @@\n+a\n"},
		"all of it gone":   {"a\n", "", "--- A\n+++ B\n@@ -1,1 +1,0 @@\n-a\n"},
		"two places apart": {"x\n1\n2\n3\n4\n5\n6\n7\n8\ny\n", "X\n1\n2\n3\n4\n5\n6\n7\n8\nY\n", "--- A\n+++ B\n@@ -1,4 +1,4 @@\n-x\n+X\n 1\n 2\n 3\n@@ -7,4 +7,4 @@\n 6\n 7\n 8\n-y\n+Y\n"},
		"two places near":  {"x\n1\n2\n3\n4\ny\n", "X\n1\n2\n3\n4\nY\n", "--- A\n+++ B\n@@ -1,6 +1,6 @@\n-x\n+X\n 1\n 2\n 3\n 4\n-y\n+Y\n"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.diff, gallery.Unified("A", "B", c.a, c.b)) })
	}
}

// FuzzADifferenceLeadsFromOneToTheOther holds compare against what it is for.
func FuzzADifferenceLeadsFromOneToTheOther(f *testing.F) {
	f.Add("abcabba", "cbabac")
	f.Add("", "x")
	f.Add("kitten", "sitting")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > 300 || len(b) > 300 {
			return
		}
		before, after := gallery.Apply(strings.Split(a, ""), strings.Split(b, ""))
		assert.Equal(t, a, before)
		assert.Equal(t, b, after)
	})
}
