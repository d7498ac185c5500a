package export

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
)

// document converts a record to Markdown. It keeps only what has started and not ended.
type document struct {
	out       *bufio.Writer
	texts     []*text           // unfinished texts, oldest first
	tools     map[string]string // names of calls, by id
	agents    map[string]string // names of sub-agents, by id
	questions map[string]string // descriptions of open questions, by id
	begun     time.Time         // start of the run
}

// text is a text that arrives in pieces.
type text struct {
	key
	agent string
	at    time.Time
	strings.Builder
}

// key identifies the text of a piece.
type key struct{ kind, id string }

// The kinds of text.
const (
	answer    = "Answer"
	reasoning = "Reasoning"
	output    = "Output"
)

const (
	day   = "2006-01-02 15:04:05 MST"
	clock = "15:04:05"
)

// Markdown writes a session for people: prompts, thoughts, tool calls, questions and answers in order, with times in
// UTC. Text of others cannot affect what follows: it is written as Markdown only if it surely leaves nothing open,
// otherwise as code. A text without an end is written at the end of its run or of the record. Its errors are those of w
// and of the entries.
func Markdown(w io.Writer, info copilot.Info, entries Entries) error {
	d := &document{
		out: bufio.NewWriter(w), tools: map[string]string{}, agents: map[string]string{},
		questions: map[string]string{},
	}
	d.head(info)
	for b, err := range entries {
		switch {
		case err != nil:
			return err
		case b.Gap != nil:
			d.block("*Here the record has a gap: what stood before is gone.*")
		}
		for _, e := range b.Entries {
			if !e.Superseded {
				d.event(e.Value)
			}
		}
		if _, err := d.out.Write(nil); err != nil { // it keeps the first error
			return err
		}
	}
	d.writeUnfinished()
	return d.out.Flush()
}

// block writes a separate paragraph.
func (d *document) block(format string, args ...any) {
	_, _ = fmt.Fprintf(d.out, format+"\n\n", args...) // it keeps its error
}

func (d *document) head(info copilot.Info) {
	d.block("# %s", cmp.Or(inline(info.Title), "Session"))
	items := []string{"Session: " + code(info.ID)}
	if info.Model != "" {
		items = append(items, "Model: "+code(info.Model))
	}
	if info.Directory != "" {
		items = append(items, "Directory: "+code(info.Directory))
	}
	if !info.Created.IsZero() {
		items = append(items, "Started: "+info.Created.UTC().Format(day))
	}
	if u := info.Usage; u.Calls > 0 {
		items = append(items, fmt.Sprintf("Tokens: %d in, %d out", u.Input, u.Output))
	}
	d.block("- %s", strings.Join(items, "\n- "))
}

func (d *document) event(e event.Event) {
	switch b := e.Body.(type) {
	case event.MessageDelta:
		d.add(e, key{answer, b.ID}, b.Text)
	case event.ReasoningDelta:
		d.add(e, key{reasoning, b.ID}, b.Text)
	case event.ToolOutput:
		d.add(e, key{output, b.ID}, b.Text)
	case event.MessageEnded:
		d.end(e, key{answer, b.ID}, b.Text, b.Cut)
	case event.ReasoningEnded:
		d.end(e, key{reasoning, b.ID}, b.Text, b.Cut)
	case event.ToolStarted:
		d.tool(e, b)
	case event.ToolEnded:
		d.toolEnded(e, b)
	case event.QuestionAsked:
		d.asked(e, b.Question)
	case event.QuestionClosed:
		d.answered(e, b)
	default:
		d.writeSessionEvent(e)
	}
}

// add appends a piece to an unfinished text.
func (d *document) add(e event.Event, k key, piece string) {
	i := slices.IndexFunc(d.texts, func(t *text) bool { return t.key == k })
	if i < 0 {
		i = len(d.texts)
		d.texts = append(d.texts, &text{key: k, agent: e.Agent, at: e.Time})
	}
	_, _ = d.texts[i].WriteString(piece) // never fails
}

// end writes a whole text, which replaces its pieces.
func (d *document) end(e event.Event, k key, whole string, isCut bool) {
	d.forget(k)
	remark := ""
	if isCut {
		remark = interruptedText
	}
	d.write(k, e.Agent, e.Time, whole, remark)
}

const interruptedText = ", cut off"

func (d *document) forget(k key) {
	d.texts = slices.DeleteFunc(d.texts, func(t *text) bool { return t.key == k })
}

// writeUnfinished writes the unfinished texts.
func (d *document) writeUnfinished() {
	for _, t := range d.texts {
		d.write(t.key, t.agent, t.at, t.String(), interruptedText)
	}
	d.texts = nil
}

func (d *document) write(k key, agent string, at time.Time, s, remark string) {
	if strings.TrimSpace(s) == "" {
		return
	}
	switch k.kind {
	case reasoning:
		summary := html.EscapeString(k.kind + d.agentName(agent) + remark + stamp(at))
		d.block("<details><summary>%s</summary>\n\n%s\n\n</details>", summary, quoted(s))
	case output:
		d.block("%s of %s%s:\n\n%s", k.kind, code(cmp.Or(d.tools[k.id], k.id)), remark, fenced("text", s))
	default:
		d.block("### %s\n\n%s", k.kind+d.agentNameMarkdown(agent)+remark+stamp(at), markdown(s))
	}
}

// agentNameMarkdown returns the name of a sub-agent as Markdown.
func (d *document) agentNameMarkdown(agent string) string { return escaped(d.agentName(agent)) }

// agentName returns the name of a sub-agent.
func (d *document) agentName(agent string) string {
	if agent == "" {
		return ""
	}
	return " of the sub-agent " + oneLine(cmp.Or(d.agents[agent], agent))
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " · " + t.UTC().Format(clock)
}

func (d *document) tool(e event.Event, b event.ToolStarted) {
	d.tools[b.ID] = b.Name
	d.block("### Tool %s%s%s", code(b.Name), d.agentNameMarkdown(e.Agent), stamp(e.Time))
	d.json(b.Arguments)
}

// json writes JSON indented for people.
func (d *document) json(raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, raw, "", "  ") != nil {
		pretty.Reset()
		pretty.Write(raw)
	}
	d.block("%s", fenced("json", pretty.String()))
}

func (d *document) toolEnded(e event.Event, b event.ToolEnded) {
	d.forget(key{output, b.ID})
	name := code(cmp.Or(d.tools[b.ID], b.ID))
	delete(d.tools, b.ID)
	if r := b.Result; r != nil {
		if s := cmp.Or(r.Detail, r.Content); s != "" {
			d.block("Result of %s%s:\n\n%s", name, stamp(e.Time), fenced("text", s))
		} else {
			d.block("Result of %s%s: nothing.", name, stamp(e.Time))
		}
	}
	if x := b.Error; x != nil {
		reason := ""
		if x.Code != "" {
			reason = " (" + code(x.Code) + ")"
		}
		d.block("**%s failed**%s%s:\n\n%s", name, reason, stamp(e.Time), fenced("text", x.Text))
	}
}
