package report

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
)

// The maximum sizes of a report, as in the schemas. They keep it far below the message limit of an operation.
const (
	maxQuestions = 10
	maxOptions   = 8
	maxFindings  = 100
	maxOthers    = 50
	maxTitle     = 300
	maxName      = 500
	maxChoice    = 1000
	maxText      = 2000
	maxSummary   = 4000
	maxDocument  = 1_000_000
)

// maxFaults is the maximum number of faults reported to the model at once.
const maxFaults = 20

// Read validates the arguments with which the model called the tool of a type. The error tells the model all
// faults and how to correct them. For [Free], which has no tool, the arguments are {document}.
func Read(t Type, args json.RawMessage) (Report, error) {
	v, err := decode(args)
	if err != nil {
		return Report{}, refuse(t, []string{"the argument is not a JSON object: " + err.Error()})
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
		return Report{}, fault.Errorf(fault.Invalid, "unknown type of operation %q", string(t))
	}
	if len(c.faults) > 0 {
		return Report{}, refuse(t, c.faults)
	}
	return r, nil
}

// refuse formats the faults for the model.
func refuse(t Type, faults []string) error {
	more := ""
	if n := len(faults) - maxFaults; n > 0 {
		faults, more = faults[:maxFaults], fmt.Sprintf("\n- and %d more", n)
	}
	text := "- " + strings.Join(faults, "\n- ") + more
	name := ToolName(t)
	if name == "" {
		return fault.Errorf(fault.Invalid, "The result is not valid:\n%s", text)
	}
	return fault.Errorf(fault.Invalid, "The report was rejected because the call of %[1]s is not valid:\n%[2]s\nCall %[1]s again with all of its fields.", name, text)
}

// encode encodes a result, which consists of strings and numbers and thus cannot fail.
func encode(result any) json.RawMessage {
	b, err := json.Marshal(result)
	if err != nil {
		panic(err)
	}
	return b
}

// plural formats a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
