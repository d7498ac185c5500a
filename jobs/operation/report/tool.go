package report

import (
	"embed"
	"fmt"

	"github.com/copilot-portal/portal/copilot/event"
)

//go:embed schemas/*.json
var schemas embed.FS

// ToolName returns the name of the tool with which the model reports, or "" if the text of its answer is the
// result.
func ToolName(t Type) string {
	switch t {
	case Clarify:
		return "report_questions"
	case Analyze:
		return "report_analysis"
	case Plan:
		return "report_plan"
	case Free:
	}
	return ""
}

// Tool returns the tool with which the model reports. [Free] has none.
func Tool(t Type) (event.Tool, bool) {
	name := ToolName(t)
	if name == "" {
		return event.Tool{}, false
	}
	schema, err := schemas.ReadFile("schemas/" + name + ".json")
	if err != nil {
		return event.Tool{}, false // cannot happen: a test checks that all types have a schema
	}
	return event.Tool{Name: name, Description: describe(t), Schema: schema}, true
}

func describe(t Type) string {
	const once = " Call it once, when everything is ready: the call ends the operation. If the call is rejected, correct what the answer says and call it again."
	switch t {
	case Clarify:
		return "Reports the questions about the specification, most important first." + once
	case Analyze:
		return "Reports the analysis of the task breakdown." + once
	case Plan:
		return "Reports the plan for the specification, a complete Markdown document." + once
	case Free:
	}
	return ""
}

// Remind returns the prompt for a model that ended its answer without a report. It is empty for [Free].
func Remind(t Type) string {
	name := ToolName(t)
	if name == "" {
		return ""
	}
	return fmt.Sprintf("The operation has no result yet, because %[1]s was not called. Your findings are in this conversation: "+
		"call %[1]s with it now, once, and with all of its fields. Do not start the work again, and do not put the result into a message.", name)
}
