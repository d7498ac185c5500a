package demo

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of a script, for the case of typing errors.
const (
	maxTokens   = 1_000_000
	longestWait = time.Hour
)

// A token is a word of a prompt, or an argument without its backticks.
type token struct {
	text   string
	quoted bool
}

// Non-English letters separate words, so that keywords may touch them: 次にrun `ls`.
var tokenStart = regexp.MustCompile("`+|[!-_a-~]+")

// tokenize splits a prompt into words and arguments. As in Markdown, several backticks enclose text with fewer, and
// three or more enclose lines, without the opening line. Two backticks alone are the empty argument.
func tokenize(prompt string) (list []token) {
	for {
		at := tokenStart.FindStringIndex(prompt)
		if at == nil {
			return list
		}
		text, rest := prompt[at[0]:at[1]], prompt[at[1]:]
		if prompt = rest; text[0] != '`' {
			list = append(list, token{text: text})
			continue
		}
		argument, behind, closed := strings.Cut(rest, text)
		if text == "``" && (rest == "" || rest[0] == ' ' || rest[0] == '\n') {
			argument, behind, closed = "", rest, true
		}
		if !closed {
			continue
		}
		if info, lines, ok := strings.Cut(argument, "\n"); ok && len(text) >= 3 && !strings.Contains(strings.TrimSpace(info), " ") {
			argument = lines
		}
		list, prompt = append(list, token{argument, true}), behind
	}
}

// plain returns a word in lower case without surrounding punctuation, or "" for an argument.
func (t token) plain() string {
	if t.quoted {
		return ""
	}
	return strings.ToLower(strings.Trim(t.text, ".,;:!?()[]{}<>\"'*_"))
}

// A reader reads the tokens of a prompt.
type reader struct {
	tokens []token
	dir    string
}

// parse parses the steps of a prompt. Relative file names are relative to dir. A keyword without its arguments is
// prose.
func parse(prompt, dir string) (steps []step) {
	r := &reader{tokenize(prompt), dir}
	simple, tools := keywords(), toolKeywords()
	for len(r.tokens) > 0 {
		word := r.take().plain()
		rest := r.tokens
		var found []step
		if n, err := strconv.Atoi(strings.ReplaceAll(word, ",", "")); err == nil && r.peek(0).plain() == "tokens" {
			found = r.burst(n)
		} else if parse, ok := simple[word]; ok {
			found = parse(r)
		} else if tool, ok := tools[word]; ok {
			found = r.tool(tool)
		}
		if found == nil {
			r.tokens = rest
		}
		steps = append(steps, found...)
	}
	return steps
}

// keywords returns the keywords that do not call a fixed tool.
func keywords() map[string]func(*reader) []step {
	return map[string]func(*reader) []step{
		"think": func(r *reader) []step {
			return []step{reason("Let me think about "+r.topic()+". ", "I am a script, ", "so I only follow the keywords of the prompt, ", "one after another. ")}
		},
		"markdown": func(*reader) []step { return []step{say(sample)} },
		"recall":   func(*reader) []step { return []step{streamed(recall)} },
		"break":    func(*reader) []step { return []step{streamed(breakConnection)} },
		"call":     (*reader).call,
		"plan":     (*reader).plan,
		"say": func(r *reader) []step {
			if text := r.args(1); len(text) == 1 {
				return []step{say(text[0])}
			}
			return nil
		},
		"wait": func(r *reader) []step {
			if d, ok := r.duration(); ok {
				return []step{wait(d)}
			}
			return nil
		},
		"show": func(r *reader) []step {
			if r.take().plain() == "request" {
				return []step{streamed(showRequest)}
			}
			return nil
		},
		"fail": func(r *reader) []step {
			status, err := strconv.Atoi(r.peek(0).plain())
			if err != nil || status < 400 || status > 599 {
				return []step{fail(400)}
			}
			r.take()
			return []step{fail(status)}
		},
	}
}

// A toolKeyword calls the first offered one of its tools, with its arguments as fields.
type toolKeyword struct{ tools, fields []string }

func toolKeywords() map[string]toolKeyword {
	return map[string]toolKeyword{
		"run":   {[]string{"bash", "powershell"}, []string{"command"}},
		"write": {[]string{"create"}, []string{"path", "file_text"}},
		"edit":  {[]string{"edit"}, []string{"path", "old_str", "new_str"}},
		"read":  {[]string{"view"}, []string{"path"}},
		"ask":   {[]string{"ask_user"}, []string{"question"}},
	}
}

