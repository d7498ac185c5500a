package process_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/agent/process"
)

func TestParseStat(t *testing.T) {
	after := " S 1 2 3 0 -1 4194560 1 1 1 1 92 33 10 5 20 0 26 0 1088446"
	for name, tc := range map[string]struct{ line, want string }{
		"a usual line":              {"25464 (copilot)" + after + " 7 8 9", "1088446"},
		"a name with parentheses":   {"25464 (a) R 1 (b)" + after, "1088446"},
		"a truncated line":          {"25464 (copilot) S 1 2 3", ""},
		"a line without a name":     {"nothing", ""},
		"nothing":                   {"", ""},
		"nothing after the name":    {"25464 (copilot)", ""},
		"one field too few":         {"25464 (copilot)" + strings.TrimSuffix(after, " 1088446"), ""},
		"many spaces between words": {"25464 (copilot)  " + strings.ReplaceAll(after, " ", "  "), "1088446"},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := process.ParseStat([]byte(tc.line))
			assert.Equal(t, tc.want != "", ok)
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestSilentProcessWorks(t *testing.T) {
	for name, tc := range map[string]struct {
		usage process.Usage
		want  bool
	}{
		"if it computes":                        {process.Usage{Used: 200 * time.Millisecond}, true},
		"not if it only wakes up occasionally":  {process.Usage{Used: 150 * time.Millisecond}, false},
		"if its children compute":               {process.Usage{Family: 200 * time.Millisecond}, true},
		"even if another child has ended":       {process.Usage{Used: 200 * time.Millisecond, Family: -time.Minute}, true},
		"if it has just started a child":        {process.Usage{Youngest: time.Second}, true},
		"even if its output was recorded later": {process.Usage{Youngest: -100 * time.Millisecond}, true},
		"not if its child is older":             {process.Usage{Youngest: -time.Minute}, false},
		"not if it is idle without children":    {process.Usage{}, false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, tc.usage.ShowsWork()) })
	}
}

func FuzzParseStat(f *testing.F) {
	own, _ := os.ReadFile("/proc/self/stat")
	f.Add(own)
	f.Add([]byte(")"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if start, ok := process.ParseStat(line); ok {
			assert.NotEmpty(t, start)
		}
	})
}
