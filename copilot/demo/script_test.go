package demo_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/demo"
)

func TestScript(t *testing.T) {
	for _, tt := range []struct {
		name, prompt string
		want         []string
	}{
		{
			"steps stand in the order of the prompt",
			"Please think, then say `hi` and recall.",
			[]string{"think{topic:}", "say{text:hi}", "recall{}"},
		},
		{"keywords may have any case", "THINK, Markdown", []string{"think{topic:}", "markdown{}"}},
		{"a keyword is a whole word", "rethinking failed breaks running", []string{"intro{}"}},
		{"a keyword may be marked up", "**recall**, _think_", []string{"recall{}", "think{topic:}"}},
		{"a part of a path is no keyword", "/tmp/fail/x break.go", []string{"intro{}"}},
		{"words between backticks are no keywords", "`fail` and `break`", []string{"intro{}"}},
		{"a keyword may touch text without blanks", "次にrecallする", []string{"recall{}"}},
		{"an empty prompt gets the introduction", "", []string{"intro{}"}},

		{"a topic ends with its sentence", "think about the deep sea. Say `x`", []string{"think{topic:the deep sea}", "say{text:x}"}},
		{"a topic ends with its line", "think about life\nand so on", []string{"think{topic:life}"}},
		{"a topic ends before a keyword", "think about rivers then recall", []string{"think{topic:rivers}", "recall{}"}},
		{"a topic may be quoted", "think about `run and fail`", []string{"think{topic:run and fail}"}},
		{"a topic may be missing", "think about", []string{"think{topic:}"}},

		{"tokens may have separators", "5,000 tokens", []string{"burst{5000 in 0s}"}},
		{"tokens may be paced", "stream 300 tokens in 1.5 minutes", []string{"burst{300 in 1m30s}"}},
		{"what is no time after tokens is prose", "10 tokens in French", []string{"burst{10 in 0s}"}},
		{"tokens without a number are prose", "many tokens, recall", []string{"recall{}"}},
		{"a unit may touch its number", "wait 250ms", []string{"wait{250ms}"}},
		{"a wait counts seconds", "wait 2", []string{"wait{2s}"}},
		{"a wait may end a sentence", "wait 2 s.", []string{"wait{2s}"}},

		{"fail is a bad request", "fail", []string{"fail{status:400}"}},
		{"fail takes a status", "fail 429, break", []string{"fail{status:429}", "breakOff{}"}},
		{"show needs its object", "show me; show request", []string{"showRequest{}"}},

		{
			"a command is taken as it stands",
			"run `ls  -l | wc`",
			[]string{`bash|powershell{"command":"ls  -l | wc","description":"Run ls  -l | wc","initial_wait":600}`},
		},
		{
			"files are put into the working directory",
			"write `a.txt` `A`, edit `/b` `x` to `y`, read `c/d`",
			[]string{
				`create{"file_text":"A","path":"/project/a.txt"}`,
				`edit{"new_str":"y","old_str":"x","path":"/b"}`,
				`view{"path":"/project/c/d"}`,
			},
		},
		{"two backticks alone are the empty argument", "edit `/f` `x` ``", []string{`edit{"new_str":"","old_str":"x","path":"/f"}`}},
		{"more backticks quote fewer", "say ``a `b` c``", []string{"say{text:a `b` c}"}},
		{"a fence quotes lines", "write `/f` ```go\npackage f\n```\nrecall", []string{`create{"file_text":"package f\n","path":"/f"}`, "recall{}"}},
		{"a fence on one line quotes it", "say ```a b```", []string{"say{text:a b}"}},

		{"a question stands alone", "ask `Why?`", []string{`ask_user{"question":"Why?"}`}},
		{
			"a question has choices",
			"ask `Which?` with choices `a`, `b` or `c`. say `x`",
			[]string{`ask_user{"choices":["a","b","c"],"question":"Which?"}`, "say{text:x}"},
		},
		{"a tool is called with its arguments", "call `t` `{\"a\": [1]}`", []string{`t{"a":[1]}`}},
		{"a tool may be called without arguments", "call `t`, say `x`", []string{`t{}`, "say{text:x}"}},
		{
			"a plan is written and then worked on",
			"plan `It's`、`B`",
			[]string{
				`sql{"description":"Write the plan","query":"DELETE FROM todo_deps; DELETE FROM todos; ` +
					`INSERT INTO todos (id, title, description, status) VALUES ` +
					`('step-1', 'It''s', '', 'pending'), ('step-2', 'B', '', 'pending');"}`,
				`sql{"description":"Start a to-do","query":"UPDATE todos SET status = 'in_progress' WHERE id = 'step-1';"}`,
				`sql{"description":"Finish a to-do","query":"UPDATE todos SET status = 'done' WHERE id = 'step-1';"}`,
				`sql{"description":"Start a to-do","query":"UPDATE todos SET status = 'in_progress' WHERE id = 'step-2';"}`,
				`sql{"description":"Finish a to-do","query":"UPDATE todos SET status = 'done' WHERE id = 'step-2';"}`,
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, demo.Steps(tt.prompt, "/project"))
		})
	}
}

func TestUnfinishedScript(t *testing.T) {
	for _, tt := range []struct{ name, prompt, keyword string }{
		{"an argument is missing", "write `a` and recall", "write"},
		{"a backtick is missing", "run `ls and recall", "run"},
		{"choices are missing", "ask `Q` choices, recall", "ask"},
		{"arguments are no JSON", "call `t` `{` recall", "call"},
		{"arguments are no object", "call `t` `null` recall", "call"},
		{"a unit is unknown", "wait 5parsec, recall", "wait"},
		{"a wait is too long", "wait 61 minutes, recall", "wait"},
		{"there are too many tokens", "1,000,001 tokens, recall", "tokens"},
		{"there are no tokens", "0 tokens, recall", "tokens"},
		{"tokens take too long", "5 tokens in 2000000 s, recall", "tokens"},
		{"a status is no failure", "fail 200, recall", "fail"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			steps := demo.Steps(tt.prompt, "/")

			require.GreaterOrEqual(t, len(steps), 2)
			assert.Contains(t, strings.Join(steps, " "), "hint{word:"+tt.keyword)
			assert.Equal(t, "recall{}", steps[len(steps)-1])
		})
	}
}

func TestKeywordsWithoutArgumentsOnlyCountAlone(t *testing.T) {
	assert.Equal(t, []string{"hint{word:read usage:read `FILE`}"}, demo.Steps("please read the news and run", "/"))
	assert.Equal(t, []string{"say{text:x}"}, demo.Steps("please read the news and say `x`", "/"))
}

func FuzzScript(f *testing.F) {
	for _, seed := range []string{
		"think about x, run `ls`", "ask `Q` choices `a` `b`", "5,000 tokens in 20 s", "``` \n`` x ``", "plan `a`、`b` fail 429",
		"call `t` `{\"a\":1}` wait 2ms", "write `a` ```go\nx\n```", "`", "次にrun `ls`",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		steps := demo.Steps(prompt, "/project")
		assert.NotEmpty(t, steps)
		assert.Equal(t, steps, demo.Steps(prompt, "/project"), "the same prompt is the same script")
		if !strings.Contains(prompt, "`") {
			assert.Equal(t, []string{"intro{}"}, demo.Steps("`"+prompt+"`", "/project"), "an argument is no keyword")
			assert.Equal(t, []string{"say{text:" + prompt + "}"}, demo.Steps("say `"+prompt+"`", "/project"))
		}
	})
}
