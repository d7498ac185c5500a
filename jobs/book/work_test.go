package book_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/jobs/book"
)

func TestWorksGetIDsInOrder(t *testing.T) {
	for _, c := range []struct{ name, work, want string }{
		{"a task", ref("a"), "1 a"},
		{"Seq", "{kind: Seq, works: [" + ref("a") + ", " + ref("b") + "]}", "1 Seq(2 a, 3 b)"},
		{"Par", "{kind: Par, works: [" + ref("a") + ", " + ref("b") + "]}", "1 Par(2 a, 3 b)"},
		{
			"Loop: pre, post, body, however it is written",
			"{kind: Loop, body: " + ref("a") + ", postCondition: [true, " + ref("c") + "], preCondition: [true, " + ref("c") + "]}",
			"1 Loop(2 c, 3 c, 4 a)",
		},
		{"Loop without conditions", "{kind: Loop, body: " + ref("a") + "}", "1 Loop(2 a)"},
		{
			"Alt: condition, true, false, however it is written",
			"{kind: Alt, falseWork: " + ref("b") + ", trueWork: " + ref("a") + ", condition: " + ref("c") + "}",
			"1 Alt(2 c, 3 a, 4 b)",
		},
		{"Alt without true", "{kind: Alt, falseWork: " + ref("b") + ", condition: " + ref("c") + "}", "1 Alt(2 c, 3 b)"},
		{
			"a work comes before those in it, and these before its neighbours",
			"{kind: Seq, works: [{kind: Par, works: [" + ref("a") + ", " + ref("b") + "]}, " + ref("d") + "]}",
			"1 Seq(2 Par(3 a, 4 b), 5 d)",
		},
		{
			"Seq in Seq is flattened before ids are given",
			"{kind: Seq, works: [{kind: Seq, works: [{kind: Seq, works: [" + ref("a") + "]}, " + ref("b") + "]}, " + ref("d") + "]}",
			"1 Seq(2 a, 3 b, 4 d)",
		},
		{
			"Par in Par is flattened",
			"{kind: Par, works: [" + ref("a") + ", {kind: Par, works: [" + ref("b") + ", " + ref("d") + "]}]}",
			"1 Par(2 a, 3 b, 4 d)",
		},
		{
			"Seq in Par in Seq is not flattened",
			"{kind: Seq, works: [{kind: Par, works: [{kind: Seq, works: [" + ref("a") + ", " + ref("b") + "]}]}]}",
			"1 Seq(2 Par(3 Seq(4 a, 5 b)))",
		},
		{
			"Seq in the body of a Loop is not flattened",
			"{kind: Seq, works: [{kind: Loop, body: {kind: Seq, works: [" + ref("a") + "]}}]}",
			"1 Seq(2 Loop(3 Seq(4 a)))",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, outline(load(t, withJob(c.work)).Jobs["j"].Work))
		})
	}
}

func TestAllYieldsWorksInIDOrder(t *testing.T) {
	for name, job := range book.BuiltIn().Jobs {
		var id int
		for w := range job.Work.All() {
			id++
			assert.Equal(t, id, w.ID, name)
		}
	}
}

func TestAllStopsEarly(t *testing.T) {
	var read []int
	for w := range load(t, withJob("{kind: Seq, works: [{kind: Par, works: ["+ref("a")+", "+ref("b")+"]}, "+ref("d")+"]}")).Jobs["j"].Work.All() {
		if read = append(read, w.ID); w.Task == "a" {
			break
		}
	}
	assert.Equal(t, []int{1, 2, 3}, read)
}

func TestJobRequiresInputIfATaskDoes(t *testing.T) {
	b := load(t, whole)
	assert.False(t, b.Jobs["one"].RequireUserInput)
	assert.True(t, b.Jobs["two"].RequireUserInput)
}

func TestWorkIsEncodedWithIDs(t *testing.T) {
	for _, c := range []struct{ work, want string }{
		{
			"{kind: Seq, works: [{kind: Ref, taskId: a, modelOverride: {id: x}}]}",
			`{"kind":"Seq","workIdInJob":1,"works":[{"kind":"Ref","workIdInJob":2,"taskId":"a","modelOverride":{"id":"x"}}]}`,
		},
		{
			"{kind: Loop, preCondition: [true, " + ref("c") + "], postCondition: [false, " + ref("c") + "], body: " + ref("a") + "}",
			`{"kind":"Loop","workIdInJob":1,"maxIterations":10,
			  "preCondition":[true,{"kind":"Ref","workIdInJob":2,"taskId":"c"}],
			  "postCondition":[false,{"kind":"Ref","workIdInJob":3,"taskId":"c"}],
			  "body":{"kind":"Ref","workIdInJob":4,"taskId":"a"}}`,
		},
		{
			"{kind: Alt, condition: " + ref("c") + ", trueWork: " + ref("a") + ", falseWork: " + ref("b") + "}",
			`{"kind":"Alt","workIdInJob":1,"condition":{"kind":"Ref","workIdInJob":2,"taskId":"c"},
			  "trueWork":{"kind":"Ref","workIdInJob":3,"taskId":"a"},"falseWork":{"kind":"Ref","workIdInJob":4,"taskId":"b"}}`,
		},
		{
			"{kind: Alt, condition: " + ref("c") + ", trueWork: " + ref("a") + "}",
			`{"kind":"Alt","workIdInJob":1,"condition":{"kind":"Ref","workIdInJob":2,"taskId":"c"},
			  "trueWork":{"kind":"Ref","workIdInJob":3,"taskId":"a"}}`,
		},
	} {
		data, err := json.Marshal(load(t, withJob(c.work)).Jobs["j"].Work)
		require.NoError(t, err)
		assert.JSONEq(t, c.want, string(data))
	}
}
