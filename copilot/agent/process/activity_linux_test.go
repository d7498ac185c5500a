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
	behind := " S 1 2 3 0 -1 4194560 1 1 1 1 92 33 10 5 20 0 26 0 1088446"
	for name, tc := range map[string]struct{ line, want string }{
		"a usual line":              {"25464 (copilot)" + behind + " 7 8 9", "1088446"},
		"a name with anything":      {"25464 (a) R 1 (b)" + behind, "1088446"},
		"a line that is cut off":    {"25464 (copilot) S 1 2 3", ""},
		"a line without a name":     {"nothing", ""},
		"nothing":                   {"", ""},
		"nothing behind the name":   {"25464 (copilot)", ""},
		"one field too few":         {"25464 (copilot)" + strings.TrimSuffix(behind, " 1088446"), ""},
		"many spaces between words": {"25464 (copilot)  " + strings.ReplaceAll(behind, " ", "  "), "1088446"},
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
		deeds process.Deeds
		want  bool
	}{
		"if it computes":                           {process.Deeds{Used: 200 * time.Millisecond}, true},
		"not if it only wakes up now and then":     {process.Deeds{Used: 150 * time.Millisecond}, false},
		"if what it has started computes":          {process.Deeds{Family: 200 * time.Millisecond}, true},
		"even if something else has ended":         {process.Deeds{Used: 200 * time.Millisecond, Family: -time.Minute}, true},
		"if it started something last":             {process.Deeds{Youngest: time.Second}, true},
		"even if its word was noted later":         {process.Deeds{Youngest: -100 * time.Millisecond}, true},
		"not if that runs since long before":       {process.Deeds{Youngest: -time.Minute}, false},
		"not if it is at rest and nothing is left": {process.Deeds{}, false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, tc.deeds.ShowWork()) })
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
