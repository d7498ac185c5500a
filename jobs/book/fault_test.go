package book_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/jobs/book"
)

// faults loads a faulty book and returns its faults, one line each, without the file name.
func faults(t *testing.T, name, text string) []string {
	t.Helper()
	b, err := book.Load(name, []byte(text))
	assert.Nil(t, b)
	var found book.Faults
	require.ErrorAs(t, err, &found)
	var lines []string
	for _, f := range found {
		assert.Equal(t, name, f.File)
		lines = append(lines, strings.TrimPrefix(f.Error(), name+":"))
	}
	return lines
}

func TestFaultsHavePathAndLine(t *testing.T) {
	const models = "models: {driving: m}\n"
	const tasks = models + "tasks: {t: {prompt: [x]}}\n"
	task := func(lines string) string { return models + "tasks:\n  t:\n    prompt: [x]\n" + lines }
	for _, c := range []struct{ name, text, want string }{
		// the file
		{"empty", "", ` .: is empty`},
		{"only comments", "# nothing\n", ` .: is empty`},
		{"not YAML", "models: {driving: m}\ntasks:\n\t- x\n", `3: .: is not YAML: found character that cannot start any token`},
		{"two documents", tasks + "---\nx: 1\n", `3: .: has a second document`},
		{"not UTF-8", "models: \xff", ` .: is not UTF-8`},
		{"not a map", "- x\n", `1: .: must be a map, not a list`},
		{"an unknown key", tasks + "task: {}\n", `3: task: is unknown; use models, drivingSessionRetries, promptVariables, tasks, jobs and grid`},
		{"a key twice", tasks + "models: {driving: m}\n", `3: models: is defined twice`},
		{"an unknown tag", models + "tasks: {t: {prompt: [!x y]}}", `2: tasks.t.prompt[0]: has the unknown tag "!x"`},
		{"a merged map", models + "tasks:\n  a: &a {prompt: [x]}\n  b:\n    <<: *a\n    prompt: [y]\n", `5: tasks.b["<<"]: is unknown; use model, prompt, requireUserInput, availability and criteria`},
		{"a key that is not text", models + "tasks:\n  t: {prompt: [x]}\n  [a]: {prompt: [x]}\n", `4: tasks[""]: a key must be plain text; merged maps (<<) are not supported`},

		// models
		{"no models", "tasks: {t: {prompt: [x]}}", `1: models: is missing`},
		{"no driving model", "tasks: {t: {prompt: [x]}}\nmodels: {coding: x}", `2: models.driving: is missing ("" is the portal's default model)`},
		{"a driving model without a value", "models:\n  driving:\ntasks: {t: {prompt: [x]}}", `2: models.driving: must be text, not nothing (put it in quotes)`},
		{"a model that is not text", "models: {driving: m, coding: 4.1}\ntasks: {t: {prompt: [x]}}", `1: models.coding: must be text, not a number (put it in quotes)`},
		{"a category without a name", "models: {driving: m, '': x}\ntasks: {t: {prompt: [x]}}", `1: models[""]: is not a category`},
		{"no retries in the list", tasks + "drivingSessionRetries: []", `3: drivingSessionRetries: must not be empty`},
		{"the first is not the driving model", tasks + "drivingSessionRetries:\n- {modelId: n, retries: 1}", `4: drivingSessionRetries[0].modelId: "n" is not the driving model "m", which must be the first`},
		{"negative retries", tasks + "drivingSessionRetries:\n- {modelId: m, retries: 1}\n- {modelId: n, retries: -1}", `5: drivingSessionRetries[1].retries: must be a whole number from 0, not "-1"`},
		{"too many retries", tasks + "drivingSessionRetries:\n- {modelId: m, retries: 100}\n- {modelId: n, retries: 101}", `5: drivingSessionRetries[1].retries: must be at most 100`},
		{"retries without a model", tasks + "drivingSessionRetries:\n- {retries: 1}", `4: drivingSessionRetries[0].modelId: is missing`},
		{"a model without retries", tasks + "drivingSessionRetries:\n- {modelId: m}", `4: drivingSessionRetries[0].retries: is missing`},
		{"a model of another type", tasks + "drivingSessionRetries:\n- {modelId: [m], retries: 1}", `4: drivingSessionRetries[0].modelId: must be text, not a list`},

		// variables
		{"a variable that is not a list", tasks + "promptVariables:\n  a: x\n", `4: promptVariables.a: must be a list, not text`},
		{"a name with a digit", tasks + "promptVariables:\n  a1: [x]\n", `4: promptVariables.a1: is not the name of a variable: use letters, and a letter after each -`},
		{"a reserved name", tasks + "promptVariables:\n  user-input: [x]\n", `4: promptVariables.user-input: gets its value at run time, not from the book`},
		{"an unknown variable in a variable", tasks + "promptVariables:\n  a:\n  - x\n  - is $b\n", `6: promptVariables.a[1]: "$b" is not a variable`},
		{"a variable of itself", tasks + "promptVariables:\n  a: [$a]\n", `4: promptVariables.a: refers to itself: $a uses $a`},
		{"a cycle reached from another variable", tasks + "promptVariables:\n  z: [$a]\n  a: [$b]\n  b: [x $z, $a]\n  c: []\n", "5: promptVariables.a: refers to itself: $a uses $b uses $a\n4: promptVariables.z: refers to itself: $z uses $a uses $b uses $z"},

		// tasks
		{"no tasks", models, `1: tasks: is missing`},
		{"an empty map of tasks", models + "tasks: {}", `2: tasks: must not be empty`},
		{"a task that is not a map", models + "tasks:\n  t: do it", `3: tasks.t: must be a map, not text`},
		{"a name that cannot be in a URL", models + "tasks:\n  a/b: {prompt: [x]}", `3: tasks["a/b"]: a name has no "/" and no invisible characters`},
		{"no name", models + "tasks:\n  '': {prompt: [x]}", `3: tasks[""]: is not a name`},
		{"a long name", models + "tasks:\n  " + strings.Repeat("x", 101) + ": {prompt: [x]}", `3: tasks.` + strings.Repeat("x", 101) + `: a name must have at most 100 characters`},
		{"no prompt", models + "tasks:\n  t: {requireUserInput: true}", `3: tasks.t.prompt: is missing`},
		{"a prompt without lines", models + "tasks:\n  t: {prompt: []}", `3: tasks.t.prompt: must not be empty`},
		{"a blank prompt", models + "tasks:\n  t: {prompt: ['', ' ']}", `3: tasks.t.prompt: must not be empty`},
		{"a prompt that is not a list", models + "tasks:\n  t: {prompt: x}", `3: tasks.t.prompt: must be a list, not text`},
		{"a line that YAML takes for a map", models + "tasks:\n  t:\n    prompt:\n    - x\n    - Note: y", `6: tasks.t.prompt[1]: must be text, not a map (put it in quotes)`},
		{"a line that YAML takes for a number", models + "tasks:\n  t:\n    prompt:\n    - 5", `5: tasks.t.prompt[0]: must be text, not a number (put it in quotes)`},
		{"an empty line", models + "tasks:\n  t:\n    prompt:\n    - x\n    -", `6: tasks.t.prompt[1]: must be text, not nothing (put it in quotes)`},
		{"an unknown variable in a prompt", models + "tasks:\n  t:\n    prompt:\n    - x\n    - see $HOME", `6: tasks.t.prompt[1]: "$HOME" is not a variable`},
		{"input that is neither true nor false", task("    requireUserInput: maybe"), `5: tasks.t.requireUserInput: must be true or false, not text`},
		{"input with a boolean tag only", task("    requireUserInput: !!bool maybe"), `5: tasks.t.requireUserInput: must be true or false, not "maybe"`},
		{"a model that is only a name", task("    model: coding"), `5: tasks.t.model: must be a map, not text`},
		{"a model without anything", task("    model: {}"), `5: tasks.t.model: must have either a category or an id`},
		{"a model with both", task("    model: {category: driving, id: x}"), `5: tasks.t.model: must have either a category or an id`},
		{"an unknown category", task("    model: {category: coding}"), `5: tasks.t.model.category: "coding" is not a category of models`},
		{"an empty id", task("    model: {id: ''}"), `5: tasks.t.model.id: must not be empty`},
		{"availability without a condition", task("    availability: {}"), `5: tasks.t.availability.condition: is missing`},
		{"an empty condition", task("    availability: {condition: []}"), `5: tasks.t.availability.condition: must not be empty`},
		{"an unknown variable in a condition", task("    availability: {condition: [$x]}"), `5: tasks.t.availability.condition[0]: "$x" is not a variable`},

		// criteria
		{"criteria that check nothing", task("    criteria: {failureAction: {retryTimes: 1}}"), `5: tasks.t.criteria: must have toolExecuted or condition`},
		{"criteria without an action", task("    criteria: {condition: [x]}"), `5: tasks.t.criteria.failureAction: is missing`},
		{"an action without retries", task("    criteria: {condition: [x], failureAction: {}}"), `5: tasks.t.criteria.failureAction.retryTimes: is missing`},
		{"negative retries of a task", task("    criteria: {condition: [x], failureAction: {retryTimes: -1}}"), `5: tasks.t.criteria.failureAction.retryTimes: must be a whole number from 0, not "-1"`},
		{"half a retry", task("    criteria: {condition: [x], failureAction: {retryTimes: 1.5}}"), `5: tasks.t.criteria.failureAction.retryTimes: must be a whole number from 0, not "1.5"`},
		{"a number that is too large", task("    criteria: {condition: [x], failureAction: {retryTimes: 99999999999}}"), `5: tasks.t.criteria.failureAction.retryTimes: must be a whole number from 0, not "99999999999"`},
		{"an empty prompt for retries", task("    criteria: {condition: [x], failureAction: {retryTimes: 1, additionalPrompt: []}}"), `5: tasks.t.criteria.failureAction.additionalPrompt: must not be empty`},
		{"no tool in the list", task("    criteria: {toolExecuted: [], failureAction: {retryTimes: 1}}"), `5: tasks.t.criteria.toolExecuted: must not be empty`},
		{"a tool that is not a job tool", task("    criteria: {toolExecuted: [bash], failureAction: {retryTimes: 1}}"), `5: tasks.t.criteria.toolExecuted[0]: "bash" is not a job tool; use job_prepare_document, job_boolean_true and job_boolean_false`},
		{"a tool twice", task("    criteria: {toolExecuted: [job_boolean_true, job_boolean_true], failureAction: {retryTimes: 1}}"), `5: tasks.t.criteria.toolExecuted[1]: "job_boolean_true" is listed twice`},
		{"the tool that ends a task", task("    criteria: {toolExecuted: [job_prerequisite_failed], failureAction: {retryTimes: 1}}"), `5: tasks.t.criteria.toolExecuted[0]: "job_prerequisite_failed" ends the task as failed, so a task that requires it can never succeed`},
		{"an unknown key of criteria", task("    criteria: {condition: [x], retryTimes: 1, failureAction: {retryTimes: 1}}"), `5: tasks.t.criteria.retryTimes: is unknown; use toolExecuted, condition, runConditionInSameSession and failureAction`},

		// grid
		{"a grid that is not a list", tasks + "grid: {}", `3: grid: must be a list, not a map`},
		{"a row without a keyword", tasks + "grid:\n- {jobs: []}", `4: grid[0].keyword: is missing`},
		{"a row without jobs", tasks + "grid:\n- {keyword: x}", `4: grid[0].jobs: is missing`},
		{"a button for an unknown job", tasks + "grid:\n- {keyword: x, jobs: [null, {name: X, jobName: j}]}", `4: grid[0].jobs[1].jobName: "j" is not a job`},
		{"a button without a name", tasks + "jobs: {j: {work: {kind: Ref, taskId: t}}}\ngrid:\n- {keyword: x, jobs: [{jobName: j}]}", `5: grid[0].jobs[0].name: is missing`},
		{"a button that is only a name", tasks + "grid:\n- {keyword: x, jobs: [j]}", `4: grid[0].jobs[0]: must be a map, not text`},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.ElementsMatch(t, strings.Split(c.want, "\n"), faults(t, "jobs.yaml", c.text))
		})
	}
}

