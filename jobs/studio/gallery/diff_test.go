package gallery_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/testclock"
	"github.com/copilot-portal/portal/jobs/studio/gallery"
)

func TestDifferenceEqualsThatOfDiff(t *testing.T) {
	for name, c := range map[string]struct{ a, b, diff string }{
		"nothing":             {"a\nb\n", "a\nb\n", ""},
		"a line changed":      {"a\nb\nc\n", "a\nx\nc\n", "--- A\n+++ B\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"},
		"a line added":        {"a\n", "a\nb\n", "--- A\n+++ B\n@@ -1 +1,2 @@\n a\n+b\n"},
		"all lines new":       {"", "a\n", "--- A\n+++ B\n@@ -0,0 +1 @@\n+a\n"},
		"all lines removed":   {"a\n", "", "--- A\n+++ B\n@@ -1 +0,0 @@\n-a\n"},
		"two distant changes": {"x\n1\n2\n3\n4\n5\n6\n7\n8\ny\n", "X\n1\n2\n3\n4\n5\n6\n7\n8\nY\n", "--- A\n+++ B\n@@ -1,4 +1,4 @@\n-x\n+X\n 1\n 2\n 3\n@@ -7,4 +7,4 @@\n 6\n 7\n 8\n-y\n+Y\n"},
		"two close changes":   {"x\n1\n2\n3\n4\ny\n", "X\n1\n2\n3\n4\nY\n", "--- A\n+++ B\n@@ -1,6 +1,6 @@\n-x\n+X\n 1\n 2\n 3\n 4\n-y\n+Y\n"},
	} {
		t.Run(name, func(t *testing.T) {
			diff, err := gallery.Unified("A", "B", c.a, c.b)
			require.NoError(t, err)
			assert.Equal(t, c.diff, diff)
		})
	}
}

func TestLargeTextsAreComparedInTime(t *testing.T) {
	var a, b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&a, "const a%d = %d;\n", i, i%7)
		fmt.Fprintf(&b, "const b%d = %d;\n", i, i%5)
	}
	began := testclock.Now()
	diff, err := gallery.Unified("A", "B", a.String(), b.String())
	require.NoError(t, err)
	assert.Contains(t, diff, "+const b19999 = 4;\n")
	assert.Less(t, began.Elapsed(), 20*time.Second)
}
