package report

import (
	"embed"
	"fmt"

	"github.com/copilot-portal/portal/copilot/event"
)

//go:embed schemas/*.json
var schemas embed.FS

// ToolName is the name of the tool by which the model reports, or empty where the text of its answer is the result.
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

// Tool is the tool by which the model reports. There is none for [Free].
func Tool(t Type) (event.Tool, bool) {
	name := ToolName(t)
	if name == "" {
		return event.Tool{}, false
	}
	schema, err := schemas.ReadFile("schemas/" + name + ".json")
	if err != nil {
		return event.Tool{}, false // a test sees that there is one for each
	}
	return event.Tool{Name: name, Description: describe(t), Schema: schema}, true
}

func describe(t Type) string {
	const once = " Call it once, when all of it is ready: the call ends the operation. When the call is refused, put right what the answer says and call again."
	switch t {
	case Clarify:
		return "Reports the questions about the specification, the most important first." + once
	case Analyze:
		return "Reports the analysis of the task breakdown." + once
	case Plan:
		return "Reports the plan for the specification, a whole Markdown document." + once
	case Free:
	}
	return ""
}

// Remind is the prompt for a model that has ended its answer without a report. It is empty for [Free].
func Remind(t Type) string {
	name := ToolName(t)
	if name == "" {
		return ""
	}
	return fmt.Sprintf("The operation has no result yet, because %[1]s was not called. What you have found stands in this conversation: "+
		"call %[1]s with it now, once, and with all of its fields. Do not begin the work anew, and do not put the result into a message.", name)
}
