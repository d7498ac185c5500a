package sdk_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/sdk"
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
			got, ok := sdk.ParseStat([]byte(tc.line))
			assert.Equal(t, tc.want != "", ok)
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestASilentProcessWorks(t *testing.T) {
	for name, tc := range map[string]struct {
		effort sdk.Effort
		want   bool
	}{
		"if it computes":                           {sdk.Effort{Used: 200 * time.Millisecond}, true},
		"not if it only wakes up now and then":     {sdk.Effort{Used: 150 * time.Millisecond}, false},
		"if what it has started computes":          {sdk.Effort{Family: 200 * time.Millisecond}, true},
		"even if something else has ended":         {sdk.Effort{Used: 200 * time.Millisecond, Family: -time.Minute}, true},
		"if it started something last":             {sdk.Effort{Youngest: time.Second}, true},
		"even if its word was noted later":         {sdk.Effort{Youngest: -100 * time.Millisecond}, true},
		"not if that runs since long before":       {sdk.Effort{Youngest: -time.Minute}, false},
		"not if it is at rest and nothing is left": {sdk.Effort{}, false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, tc.effort.Since()) })
	}
}

func FuzzParseStat(f *testing.F) {
	own, _ := os.ReadFile("/proc/self/stat")
	f.Add(own)
	f.Add([]byte(")"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if start, ok := sdk.ParseStat(line); ok {
			assert.NotEmpty(t, start)
		}
	})
}
