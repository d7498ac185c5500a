package studio

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"github.com/copilot-portal/portal/jobs/studio/code"
)

// answer is what a model has answered, taken apart.
type answer struct {
	code        string // "" if it asks back or declines
	description string
	assumptions []string
	question    string // that has to be answered first; "" if none
	options     []string
	refusal     string // why it cannot be done; "" if it can
}

// The words that prompts give to the parts of an answer.
var (
	descriptionLine = regexp.MustCompile(`(?m)^Description:[ \t]*(.+)$`)
	assumptionsHead = regexp.MustCompile(`(?m)^Assumptions:[ \t]*$`)
	askBlock        = regexp.MustCompile("(?s)```question[ \t]*\n(.*?)\n```")
	refuseBlock     = regexp.MustCompile("(?s)```refusal[ \t]*\n(.*?)\n```")
)

// read takes an answer apart. The error is for the model.
func read(text string) (a answer, err error) {
	if m := askBlock.FindStringSubmatch(text); m != nil {
		return readQuestion(m[1])
	}
	if m := refuseBlock.FindStringSubmatch(text); m != nil {
		return answer{refusal: strings.TrimSpace(m[1])}, nil
	}
	source, ok := code.Find(text)
	if !ok {
		return a, errors.New("there is no block of code in the answer")
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

// readQuestion reads what the model wants to know.
func readQuestion(block string) (a answer, err error) {
	var asked struct {
		Question string   `json:"question"`
		Options  []string `json:"options"`
	}
	if err := json.Unmarshal([]byte(block), &asked); err != nil || asked.Question == "" {
		return a, errors.New(`the block "question" is no JSON object with question and options`)
	}
	return answer{question: asked.Question, options: asked.Options}, nil
}

// items are the items of the list that a text begins with.
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
