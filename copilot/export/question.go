package export

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
)

// asked writes a question or the call of a client tool.
func (d *document) asked(e event.Event, q event.Question) {
	d.questions[q.ID] = about(q)
	if q.Kind == event.AskTool {
		d.block("### Tool of a client %s%s", code(q.Tool), stamp(e.Time))
		d.json(q.Arguments)
		return
	}
	d.block("### Question (%s)%s%s", inline(string(q.Kind)), d.agentNameMarkdown(e.Agent), stamp(e.Time))
	if q.Title != "" {
		d.block("%s", inline(q.Title))
	}
	if q.Detail != "" {
		d.block("%s", fenced("text", q.Detail))
	}
	if q.Text != "" {
		d.block("%s", quoted(q.Text))
	}
	if list := details(q); list != nil {
		d.block("- %s", strings.Join(list, "\n- "))
	}
}

// about describes a question on one line.
func about(q event.Question) string {
	s := []rune(oneLine(cmp.Or(q.Title, q.Tool, q.Text, string(q.Kind))))
	if len(s) > 80 {
		s = append(s[:79], '…')
	}
	return string(s)
}

func details(q event.Question) (list []string) {
	if q.Source != "" {
		list = append(list, "Asked by: "+code(q.Source))
	}
	if len(q.Names) > 0 {
		list = append(list, "Permission: "+inline(strings.Join(q.Names, ", ")))
	}
	if q.URL != "" {
		list = append(list, "Page: "+code(q.URL))
	}
	for _, c := range q.Choices {
		list = append(list, "Choice: "+inline(c))
	}
	if q.Form != nil {
		for _, f := range q.Form.Fields {
			list = append(list, fmt.Sprintf("Field %s (%s): %s", code(f.Name), inline(string(f.Type)), sentence(f.Title, f.Detail)))
		}
	}
	return list
}

func (d *document) answered(e event.Event, b event.QuestionClosed) {
	title := "Answer to “" + inline(cmp.Or(d.questions[b.ID], b.ID)) + "”"
	delete(d.questions, b.ID)
	if b.By != "" {
		title += " by " + inline(b.By)
	}
	d.block("**%s**%s: %s", title, stamp(e.Time), verdict(b))
	if b.Answer.Text != "" {
		d.block("%s", said(b))
	}
	if b.Answer.Fields != nil {
		raw, err := json.Marshal(b.Answer.Fields)
		if err != nil {
			raw = fmt.Append(nil, b.Answer.Fields)
		}
		d.json(raw)
	}
}

// said returns the text of an answer.
func said(b event.QuestionClosed) string {
	if b.Kind == event.AskTool {
		return fenced("text", b.Answer.Text)
	}
	return quoted(b.Answer.Text)
}

// verdict returns how a question ended.
func verdict(b event.QuestionClosed) string {
	switch b.Ending {
	case event.Expired:
		return "nobody answered in time"
	case event.Withdrawn:
		return "withdrawn"
	case event.Answered:
	}
	v := decision(b.Kind, b.Answer)
	if b.Answer.Remember {
		v += ", for the rest of the session"
	}
	if b.Answer.Reason != "" {
		v += " – " + inline(b.Answer.Reason)
	}
	return v
}

// decision returns an answer as one word.
func decision(kind event.QuestionKind, a event.Answer) string {
	switch {
	case a.Failed:
		return "failed"
	case kind == event.AskInput && a.Text == "" && a.Reason != "":
		return "declined"
	case kind == event.AskInput || kind == event.AskTool:
		return "given"
	case a.Approved:
		return "yes"
	}
	return "no"
}
