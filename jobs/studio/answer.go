package studio

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/jobs/studio/code"
)

// answer is a parsed answer of a model.
type answer struct {
	code        string // "" with a question or a refusal
	description string
	assumptions []string
	question    string // must be answered first; "" if none
	options     []string
	refusal     string // why the request is declined; "" if it is not
}

// The parts of an answer, as the prompts define them.
var (
	descriptionLine = regexp.MustCompile(`(?m)^Description:[ \t]*(.+)$`)
	assumptionsHead = regexp.MustCompile(`(?m)^Assumptions:[ \t]*$`)
	askBlock        = regexp.MustCompile("(?s)```question[ \t]*\n(.*?)\n```")
	refuseBlock     = regexp.MustCompile("(?s)```refusal[ \t]*\n(.*?)\n```")
)

// read parses an answer. The error is for the model.
func read(text string) (a answer, err error) {
	if m := askBlock.FindStringSubmatch(text); m != nil {
		var asked struct {
			Question string   `json:"question"`
			Options  []string `json:"options"`
		}
		if err := json.Unmarshal([]byte(m[1]), &asked); err != nil || asked.Question == "" {
			return a, errors.New(`the block "question" is not a JSON object with question and options`)
		}
		return answer{question: asked.Question, options: asked.Options}, nil
	}
	if m := refuseBlock.FindStringSubmatch(text); m != nil {
		return answer{refusal: strings.TrimSpace(m[1])}, nil
	}
	source, ok := code.Find(text)
	if !ok {
		return a, errors.New("the answer has no code block")
	}
	a.code = source
	around := strings.Replace(text, source, "", 1)
	if m := descriptionLine.FindStringSubmatch(around); m != nil {
		a.description = strings.TrimSpace(m[1])
	}
	if at := assumptionsHead.FindStringIndex(around); at != nil {
		a.assumptions = items(around[at[1]:])
	}
	return a, nil
}

// items returns the items of the list at the start of a text.
func items(text string) (list []string) {
	for line := range strings.Lines(strings.TrimLeft(text, "\n")) {
		item, ok := strings.CutPrefix(strings.TrimSpace(line), "- ")
		if !ok {
			break
		}
		list = append(list, item)
	}
	return list
}

// mark opens and closes a code block.
const mark = "```"

// codeExtractor extracts the first block of code of an answer that arrives in pieces, or the text before it. Line ends become \n.
type codeExtractor struct {
	before bool   // extract the text before the block
	word   string // the language of the block; "": any that is code, or none
	held   string // a carriage return that may be half of a line end
	line   string // start of a line that may be a fence
	inLine bool   // within a line that is not a fence
	place  place
	opened string // the marks that opened the block
}

// place is where an extractor is in an answer.
type place int

const (
	beforeBlock place = iota
	insideBlock
	afterBlock // or at a block of another kind: nothing more is extracted
)

// write adds a piece and returns the text that is certain by now.
func (f *codeExtractor) write(piece string) string {
	piece = strings.ReplaceAll(f.held+piece, "\r\n", "\n")
	trimmed := strings.TrimSuffix(piece, "\r")
	piece, f.held = trimmed, piece[len(trimmed):]
	var out strings.Builder
	for line := range strings.Lines(piece) {
		if f.place == afterBlock {
			break
		}
		out.WriteString(f.part(line))
	}
	return out.String()
}

// part adds a piece of one line.
func (f *codeExtractor) part(s string) string {
	isComplete := strings.HasSuffix(s, "\n")
	switch {
	case f.inLine:
		f.inLine = !isComplete
		return f.shown(s)
	case !isComplete && f.undecided(f.line+s):
		f.line += s
		return ""
	}
	line := f.line + s
	f.line = ""
	if f.isFence(line) {
		f.crossFence(line)
		return ""
	}
	f.inLine = !isComplete
	return f.shown(line)
}

// undecided reports whether the start of a line may still become a fence.
func (f *codeExtractor) undecided(line string) bool {
	start := strings.TrimLeft(line, " \t")
	return strings.HasPrefix(start, f.opening()) || strings.HasPrefix(f.opening(), start)
}

// isFence reports whether a line opens the block, or closes it.
func (f *codeExtractor) isFence(line string) bool {
	line = strings.TrimSpace(line)
	if f.place == insideBlock {
		return strings.Trim(line, "`") == "" && len(line) >= len(f.opened)
	}
	marks, rest := cutMarks(line)
	return strings.HasPrefix(line, f.opening()) && len(marks) >= len(mark) && !strings.Contains(rest, "`")
}

// crossFence opens the block, or ends the extraction.
func (f *codeExtractor) crossFence(line string) {
	marks, word := cutMarks(strings.TrimSpace(line))
	if f.place == insideBlock || f.before || slices.Contains([]string{"question", "refusal"}, strings.TrimSpace(word)) {
		f.place = afterBlock
		return
	}
	f.place, f.opened = insideBlock, marks
}

func cutMarks(line string) (marks, rest string) {
	rest = strings.TrimLeft(line, "`")
	return line[:len(line)-len(rest)], rest
}

func (f *codeExtractor) opening() string {
	if f.place == insideBlock {
		return f.opened
	}
	return mark + f.word
}

func (f *codeExtractor) shown(s string) string {
	if (f.place == insideBlock) == f.before {
		return ""
	}
	return s
}