func TestFaultsOfJobsHavePath(t *testing.T) {
	deep := strings.Repeat("{kind: Loop, body: ", 51) + ref("a") + strings.Repeat("}", 51)
	for _, c := range []struct{ name, work, want string }{
		{"not a map", "a", `: must be a map, not text`},
		{"no kind", "{taskId: a}", `.kind: is missing`},
		{"a kind that is not text", "{kind: 1}", `.kind: must be text, not a number (put it in quotes)`},
		{"an unknown kind", "{kind: seq}", `.kind: "seq" is not a kind of work; use Ref, Seq, Par, Loop or Alt`},
		{"a key of another kind", "{kind: Ref, taskId: a, works: []}", `.works: is unknown; use kind, taskId, modelOverride and workIdInJob`},
		{"a wrong id", "{kind: Ref, taskId: a, workIdInJob: 3}", `.workIdInJob: is 3, but the id of this work is 1; it can be omitted`},
		{"no task", "{kind: Ref}", `.taskId: is missing`},
		{"an unknown task", "{kind: Seq, works: [" + ref("a") + ", " + ref("b") + ", " + ref("x") + "]}", `.works[2].taskId: "x" is not a task`},
		{"an unknown category", "{kind: Ref, taskId: a, modelOverride: {category: x}}", `.modelOverride.category: "x" is not a category of models`},
		{"Seq without works", "{kind: Seq}", `.works: is missing`},
		{"an empty Seq", "{kind: Seq, works: []}", `.works: must not be empty`},
		{"an empty Par in a Seq", "{kind: Seq, works: [{kind: Par, works: []}]}", `.works[0].works: must not be empty`},
		{"works that are not a list", "{kind: Par, works: " + ref("a") + "}", `.works: must be a list, not a map`},
		{"Loop without a body", "{kind: Loop, maxIterations: 2}", `.body: is missing`},
		{"no rounds", "{kind: Loop, body: " + ref("a") + ", maxIterations: 0}", `.maxIterations: must be a whole number from 1, not "0"`},
		{"a condition that is only a work", "{kind: Loop, body: " + ref("a") + ", preCondition: " + ref("c") + "}", `.preCondition: must be a list, not a map`},
		{"a condition without true or false", "{kind: Loop, body: " + ref("a") + ", preCondition: [" + ref("c") + "]}", `.preCondition: must be a list of two values: true or false, and a work`},
		{"a condition in the wrong order", "{kind: Loop, body: " + ref("a") + ", postCondition: [" + ref("c") + ", {kind: Seq, works: [" + ref("c") + "]}]}", `.postCondition[0]: must be true or false, not a map`},
		{"a condition that always holds", "{kind: Loop, body: " + ref("a") + ", postCondition: [true, " + ref("b") + "]}", `.postCondition[1]: always holds: no task in it has criteria or availability, or names job_prerequisite_failed`},
		{"Alt without a condition", "{kind: Alt, trueWork: " + ref("a") + "}", `.condition: is missing`},
		{"Alt without a branch", "{kind: Alt, condition: " + ref("c") + "}", `: must have trueWork or falseWork`},
		{"Alt that always takes one branch", "{kind: Alt, condition: {kind: Par, works: [" + ref("a") + ", " + ref("b") + "]}, trueWork: " + ref("a") + "}", `.condition: always holds: no task in it has criteria or availability, or names job_prerequisite_failed`},
		{"an unknown task in a condition", "{kind: Alt, condition: " + ref("x") + ", trueWork: " + ref("a") + "}", `.condition.taskId: "x" is not a task`},
		{"an unknown kind in a condition", "{kind: Alt, condition: {kind: X}, trueWork: " + ref("a") + "}", `.condition.kind: "X" is not a kind of work; use Ref, Seq, Par, Loop or Alt`},
		{"too deep", deep, strings.Repeat(".body", 50) + `: is nested more than 50 deep`},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, []string{"11: jobs.j.work" + c.want}, faults(t, "jobs.yaml", withJob(c.work)))
		})
	}
}

