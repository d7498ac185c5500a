package event

import (
	"slices"
	"strings"
	"time"
)

// CodeInterrupted is the code of the [ToolError] of a call that was interrupted with its run.
const CodeInterrupted = "interrupted"

// CodeExit is the code of the [ToolError] of a command that ended with an exit code other than 0. The result holds its
// output.
const CodeExit = "exit"

// CodeDenied is the code of the [ToolError] of a call whose permission was denied.
const CodeDenied = "denied"

const interruptedTool = "the call was cut off with its run"

// maxOutput is how much of the end of a running tool's output is kept, in bytes.
const maxOutput = 1 << 20

// Output is the end of the output of a running tool: at most 1 MiB. The zero value is empty. It is not safe for concurrent use.
type Output struct{ text strings.Builder } // up to twice as long

// Add appends text.
func (o *Output) Add(text string) {
	if o.text.Len()+len(text) > 2*maxOutput {
		kept := tail(o.text.String(), maxOutput)
		o.text.Reset()
		o.text.WriteString(kept)
	}
	o.text.WriteString(text)
}

// String returns the end of the output.
func (o *Output) String() string { return tail(o.text.String(), maxOutput) }

// Block is a thought, a message or a tool call that has started and not ended.
type Block struct {
	Run, Agent string
	Start      Body // [ReasoningStarted], [MessageStarted] or [ToolStarted]
	Began      time.Time
	Text       string // all deltas so far, or the end of the output
}

// Blocks follows a record and tracks its open blocks. The zero value is for the beginning of a record or the position
// after the end of a run. It is not safe for concurrent use.
type Blocks struct {
	list []*openBlock // in the order of their starts
}

type openBlock struct {
	Block

	key    string
	text   strings.Builder
	output Output // of a tool
}

// Apply applies the next event of the record.
func (o *Blocks) Apply(e Event) {
	switch b := e.Body.(type) {
	case RunEnded:
		o.list = nil
	case ReasoningStarted, MessageStarted, ToolStarted:
		o.openBlock(startKey(b), e)
	case ReasoningDelta:
		o.appendText("r"+b.ID, e, ReasoningStarted{b.ID}, b.Text)
	case MessageDelta:
		o.appendText("m"+b.ID, e, MessageStarted{b.ID}, b.Text)
	case ToolOutput:
		o.appendText("t"+b.ID, e, ToolStarted{ID: b.ID}, b.Text)
	case ReasoningEnded, MessageEnded, ToolEnded:
		key, _ := Group(e)
		o.list = slices.DeleteFunc(o.list, func(b *openBlock) bool { return b.key == key })
	}
}

// startKey returns the group of the text that a body starts; "" for other bodies.
func startKey(b Body) string {
	switch b := b.(type) {
	case ReasoningStarted:
		return "r" + b.ID
	case MessageStarted:
		return "m" + b.ID
	case ToolStarted:
		return "t" + b.ID
	}
	return ""
}

func (o *Blocks) index(key string) *openBlock {
	for _, b := range o.list {
		if b.key == key {
			return b
		}
	}
	return nil
}

// openBlock opens a block unless it is open.
func (o *Blocks) openBlock(key string, e Event) *openBlock {
	if b := o.index(key); b != nil {
		return b
	}
	b := &openBlock{Block: Block{Run: e.Run, Agent: e.Agent, Start: e.Body, Began: e.Time}, key: key}
	o.list = append(o.list, b)
	return b
}

// appendText appends text to a block, and opens the block if it is not open.
func (o *Blocks) appendText(key string, e Event, start Body, text string) {
	e.Body = start
	b := o.openBlock(key, e)
	if _, isTool := b.Start.(ToolStarted); isTool {
		b.output.Add(text)
	} else {
		b.text.WriteString(text)
	}
}

// tail returns the end of a text: at most most bytes, and only whole characters.
func tail(text string, most int) string {
	from := max(0, len(text)-most)
	for from < len(text) && text[from]&0xC0 == 0x80 {
		from++
	}
	return text[from:]
}

// Open returns the open blocks in the order of their starts.
func (o *Blocks) Open() []Block {
	list := make([]Block, 0, len(o.list))
	for _, b := range o.list {
		b.Text = b.text.String() + b.output.String()
		list = append(list, b.Block)
	}
	return list
}

// Events returns events that replace a block for a viewer who did not see it: its start, and its text so far in one
// piece.
func (b Block) Events() []Event {
	e := Event{Time: b.Began, Run: b.Run, Agent: b.Agent, Body: b.Start}
	events := []Event{e}
	if b.Text == "" {
		return events
	}
	switch start := b.Start.(type) {
	case ReasoningStarted:
		e.Body = ReasoningDelta{start.ID, b.Text}
	case MessageStarted:
		e.Body = MessageDelta{start.ID, b.Text}
	case ToolStarted:
		e.Body = ToolOutput{start.ID, b.Text}
	}
	return append(events, e)
}

// EndEvent returns the end of a block that was interrupted with its run.
func (b Block) EndEvent() Body {
	switch start := b.Start.(type) {
	case ReasoningStarted:
		return ReasoningEnded{ID: start.ID, Text: b.Text, Cut: true}
	case MessageStarted:
		return MessageEnded{ID: start.ID, Text: b.Text, Cut: true}
	case ToolStarted:
		end := ToolEnded{ID: start.ID, Error: &ToolError{Text: interruptedTool, Code: CodeInterrupted}}
		if b.Text != "" {
			end.Result = &ToolResult{Content: b.Text}
		}
		return end
	}
	return nil
}
