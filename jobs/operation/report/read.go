package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/copilot-portal/portal/copilot/fault"
)

// maxFaults is the maximum number of faults reported to the model at once.
const maxFaults = 20

// result is what the model reports with one of the tools, decoded from arguments that fit the tool's schema.
type result interface {
	check(*checker) // trims the texts, and checks what no schema can express
	report() Report
}

// newResult returns an empty result, or nil for a type without a tool.
func newResult(t Type) result {
	switch t {
	case Clarify:
		return &clarification{}
	case Analyze:
		return &analysis{}
	case Plan:
		return &plan{}
	case Free:
	}
	return nil
}

// Read validates the arguments with which the model called the tool of a type. The error tells the model the
// faults and how to correct them.
func Read(t Type, args json.RawMessage) (Report, error) {
	r := newResult(t)
	if r == nil {
		return Report{}, fault.Errorf(fault.Invalid, "operations of this type report nothing")
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return Report{}, refuse(t, []string{"the argument is not a JSON object: " + err.Error()})
	}
	if faults := validate(t, v); len(faults) > 0 {
		return Report{}, refuse(t, faults)
	}
	if err := json.Unmarshal(encode(v), r); err != nil { // not args, whose names may occur twice
		return Report{}, refuse(t, []string{err.Error()})
	}
	var c checker
	if r.check(&c); len(c.faults) > 0 {
		return Report{}, refuse(t, c.faults)
	}
	return r.report(), nil
}

// refuse formats the faults for the model.
func refuse(t Type, faults []string) error {
	more := ""
	if n := len(faults) - maxFaults; n > 0 {
		faults, more = faults[:maxFaults], fmt.Sprintf("\n- and %d more", n)
	}
	text := "- " + strings.Join(faults, "\n- ") + more
	return fault.Errorf(fault.Invalid, "The report was rejected because the call of %[1]s is not valid:\n%[2]s\nCall %[1]s again with all of its fields.", ToolName(t), text)
}

// encode encodes what JSON can always express: a decoded value, or a result of strings and numbers.
func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
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