// tool reads the arguments of a tool's keyword.
func (r *reader) tool(k toolKeyword) []step {
	const longestCommand = 600 // seconds until the CLI moves a command to the background
	values := r.args(len(k.fields))
	if len(values) < len(k.fields) {
		return nil
	}
	args := map[string]any{}
	for i, field := range k.fields {
		args[field] = values[i]
	}
	switch k.fields[0] {
	case "command":
		args["description"], args["initial_wait"] = "Run "+firstLine(values[0]), longestCommand
	case "path":
		if !filepath.IsAbs(values[0]) {
			args["path"] = filepath.Join(r.dir, values[0])
		}
	case "question":
		rest := r.tokens
		r.skipJoints()
		choices := []string{}
		if r.take().plain() == "choices" {
			choices = r.args(len(r.tokens))
		}
		if len(choices) > 0 {
			args["choices"], rest = choices, r.tokens
		}
		r.tokens = rest
	}
	return []step{call{k.tools, args}}
}

// call reads the name of a tool, and its arguments if any.
func (r *reader) call() []step {
	tool := r.args(1)
	if len(tool) == 0 {
		return nil
	}
	args := map[string]any{}
	if given := r.args(1); len(given) == 1 {
		if err := json.Unmarshal([]byte(given[0]), &args); err != nil || args == nil {
			return nil
		}
	}
	return []step{call{tool, args}}
}

// plan reads to-dos. The steps write them, and then start and finish one after another.
func (r *reader) plan() []step {
	todos := r.args(len(r.tokens))
	if len(todos) == 0 {
		return nil
	}
	steps := []step{sql("Write the plan", insertTodos(todos))}
	for i := range todos {
		steps = append(steps, setTodo("Start a to-do", i, "in_progress"), setTodo("Finish a to-do", i, "done"))
	}
	return steps
}

// burst reads the optional duration after a number of tokens.
func (r *reader) burst(count int) []step {
	r.take()
	rest := r.tokens
	var over time.Duration
	if r.take().plain() == "in" {
		if d, ok := r.duration(); ok {
			over, rest = d, r.tokens
		}
	}
	r.tokens = rest
	return []step{burst(min(count, maxTokens), over)}
}

var durationPattern = regexp.MustCompile(`^(\d+(?:,\d{3})*(?:\.\d+)?) ?(ms|s|sec|seconds?|m|min|minutes?|h|hours?)?(?: |$)`)

// duration reads a time such as "2 s", "250ms", "1,000 s" or "1.5 minutes". The default unit is seconds.
func (r *reader) duration() (time.Duration, bool) {
	m := durationPattern.FindStringSubmatch(r.peek(0).plain() + " " + r.peek(1).plain())
	if m == nil {
		return 0, false
	}
	unit := cmp.Or(m[2], "s")
	if unit != "ms" {
		unit = unit[:1]
	}
	d, err := time.ParseDuration(strings.ReplaceAll(m[1], ",", "") + unit)
	if err != nil {
		return 0, false
	}
	r.tokens = r.tokens[len(strings.Fields(m[0])):]
	return min(d, longestWait), true
}

// topic reads an argument, or the words up to the end of the sentence.
func (r *reader) topic() string {
	if r.peek(0).plain() != "about" {
		return "it"
	}
	r.take()
	if r.peek(0).quoted {
		return r.take().text
	}
	var words []string
	for len(r.tokens) > 0 && !r.peek(0).quoted && !slices.Contains([]string{"and", "then"}, r.peek(0).plain()) {
		word := r.take().text
		words = append(words, word)
		if strings.ContainsAny(word[len(word)-1:], ".,;:!?") {
			break
		}
	}
	return strings.TrimRight(strings.Join(words, " "), ".,;:!?")
}

// peek returns the token n ahead, or an empty one after the prompt.
func (r *reader) peek(n int) token {
	if n < len(r.tokens) {
		return r.tokens[n]
	}
	return token{}
}

func (r *reader) take() token {
	t := r.peek(0)
	r.tokens = r.tokens[min(1, len(r.tokens)):]
	return t
}

// args reads up to limit arguments.
func (r *reader) args(limit int) (args []string) {
	for len(args) < limit {
		rest := r.tokens
		r.skipJoints()
		if !r.peek(0).quoted {
			r.tokens = rest
			break
		}
		args = append(args, r.take().text)
	}
	return args
}

var joint = regexp.MustCompile(`^(and|or|with|to|by|[^a-z0-9]*)$`)

// skipJoints skips punctuation and joining words between arguments.
func (r *reader) skipJoints() {
	for len(r.tokens) > 0 && !r.peek(0).quoted && joint.MatchString(r.peek(0).plain()) {
		r.take()
	}
}
