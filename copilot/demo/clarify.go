package demo

import (
	"fmt"
	"regexp"
	"strings"
)

const (
	mostQuestions = 5  // that the demo asks
	mostTold      = 20 // gaps that it tells
)

// vagueness is a kind of words of which everybody thinks something else.
type vagueness struct {
	words   string // a regular expression
	options []string
	context string
}

// vague lists what to ask about. Words of duty come last, for they stand in sentences that are vague in other ways, too.
func vague() []vagueness {
	return []vagueness{
		{
			`fast|quick|quickly|slow|soon|as soon as possible|responsive|real-time|performant|timely`,
			[]string{"Within 200 ms", "Within 1 s", "Within 5 s", "There is no limit"},
			"This decides on the architecture and on the load tests.",
		},
		{
			`easy|easily|simple|simply|intuitive|user-friendly|convenient|comfortable|clear|clean|nice|modern`,
			[]string{"Somebody new needs no help", "Somebody trained needs at most three steps", "It meets WCAG 2.2, level AA"},
			"This decides on the design of the page and on how it is tested with users.",
		},
		{
			`some|many|several|few|various|multiple|large|big|small|long|short|a lot|lots|most|etc|and so on`,
			[]string{"At most 10", "At most 1,000", "At most 100,000", "There is no limit"},
			"This decides on data structures, storage and paging.",
		},
		{
			`accessible|available|visible|shared`,
			[]string{"What the user owns", "What the user has contributed to", "What the user's organization shares", "All of these"},
			"This decides on the rights, on queries and on filters.",
		},
		{
			`appropriate|appropriately|suitable|relevant|adequate|sufficient|reasonable|reasonably|proper|properly|necessary|` +
				`if possible|as needed|secure|securely|safe|safely|robust|reliable|reliably|scalable|flexible|efficient|efficiently|good|better|usual|usually|normal|normally`,
			[]string{"The specification lists it", "An administrator configures it", "Each user decides"},
			"Without a definition nobody can test it.",
		},
		{
			`should|may|might|could|can`,
			[]string{"It is mandatory", "It is wanted, but may come later", "It is optional"},
			"This decides on what belongs to the first version.",
		},
	}
}

// A gap is a sentence with a vague word.
type gap struct {
	heading, sentence, word string
	of                      vagueness
}

func (g gap) line() string {
	if g.heading == "" {
		return fmt.Sprintf("'%s' is vague", g.word)
	}
	return fmt.Sprintf("%s: '%s' is vague", g.heading, g.word)
}

func (g gap) question() map[string]any {
	const enough = 300
	where := "What"
	if g.heading != "" {
		where = fmt.Sprintf("In '%s', what", g.heading)
	}
	return map[string]any{
		"question": fmt.Sprintf("%s does '%s' mean in: \"%s\"", where, g.word, shorten(g.sentence, enough)),
		"context":  g.of.context, "options": g.of.options, "recommended": g.of.options[0],
	}
}

// clarify asks about sentences with vague words.
func clarify(found []passage) finding {
	gaps, read := gapsIn(found)
	var questions []map[string]any
	for _, g := range gaps[:min(len(gaps), mostQuestions)] {
		questions = append(questions, g.question())
	}
	if len(gaps) == 0 {
		questions = append(questions, acceptance(titleOf(found)))
	}
	return finding{
		thoughts: clarifyThoughts(gaps),
		progress: clarifyProgress(gaps, read, len(questions)),
		args:     map[string]any{"questions": questions},
		told:     fmt.Sprintf("Questions reported: %d.\n", len(questions)),
	}
}

// gapsIn finds the vague sentences, one gap for each, and counts all sentences.
func gapsIn(found []passage) (gaps []gap, read int) {
	kinds, ends := vague(), sentenceEnds()
	var words []*regexp.Regexp
	for _, v := range kinds {
		words = append(words, regexp.MustCompile(`(?i)\b(?:`+v.words+`)\b`))
	}
	for _, p := range found {
		if p.kind == heading {
			continue
		}
		for _, s := range sentences(p.text, ends) {
			read++
			for i, w := range words {
				if word := w.FindString(s); word != "" {
					gaps = append(gaps, gap{p.heading, s, strings.ToLower(word), kinds[i]})
					break
				}
			}
		}
	}
	return gaps, read
}

// acceptance is what can always be asked.
func acceptance(title string) map[string]any {
	return map[string]any{
		"question": fmt.Sprintf("How will anybody see that '%s' is done?", title),
		"context":  "No word of the specification is vague, but without acceptance criteria nobody knows when to stop.",
		"options":  []string{"By automated acceptance tests", "By a demonstration to those who asked for it", "By a review of the code"},
	}
}

func clarifyThoughts(gaps []gap) []string {
	thoughts := []string{"Reading specification document..."}
	if len(gaps) == 0 {
		return append(thoughts, "Identified no vague word.", "What is left to ask is how it will be accepted.")
	}
	thoughts = append(thoughts, fmt.Sprintf("Identified %d areas with potential ambiguity:", len(gaps)))
	for i, g := range gaps[:min(len(gaps), mostTold)] {
		thoughts = append(thoughts, fmt.Sprintf("%d. %s", i+1, g.line()))
	}
	return thoughts
}

func clarifyProgress(gaps []gap, read, questions int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Sentences read: %d\n\n## Gaps\n\n", read)
	for _, g := range gaps[:min(len(gaps), mostTold)] {
		fmt.Fprintf(&b, "- %s\n", g.line())
	}
	for i := range questions {
		fmt.Fprintf(&b, "Generating clarification question %d of %d...\n", i+1, questions)
	}
	return b.String()
}