func TestJobEntriesAreChecked(t *testing.T) {
	const begin = "models: {driving: m}\ntasks: {t: {prompt: [x]}}\njobs:\n"
	assert.Equal(t, []string{
		`4: jobs.a.work: is missing`,
		`5: jobs["b c/d"]: a name has no "/" and no invisible characters`,
		`6: jobs.e: must be a map, not text`,
		`7: jobs.f.name: is unknown; use work and requireUserInput`,
	}, faults(t, "jobs.yaml", begin+"  a: {}\n  b c/d: {work: "+ref("t")+"}\n  e: x\n  f: {name: y, work: "+ref("t")+"}\n"))
}

func TestTaskThatNamesFailingToolCanBeCondition(t *testing.T) {
	const begin = "models: {driving: m}\npromptVariables: {stop: [$how], how: [or use job_prerequisite_failed]}\n"
	for _, prompt := range []string{"use job_prerequisite_failed if not", "do it $stop"} {
		load(t, begin+"tasks: {t: {prompt: ["+prompt+"]}}\njobs: {j: {work: {kind: Alt, condition: "+ref("t")+", trueWork: "+ref("t")+"}}}")
	}
}

func TestAllFaultsAreReportedInLineOrder(t *testing.T) {
	_, err := book.Load("jobs.yaml", []byte(`
grid:
  - {keyword: x, jobs: [{name: X, jobName: none}]}
jobs:
  refine:
    work:
      kind: Seq
      works:
        - {kind: Ref, taskId: t}
        - {kind: Ref, taskId: t}
        - {kind: Ref, taskId: x}
tasks:
  t: {prompts: [x]}
models: {}
`))
	require.EqualError(t, err, `jobs.yaml:3: grid[0].jobs[0].jobName: "none" is not a job
jobs.yaml:11: jobs.refine.work.works[2].taskId: "x" is not a task
jobs.yaml:13: tasks.t.prompts: is unknown; use model, prompt, requireUserInput, availability and criteria
jobs.yaml:13: tasks.t.prompt: is missing
jobs.yaml:14: models.driving: is missing ("" is the portal's default model)`)
}

