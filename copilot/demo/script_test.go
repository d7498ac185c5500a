package demo_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/demo"
)

// does plays a script to its end, in virtual time, and returns what it did: its reasoning in parentheses, its texts,
// its calls and how long it took. It omits the final text of a script without a text of its own.
func does(t *testing.T, prompt string) (told []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		messages := []message{user("earlier"), assistant("x"), user(prompt)}
		tools := offers("bash", "create", "edit", "view", "ask_user", "sql", "t")
		for {
			r := ask(t, request(messages...).with("tools", tools))
			if r.reasoning != "" {
				told = append(told, "("+r.reasoning+")")
			}
			if !strings.HasPrefix(r.content, "The script is done.") && r.content != "" {
				told = append(told, r.content)
			}
			if r.call.ID == "" {
				break
			}
			told = append(told, r.call.Function.Name+r.call.Function.Arguments)
			messages = append(messages, called(r.call, "ok")...)
		}
		if took := time.Since(start); took > 0 {
			told = append(told, took.String())
		}
	})
	return told
}

const (
	recalled = "The earlier prompts of this conversation:\n\n1. earlier\n"
	thinking = "I am a script, so I only follow the keywords of the prompt, one after another. )"
)

func thinks(topic string) string { return "(Let me think about " + topic + ". " + thinking }

func TestScript(t *testing.T) {
	for _, tt := range []struct {
		name, prompt string
		want         []string
	}{
		{"steps follow the order of the prompt", "Please think, then say `hi` and recall.", []string{thinks("it"), "hi" + recalled}},
		{"keywords may have any case", "SAY `x`, Recall", []string{"x" + recalled}},
		{"a keyword may be marked up", "**recall**, _think_", []string{thinks("it"), recalled}},
		{"words between backticks are not keywords", "`fail` and `break`, recall", []string{recalled}},
		{"a keyword may touch other letters", "次にrecallする", []string{recalled}},
		{"a keyword is a whole word", "rethinking failed breaks running, /tmp/fail/x break.go, recall", []string{recalled}},

		{"a topic ends with its sentence", "think about the deep sea. Say `x`", []string{thinks("the deep sea"), "x"}},
		{"a topic ends before a joint", "think about rivers then recall", []string{thinks("rivers"), recalled}},
		{"a topic may be quoted", "think about `run and fail`", []string{thinks("run and fail")}},

		{"tokens may have separators", "1,002 tokens", []string{strings.TrimSuffix(counted(1002), " ")}},
		{"tokens may be paced", "stream 3 tokens in 1.5 minutes", []string{"w1 w2 w3", "1m30s"}},
		{"durations may have commas", "2 tokens in 1,000 s", []string{"w1 w2", "16m40s"}},
		{"an invalid duration after tokens is prose", "2 tokens in French", []string{"w1 w2"}},
		{"tokens without a number are prose", "many tokens, recall", []string{recalled}},
		{"a unit may touch its number", "wait 250ms", []string{"(waiting )", "250ms"}},
		{"a wait counts seconds", "wait 2, recall", []string{"(waiting )", recalled, "2s"}},
		{"a wait may end a sentence", "wait 2 hours.", []string{"(waiting )", "1h0m0s"}},
		{"show needs its object", "show me; recall", []string{recalled}},

		{
			"a command is used unchanged", "run `ls  -l | wc`",
			[]string{`bash{"command":"ls  -l | wc","description":"Run ls  -l | wc","initial_wait":600}`},
		},
		{
			"files are relative to the working directory", "write `a.txt` `A`, edit `/b` `x` to `y`, read `c/d`",
			[]string{
				`create{"file_text":"A","path":"/project/a.txt"}`, `edit{"new_str":"y","old_str":"x","path":"/b"}`,
				`view{"path":"/project/c/d"}`,
			},
		},
		{"two backticks alone are the empty argument", "edit `/f` `x` ``", []string{`edit{"new_str":"","old_str":"x","path":"/f"}`}},
		{"more backticks quote fewer", "say ``a `b` c``", []string{"a `b` c"}},
		{"a fence quotes lines", "write `/f` ```go\npackage f\n```\nrecall", []string{`create{"file_text":"package f\n","path":"/f"}`, recalled}},
		{"a fence on one line quotes it", "say ```a b```", []string{"a b"}},

		{"a question stands alone", "ask `Why?`", []string{`ask_user{"question":"Why?"}`}},
		{
			"a question has choices", "ask `Which?` with choices `a`, `b` or `c`. say `x`",
			[]string{`ask_user{"choices":["a","b","c"],"question":"Which?"}`, "x"},
		},
		{"a tool is called with its arguments", "call `t` `{\"a\": [1]}`", []string{`t{"a":[1]}`}},
		{"a tool may be called without arguments", "call `t`, say `x`", []string{`t{}`, "x"}},
		{
			"a plan is written and then worked on", "plan `It's`、`B`",
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

		{"a keyword without its argument is prose", "write `a` and recall", []string{recalled}},
		{"a backtick is missing", "run `ls and recall", []string{recalled}},
		{"arguments are not JSON", "call `t` `{` recall", []string{recalled}},
		{"arguments are not an object", "call `t` `null` recall", []string{recalled}},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, does(t, tt.prompt)) })
	}
}

func counted(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "w%d ", i+1)
	}
	return all.String()
}

var keyword = regexp.MustCompile("(?i)think|markdown|say|tokens|wait|run|write|edit|read|ask|call|plan|recall|show|fail|break|forget|[<`]")

func FuzzScript(f *testing.F) {
	for _, seed := range []string{
		"think about x, run `ls`", "ask `Q` choices `a` `b`", "5,000 tokens in 20 s", "``` \n`` x ``", "plan `a`、`b` fail 429",
		"call `t` `{\"a\":1}` wait 2ms", "write `a` ```go\nx\n```", "`", "次にrun `ls`",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		if !utf8.ValidString(prompt) || strings.ContainsAny(prompt, "`<") {
			return
		}
		assert.Equal(t, prompt, ask(t, request(user("say `"+prompt+"`"))).content)
		if !keyword.MatchString(prompt) {
			w := httptest.NewRecorder()
			demo.NewHandler(key).ServeHTTP(w, request(user(prompt)).http(t.Context(), t))
			assert.Equal(t, http.StatusOK, w.Code)
		}
	})
}
