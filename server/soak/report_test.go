package soak_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Memory is judged in runs of at least judgedLength: a portal grows in its first minutes.
const (
	judgedLength  = 15 * time.Minute
	memoryPercent = 20 // by how much the last third may exceed the second
)

// judge fails the test for every loss, duplicate and leftover.
func (s *soak) judge() {
	for _, v := range s.verdicts {
		assert.Empty(s, v.faults, "%s lost %d and got %d too often", v.dialect, v.lost, v.duplicated)
		assert.NotZero(s, v.events, v.dialect)
	}
	assert.Empty(s, s.prompts.faults)
	assert.True(s, s.rest.isAtRest(s.fresh), "before the first client: %+v, after the last: %+v", s.fresh, s.rest)
	assert.Empty(s, s.left, "left behind")
	if second, last := s.peaks(); s.length >= judgedLength {
		assert.LessOrEqual(s, last, second*(100+memoryPercent)/100, "MB of memory in the last third, compared with the second")
	}
}

// peaks returns the peak memory of the second and of the last third, in MB.
func (s *soak) peaks() (second, last int) {
	n := len(s.samples)
	for i, one := range s.samples {
		switch {
		case i >= n*2/3:
			last = max(last, one.memory)
		case i >= n/3:
			second = max(second, one.memory)
		}
	}
	return second, last
}

// report returns the report in Markdown.
func (s *soak) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v on %d cores: %d kills of the Copilot CLI; %d restarts of the portal, %d of them with SIGKILL.\n", s.length, runtime.NumCPU(), s.host.killed, s.host.restarts, len(s.host.kills))
	fmt.Fprintf(&b, "%d accepted prompts (%d not stored before a SIGKILL); runs: %s; operations: %s.\n\n", s.prompts.accepted, s.prompts.unsaved, counted(s.prompts.runs), s.work.outcomes())
	b.WriteString("| clients | number | events | reconnects | lost | duplicated | repeated by REST | not stored before a SIGKILL |\n|---|---|---|---|---|---|---|---|\n")
	for _, v := range s.verdicts {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d |\n", v.dialect, v.clients, v.events, v.reconnects, v.lost, v.duplicated, v.repeated, v.unsaved)
	}
	b.WriteString("\n| portal | no client yet | first sample | median | maximum | last sample | no client any more |\n|---|---|---|---|---|---|---|\n")
	for _, row := range []struct {
		name  string
		value func(sample) int
	}{
		{"memory (MB)", func(s sample) int { return s.memory }},
		{"goroutines", func(s sample) int { return s.goroutines }},
		{"descriptors", func(s sample) int { return s.descriptors }},
		{"processes", func(s sample) int { return s.processes }},
		{"files of data", func(s sample) int { return s.data }},
		{"temporary files", func(s sample) int { return s.temporary }},
	} {
		b.WriteString(s.row(row.name, row.value))
	}
	second, last := s.peaks()
	fmt.Fprintf(&b, "\nPeak memory: %d MB in the second third, %d MB in the last. Left after the stop: %s.\n", second, last, orNothing(s.left))
	return b.String()
}

func (s *soak) row(name string, value func(sample) int) string {
	if len(s.samples) == 0 {
		return ""
	}
	var all []int
	for _, one := range s.samples {
		all = append(all, value(one))
	}
	first, last := all[0], all[len(all)-1]
	slices.Sort(all)
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d |\n", name, value(s.fresh), first, all[len(all)/2], all[len(all)-1], last, value(s.rest))
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// The report stands between these lines of its file.
const (
	reportBegins = "<!-- make soak writes from here -->\n"
	reportEnds   = "<!-- to here -->\n"
)

// writeReport logs the report, and puts it into the file that PORTAL_SOAK_REPORT names.
func (s *soak) writeReport() {
	s.Log("\n" + s.report())
	path := os.Getenv("PORTAL_SOAK_REPORT")
	if path == "" {
		return
	}
	text, err := os.ReadFile(path)
	require.NoError(s, err)
	before, rest, begins := strings.Cut(string(text), reportBegins)
	_, after, ends := strings.Cut(rest, reportEnds)
	require.True(s, begins && ends, "%s has no place for the report", path)
	require.NoError(s, os.WriteFile(path, []byte(before+reportBegins+"\n"+s.report()+"\n"+reportEnds+after), 0o600))
}
