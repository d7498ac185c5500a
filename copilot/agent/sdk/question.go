package sdk

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	vendor "github.com/github/copilot-sdk/go"
	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// questionEvents translates questions.
func (t *translator) questionEvents(_ string, data vendor.SessionEventData) ([]event.Body, bool) {
	switch d := data.(type) {
	case *rpc.PermissionRequestedData:
		if d.ResolvedByHook != nil && *d.ResolvedByHook {
			return nil, true
		}
		return ask(t.permission(d))
	case *rpc.UserInputRequestedData:
		return ask(userInput(d))
	case *rpc.ElicitationRequestedData:
		return ask(elicitation(d))
	case *rpc.ExternalToolRequestedData:
		return ask(event.Question{
			ID: d.RequestID, Kind: event.AskTool, Call: d.ToolCallID, Tool: t.toolName(d.ToolName), Arguments: raw(d.Arguments),
		})
	case *rpc.ExitPlanModeRequestedData:
		q := planApproval(d)
		return []event.Body{event.PlanChanged{Text: q.Text}, event.QuestionAsked{Question: q}}, true
	}
	return nil, false
}

func ask(q event.Question) ([]event.Body, bool) { return one(event.QuestionAsked{Question: q}) }

// questionEnded translates the ends of questions, including the echoes of our own answers, which the session
// ignores.
func (t *translator) questionEnded(_ string, data vendor.SessionEventData) ([]event.Body, bool) {
	var id string
	switch d := data.(type) {
	case *rpc.PermissionCompletedData:
		id = d.RequestID
	case *rpc.UserInputCompletedData:
		id = d.RequestID
	case *rpc.ElicitationCompletedData:
		id = d.RequestID
	case *rpc.ExternalToolCompletedData:
		id = d.RequestID
	case *rpc.ExitPlanModeCompletedData:
		id = d.RequestID
	default:
		return nil, false
	}
	return one(event.QuestionClosed{ID: id, Ending: event.Withdrawn})
}

// permission converts permission requests; client tools keep their own names.
func (t *translator) permission(d *rpc.PermissionRequestedData) event.Question {
	q := permissionQuestion(d, t.directory)
	r, custom := d.PermissionRequest.(*rpc.PermissionRequestCustomTool)
	if !custom {
		return q
	}
	if name, declared := t.tools[r.ToolName]; declared {
		q.Tool, q.Title = name, "Use "+name
		args, _ := json.Marshal(r.Args) // it was decoded from JSON
		q.SetNeeds(permission.Need{Name: permission.OfTool(name, args)})
	}
	return q
}

func userInput(d *rpc.UserInputRequestedData) event.Question {
	return event.Question{
		ID: d.RequestID, Kind: event.AskInput, Call: text(d.ToolCallID),
		Text: d.Question, Choices: d.Choices,
		Freeform: d.AllowFreeform == nil || *d.AllowFreeform || len(d.Choices) == 0,
	}
}

// planApproval puts the recommended choice first.
func planApproval(d *rpc.ExitPlanModeRequestedData) event.Question {
	q := event.Question{
		ID: d.RequestID, Kind: event.AskPlan, Title: firstLine(d.Summary), Text: cmp.Or(d.PlanContent, d.Summary),
	}
	for _, a := range d.Actions {
		q.Choices = append(q.Choices, string(a))
	}
	if i := slices.Index(q.Choices, string(d.RecommendedAction)); i > 0 {
		q.Choices = slices.Insert(slices.Delete(q.Choices, i, i+1), 0, string(d.RecommendedAction))
	}
	return q
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(strings.TrimLeft(line, "# "))
}

// elicitation converts a form or a page to visit.
func elicitation(d *rpc.ElicitationRequestedData) event.Question {
	q := event.Question{
		ID: d.RequestID, Kind: event.AskForm, Call: text(d.ToolCallID), Text: d.Message, Source: text(d.ElicitationSource),
	}
	if d.URL != nil {
		q.Kind, q.URL = event.AskSignIn, *d.URL
		return q
	}
	q.Form = &event.Form{}
	if d.RequestedSchema == nil {
		return q
	}
	for name, schema := range d.RequestedSchema.Properties {
		q.Form.Fields = append(q.Form.Fields, field(name, schema, slices.Contains(d.RequestedSchema.Required, name)))
	}
	slices.SortFunc(q.Form.Fields, func(a, b event.Field) int { // JSON objects have no order
		switch {
		case a.Required == b.Required:
			return cmp.Compare(a.Name, b.Name)
		case a.Required:
			return -1
		}
		return 1
	})
	return q
}

// fieldSchema is the subset of JSON Schema that MCP allows in forms.
type fieldSchema struct {
	Type, Title, Description, Format string
	Enum, EnumNames                  []string
	OneOf                            []fieldChoice
	Default                          any
	Minimum, Maximum                 *float64
	MinLength, MaxLength             *float64
	MinItems, MaxItems               *float64
	Items                            *struct {
		Enum  []string
		AnyOf []fieldChoice
	}
}

type fieldChoice struct{ Const, Title string }

// field converts a schema; an invalid one becomes a text field.
func field(name string, schema any, required bool) event.Field {
	var s fieldSchema
	b, err := json.Marshal(schema)
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	f := event.Field{Name: name, Title: s.Title, Detail: s.Description, Type: event.FieldText, Required: required, Format: s.Format}
	if err != nil {
		return f
	}
	f.Min, f.Max = cmp.Or(s.Minimum, s.MinLength, s.MinItems), cmp.Or(s.Maximum, s.MaxLength, s.MaxItems)
	f.Choices = choices(s.Enum, s.EnumNames, s.OneOf)
	switch t := event.FieldType(s.Type); t {
	case event.FieldNumber, event.FieldInteger, event.FieldBoolean:
		f.Type, f.Choices = t, nil
	case event.FieldList:
		f.Type = t
		if s.Items != nil {
			f.Choices = choices(s.Items.Enum, nil, s.Items.AnyOf)
		}
	case event.FieldText:
	}
	v := s.Default
	if list, ok := v.([]any); ok {
		v = event.Texts(list)
	}
	if f.Check(v) == nil {
		f.Default = v
	}
	return f
}

func choices(values, names []string, titled []fieldChoice) []event.Choice {
	var list []event.Choice
	for i, v := range values {
		c := event.Choice{Value: v, Title: v}
		if i < len(names) {
			c.Title = names[i]
		}
		list = append(list, c)
	}
	for _, c := range titled {
		list = append(list, event.Choice{Value: c.Const, Title: cmp.Or(c.Title, c.Const)})
	}
	return list
}
