package book_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/jobs/book"
)

// drawn writes a chart with a line for each node: "2 CondNode/4 c → true 3, false ↑1".
func drawn(nodes []book.Node) string {
	var lines []string
	for _, n := range nodes {
		line := fmt.Sprintf("%d %s", n.ID, n.Hint.Kind)
		if n.Hint.Work != 0 {
			line += fmt.Sprintf("/%d %s", n.Hint.Work, n.Label)
		}
		var arrows []string
		for _, a := range n.Arrows {
			up := ""
			if a.LoopBack {
				up = "↑"
			}
			arrows = append(arrows, strings.TrimSpace(fmt.Sprintf("%s %s%d", a.Label, up, a.To)))
		}
		if arrows != nil {
			line += " → " + strings.Join(arrows, ", ")
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestJobsAreDrawn(t *testing.T) {
	seq := func(works ...string) string { return "{kind: Seq, works: [" + strings.Join(works, ", ") + "]}" }
	par := func(works ...string) string { return "{kind: Par, works: [" + strings.Join(works, ", ") + "]}" }
	for _, c := range []struct {
		name, work string
		want       []string
	}{
		{"a task", ref("a"), []string{"1 TaskNode/1 a"}},
		{"Seq", seq(ref("a"), ref("b"), ref("d")), []string{"1 TaskNode/2 a → 2", "2 TaskNode/3 b → 3", "3 TaskNode/4 d"}},
		{"Par", par(ref("a"), seq(ref("b"), ref("d"))), []string{
			"1 ParBegin → 2, 3", "2 TaskNode/2 a → 5", "3 TaskNode/4 b → 4", "4 TaskNode/5 d → 5", "5 ParEnd",
		}},
		{"Alt with both", "{kind: Alt, condition: " + ref("c") + ", trueWork: " + ref("a") + ", falseWork: " + ref("b") + "}", []string{
			"1 CondNode/2 c → true 2, false 3", "2 TaskNode/3 a → 4", "3 TaskNode/4 b → 4", "4 AltEnd",
		}},
		{"Alt with true only", "{kind: Alt, condition: " + ref("c") + ", trueWork: " + ref("a") + "}", []string{
			"1 CondNode/2 c → true 2, false 3", "2 TaskNode/3 a → 3", "3 AltEnd",
		}},
		{"Alt with false only", "{kind: Alt, condition: " + ref("c") + ", falseWork: " + ref("a") + "}", []string{
			"1 CondNode/2 c → true 3, false 2", "2 TaskNode/3 a → 3", "3 AltEnd",
		}},
		{"a condition of several works", "{kind: Alt, condition: " + seq(ref("a"), ref("c")) + ", trueWork: " + ref("b") + "}", []string{
			"1 CondBegin → 2", "2 TaskNode/3 a → 3", "3 TaskNode/4 c → 4", "4 CondEnd → true 5, false 6", "5 TaskNode/5 b → 6", "6 AltEnd",
		}},
		{"Loop without conditions", "{kind: Loop, body: " + ref("a") + "}", []string{"1 TaskNode/2 a → ↑1, 2", "2 LoopEnd"}},
		{"Loop while, checked before", "{kind: Loop, preCondition: [true, " + ref("c") + "], body: " + ref("a") + "}", []string{
			"1 CondNode/2 c → true 2, false 3", "2 TaskNode/3 a → ↑1", "3 LoopEnd",
		}},
		{"Loop until, checked before", "{kind: Loop, preCondition: [false, " + ref("c") + "], body: " + ref("a") + "}", []string{
			"1 CondNode/2 c → false 2, true 3", "2 TaskNode/3 a → ↑1", "3 LoopEnd",
		}},
		{"Loop until, checked after", "{kind: Loop, postCondition: [false, " + ref("c") + "], body: " + ref("a") + "}", []string{
			"1 TaskNode/3 a → 2", "2 CondNode/2 c → false ↑1, true 3", "3 LoopEnd",
		}},
		{"Loop with both", "{kind: Loop, preCondition: [true, " + ref("c") + "], postCondition: [true, " + ref("c") + "], body: " + par(ref("a")) + "}", []string{
			"1 CondNode/2 c → true 2, false 6", "2 ParBegin → 3", "3 TaskNode/5 a → 4", "4 ParEnd → 5", "5 CondNode/3 c → true ↑1, false 6", "6 LoopEnd",
		}},
		{"Loop in Loop in Seq", seq("{kind: Loop, body: {kind: Loop, body: "+ref("a")+"}}", ref("b")), []string{
			"1 TaskNode/4 a → ↑1, 2", "2 LoopEnd → ↑1, 3", "3 LoopEnd → 4", "4 TaskNode/5 b",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, strings.Join(c.want, "\n"), drawn(load(t, withJob(c.work)).Chart("j")))
		})
	}
}

func TestUnknownJobHasNoChart(t *testing.T) {
	assert.Empty(t, book.BuiltIn().Chart("nothing"))
}

func TestChartsOfBuiltInBookMatchGoldenFiles(t *testing.T) {
	b := book.BuiltIn()
	require.Len(t, b.Jobs, 4)
	for name := range b.Jobs {
		want, err := os.ReadFile(filepath.Join("testdata", "charts", name+".json"))
		require.NoError(t, err)
		got, err := json.Marshal(b.Chart(name))
		require.NoError(t, err)
		assert.JSONEq(t, string(want), string(got), name)
	}
}
