package demo

import "strings"

// A keyword is one row of the script language.
type keyword struct {
	word  string
	usage string
	// parse reads what follows the keyword.
	parse func(*reader) ([]step, verdict)
}

// A verdict says what a keyword turned out to be.
type verdict int

const (
	prose      verdict = iota // an ordinary word of the sentence
	unfinished                // meant as a step, but something is missing
	complete
)

// keywords is the table of the language; the package comment explains each.
func keywords() []keyword {
	return []keyword{
		{"think", "think about TOPIC", parseThink},
		{"markdown", "markdown", bare(markdown{})},
		{"say", "say `TEXT`", parseSay},
		{"tokens", "5,000 tokens in 20 s (at most 1,000,000 and an hour)", parseTokens},
		{"wait", "wait 5 s (at most an hour)", parseWait},
		{"run", "run `COMMAND`", parseRun},
		{"write", "write `FILE` `CONTENT`", parseWrite},
		{"edit", "edit `FILE` `OLD` `NEW`", parseEdit},
		{"read", "read `FILE`", parseRead},
		{"ask", "ask `QUESTION` choices `A` `B`", parseAsk},
		{"call", "call `TOOL` `{\"name\": \"value\"}`", parseCall},
		{"plan", "plan `FIRST` `SECOND`", parsePlan},
		{"recall", "recall", bare(recall{})},
		{"show", "show request", parseShow},
		{"fail", "fail 429 (any status from 400 to 599)", parseFail},
		{"break", "break", bare(breakOff{})},
	}
}

// recognize reads the steps of a prompt, with relative file names in dir, and apart from them hints about keywords that look like prose.
func recognize(prompt, dir string) (steps, loose []step) {
	table := make(map[string]keyword)
	for _, k := range keywords() {
		table[k.word] = k
	}
	r := &reader{prompt: prompt, dir: dir, tokens: tokenize(prompt), known: table}
	for r.at < len(r.tokens) {
		k, ok := table[r.take().plain()]
		if !ok {
			continue
		}
		found, v := r.try(k)
		switch v {
		case complete:
			steps = append(steps, found...)
		case unfinished:
			steps = append(steps, hint{k.word, k.usage})
		case prose:
			loose = append(loose, hint{k.word, k.usage})
		}
	}
	return steps, loose
}

// orFriendly answers a prompt in which nothing was recognised. Keywords that look like prose only count then.
func orFriendly(steps, loose []step) []step {
	switch {
	case len(steps) > 0:
		return steps
	case len(loose) > 0:
		return loose[:1]
	default:
		return []step{intro{}}
	}
}

// A reader goes over the tokens of a prompt.
type reader struct {
	prompt string
	dir    string
	tokens []token
	at     int
	known  map[string]keyword
}

// try parses a keyword, and stays behind it when it is no step.
func (r *reader) try(k keyword) ([]step, verdict) {
	at := r.at
	steps, v := k.parse(r)
	if v != complete {
		r.at = at
	}
	return steps, v
}

func (r *reader) take() token {
	t := r.peek(0)
	r.at++
	return t
}

// peek looks n tokens ahead, or behind when n is negative. Outside of the prompt there are empty words.
func (r *reader) peek(n int) token {
	if i := r.at + n; i >= 0 && i < len(r.tokens) {
		return r.tokens[i]
	}
	return token{start: len(r.prompt), end: len(r.prompt)}
}

// args takes up to limit arguments.
func (r *reader) args(limit int) []string {
	var args []string
	for len(args) < limit {
		at := r.at
		r.skipJoints()
		if r.peek(0).kind != quoted {
			r.at = at
			break
		}
		args = append(args, r.take().text)
	}
	return args
}

// exactly takes n arguments. A keyword without any is prose; with too few it is unfinished.
func (r *reader) exactly(n int) ([]string, verdict) {
	args := r.args(n)
	r.skipJoints()
	switch {
	case len(args) == n:
		return args, complete
	case len(args) > 0 || r.peek(0).kind == torn:
		return nil, unfinished
	default:
		return nil, prose
	}
}

// skipJoints passes over what may stand between arguments: punctuation, and words that join them.
func (r *reader) skipJoints() {
	for r.at < len(r.tokens) && r.peek(0).joins() {
		r.at++
	}
}

func (t token) joins() bool {
	if t.kind != word {
		return false
	}
	switch p := t.plain(); p {
	case "and", "or", "with", "to", "by":
		return true
	default:
		return !strings.ContainsFunc(p, func(r rune) bool { return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' })
	}
}