func TestFaultsInJSONHaveLines(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a value of the wrong type", "{\n\"models\": {\"driving\": \"m\"},\n\"tasks\": {\"t\": {\n\"prompt\": [\n5]}}}", `5: tasks.t.prompt[0]: must be text, not a number (put it in quotes)`},
		{"a key twice", "{\"models\": {\"driving\": \"m\"}, \"tasks\": {\"t\": {\"prompt\": [\"x\"],\n\"prompt\": [\"x\"]}}}", `2: tasks.t.prompt: is defined twice`},
		{"not JSON", "{\n\"models\": x", `2: .: is not JSON: invalid character 'x' looking for beginning of value`},
		{"truncated", "{\n\"models\": {\n", `3: .: is not JSON: unexpected end`},
		{"trailing text", "{}\n{}", `2: .: is not JSON: there is text after the end`},
		{"nothing", "", `1: .: is not JSON: unexpected end`},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, []string{c.want}, faults(t, "jobs.json", c.text))
		})
	}
}

func TestExcessiveFilesAreRejected(t *testing.T) {
	const begin = "models: {driving: m}\n"
	laughs := begin + "tasks: {t: {prompt: [x]}}\njobs:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	doubled := begin + "promptVariables:\n  a: [x123456789]\n"
	for i := range 9 {
		laughs += fmt.Sprintf("  a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 10))
	}
	for c := 'a'; c < 'z'; c++ {
		doubled += fmt.Sprintf("  %c: [$%c $%c]\n", c+1, c, c)
	}
	for _, c := range []struct{ name, text, want string }{
		{"too long", strings.Repeat("#", 1<<20+1), ` .: is longer than 1048576 bytes`},
		{"aliases of aliases", laughs, ` .: has too many values, or aliases that expand to too many`},
		{"an alias that contains itself", begin + "tasks: &a {t: *a}", ` .: is nested too deep`},
		{"nested too deep", begin + "tasks: " + strings.Repeat("[", 300) + strings.Repeat("]", 300), ` .: is nested too deep`},
		{"nested beyond what the library reads", strings.Repeat("[", 20_000), `exceeded max depth`},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Contains(t, faults(t, "jobs.yaml", c.text)[0], c.want)
		})
	}
	found := faults(t, "jobs.yaml", doubled+"tasks: {t: {prompt: [$p]}, u: {prompt: [$z]}}")
	assert.Contains(t, found, `20: promptVariables.r: is longer than 1048576 bytes after expanding the variables in it`)
	assert.Contains(t, found, `29: tasks.u.prompt: is longer than 1048576 bytes after expanding its variables`)
	assert.NotContains(t, strings.Join(found, "\n"), "tasks.t")
	assert.Contains(t, faults(t, "jobs.json", strings.Repeat("[", 20_000))[0], "is nested too deep")
}
