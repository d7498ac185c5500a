package report

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
)

// The most that a report may have, as in the schemas, so that what is told stays far below the messages of an operation.
const (
	mostQuestions = 10
	mostOptions   = 8
	mostFindings  = 100
	mostOthers    = 50
	mostTitle     = 300
	mostName      = 500
	mostChoice    = 1000
	mostText      = 2000
	mostSummary   = 4000
	mostDocument  = 1_000_000
)

// mostFaults is how many faults a model is told at once.
const mostFaults = 20

// Read checks the arguments with which the model called the tool of a type. The error tells the model everything that is
// wrong and what to do. For [Free], which has no tool, the arguments are {document}.
func Read(t Type, args json.RawMessage) (Report, error) {
	v, err := decode(args)
	if err != nil {
		return Report{}, refuse(t, []string{"the argument is no JSON object: " + err.Error()})
	}
	var c checker
	var r Report
	switch t {
	case Clarify:
		r = c.clarification(v).report()
	case Analyze:
		r = c.analysis(v).report()
	case Plan:
		r = c.plan(v).report()
	case Free:
		r = c.answer(v).report()
	default:
		return Report{}, fault.Errorf(fault.Invalid, "%q is no type of operations", string(t))
	}
	if len(c.faults) > 0 {
		return Report{}, refuse(t, c.faults)
	}
	return r, nil
}

// refuse tells the model what is wrong.
func refuse(t Type, faults []string) error {
	more := ""
	if n := len(faults) - mostFaults; n > 0 {
		faults, more = faults[:mostFaults], fmt.Sprintf("\n- and %d more of the kind", n)
	}
	text := "- " + strings.Join(faults, "\n- ") + more
	name := ToolName(t)
	if name == "" {
		return fault.Errorf(fault.Invalid, "The result cannot be used:\n%s", text)
	}
	return fault.Errorf(fault.Invalid, "Nothing was reported, for the call of %[1]s has mistakes:\n%[2]s\nCall %[1]s again with all of its fields.", name, text)
}

// encode is the result as JSON. It is made of texts and numbers, which always can be.
func encode(result any) json.RawMessage {
	b, err := json.Marshal(result)
	if err != nil {
		panic(err)
	}
	return b
}

// plural is a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
