package event

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/copilot-portal/portal/copilot/fault"
)

// Prompt is what a user asks for.
type Prompt struct {
	Text        string       `json:"text,omitzero"`
	Mode        Mode         `json:"mode,omitzero"`
	Attachments []Attachment `json:"attachments,omitzero"`
	// Steer adds the prompt to the current run instead of queueing it: the agent reads it before its next step. A
	// command that the agent waits for continues in the background. Without a run, the prompt is like any other.
	Steer bool `json:"steer,omitzero"`
	// RefuseIfBusy rejects the prompt ([fault.ErrBusy]) if it would have to wait for another run. It is not recorded.
	RefuseIfBusy bool `json:"-"`
	// Tools, if not nil, replaces the session's client tools from this prompt on. A change reopens the conversation,
	// which ends commands in the background. A steering prompt cannot have tools. They are not recorded.
	Tools *[]Tool `json:"-"`
	// Compact compacts the conversation first, in the same run, if there is anything to compact. The text may then be
	// empty, without attachments: the run has no prompt, as with [copilot.Session.Compact]. A steering prompt cannot
	// have it.
	Compact bool `json:"compact,omitzero"`
	// By names the dialect that it came through, or "" if unknown.
	By string `json:"by,omitzero"`
	// Meta is additional data of the client, a JSON object, or nil. It is recorded and not sent to the agent.
	Meta json.RawMessage `json:"meta,omitempty"`
}

func (p *Prompt) visit(v visitor) {
	v.text(&p.Text, masked|counted)
	v.json(&p.Meta, masked|counted)
	each(v, &p.Attachments, (*Attachment).visit)
}

// maxMeta is the maximum size of [Prompt.Meta], in bytes.
const maxMeta = 64 << 10

// Mode is how the agent works on a prompt.
type Mode string

// The modes of a prompt. The default is [ModeInteractive].
const (
	ModeInteractive Mode = "interactive" // step by step with the user
	ModePlan        Mode = "plan"        // makes a plan and asks for approval ([AskPlan])
	ModeAutopilot   Mode = "autopilot"   // continues until the task is done
)

// ParseMode parses a mode as written by users.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(strings.ToLower(strings.TrimSpace(s))); m {
	case "":
		return ModeInteractive, nil
	case ModeInteractive, ModePlan, ModeAutopilot:
		return m, nil
	}
	return "", fault.Errorf(fault.Invalid, "%q is not a prompt mode: use interactive, plan or autopilot", s)
}

// Attachment is shown to the model with a prompt: a file or directory (Path alone), lines of a file (Path and First,
// perhaps Text from the editor), a text (Text and Name) or an image (Data and Type).
type Attachment struct {
	Path   string `json:"path,omitzero"`   // absolute, or relative to the session's directory
	First  int    `json:"first,omitzero"`  // first line, from 1; 0: all
	Last   int    `json:"last,omitzero"`   // last line; 0: all
	Symbol string `json:"symbol,omitzero"` // name of what the lines define, such as a function
	Name   string `json:"name,omitzero"`   // for people; derived from the other fields if ""
	Text   string `json:"text,omitzero"`
	Data   []byte `json:"data,omitzero"`
	Type   string `json:"type,omitzero"` // the media type of Data, such as image/png
}

func (a *Attachment) visit(v visitor) {
	v.hold(EntryCost + len(a.Data))
	v.text(&a.Text, masked|counted)
	v.text(&a.Name, masked)
	v.text(&a.Symbol, masked)
}

// Place returns the origin for the model: the file, and the lines unless all.
func (a Attachment) Place() string {
	where := cmp.Or(a.Path, a.Name)
	switch a.First {
	case 0:
		return where
	case a.Last:
		return fmt.Sprintf("%s, line %d", where, a.First)
	}
	return fmt.Sprintf("%s, lines %d-%d", where, a.First, a.Last)
}

// Fenced returns the text for the model, below its origin and in a block that it cannot end.
func (a Attachment) Fenced() string {
	fence := "```"
	for strings.Contains(a.Text, fence) {
		fence += "`"
	}
	return fmt.Sprintf("%s:\n%s\n%s\n%s", a.Place(), fence, a.Text, fence)
}

// Check rejects prompts that the agent could not use.
func (p Prompt) Check() error {
	switch {
	case p.IsEmpty() && p.Compact == (len(p.Attachments) > 0): // attachments alone are enough
		return fault.ErrEmptyPrompt
	case p.Compact && p.Steer:
		return fault.Errorf(fault.Invalid, "a steering prompt cannot compact the conversation")
	}
	if _, err := ParseMode(string(p.Mode)); err != nil {
		return err
	}
	for i, a := range p.Attachments {
		if err := a.check(); err != nil {
			return fault.Errorf(fault.Invalid, "attachment %d: %w", i+1, err)
		}
	}
	if p.Tools != nil {
		if err := CheckTools(*p.Tools); err != nil {
			return err
		}
	}
	return p.checkMeta()
}

// IsEmpty reports whether the prompt has no text; it may have attachments.
func (p Prompt) IsEmpty() bool { return strings.TrimSpace(p.Text) == "" }

func (p Prompt) checkMeta() error {
	if len(p.Meta) > maxMeta {
		return fault.Errorf(fault.Invalid, "the prompt's meta has %d bytes; %d are allowed", len(p.Meta), maxMeta)
	}
	var object map[string]json.RawMessage
	if p.Meta != nil && (json.Unmarshal(p.Meta, &object) != nil || object == nil) {
		return fault.Errorf(fault.Invalid, "the prompt's meta is not a JSON object")
	}
	return nil
}

func (a Attachment) check() error {
	switch {
	case strings.ContainsRune(a.Path, 0) || !a.valid():
		return fault.Errorf(fault.Invalid, "its texts are not valid")
	case a.Data != nil:
		return a.checkImage()
	case a.Path == "" && a.Text == "":
		return fault.Errorf(fault.Invalid, "it has neither a path nor a text nor an image")
	}
	return a.checkLines()
}

func (a Attachment) valid() bool {
	return !slices.ContainsFunc([]string{a.Path, a.Text, a.Symbol, a.Name}, func(s string) bool { return !utf8.ValidString(s) })
}

func (a Attachment) checkImage() error {
	if len(a.Data) == 0 {
		return fault.Errorf(fault.Invalid, "the image is empty")
	}
	if !strings.HasPrefix(a.Type, "image/") {
		return fault.Errorf(fault.Invalid, "%q is not the media type of an image", a.Type)
	}
	if a.Path != "" || a.Text != "" {
		return fault.Errorf(fault.Invalid, "give an image, a path or a text, not several of them")
	}
	return nil
}

func (a Attachment) checkLines() error {
	if a.First < 0 || a.Last != 0 && (a.First == 0 || a.Last < a.First) {
		return fault.Errorf(fault.Invalid, "lines %d to %d are not a range", a.First, a.Last)
	}
	if a.First != 0 && a.Path == "" && a.Name == "" {
		return fault.Errorf(fault.Invalid, "it has lines but no file")
	}
	return nil
}

// CheckFiles checks that the attached files exist. A file with a text may exist only in an editor.
func (p Prompt) CheckFiles() error {
	for i, a := range p.Attachments {
		if a.Path == "" || a.Text != "" {
			continue
		}
		info, err := os.Stat(a.Path)
		switch {
		case err != nil:
			return fault.Errorf(fault.Invalid, "attachment %d: %s cannot be read: %w", i+1, a.Path, reason(err))
		case info.IsDir() && a.First != 0:
			return fault.Errorf(fault.Invalid, "attachment %d: %s is a directory and has no lines", i+1, a.Path)
		}
	}
	return nil
}

// reason returns an error without its path, which the caller adds.
func reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// Resolve returns a copy with absolute paths and default values. The session owns the copy.
func (p Prompt) Resolve(directory string) Prompt {
	p.Mode, _ = ParseMode(string(p.Mode)) // already checked
	attachments := make([]Attachment, 0, len(p.Attachments))
	for _, a := range p.Attachments {
		if a.Path != "" && !filepath.IsAbs(a.Path) {
			a.Path = filepath.Join(directory, a.Path)
		}
		if a.First != 0 && a.Last == 0 {
			a.Last = a.First + strings.Count(strings.TrimSuffix(a.Text, "\n"), "\n")
		}
		if a.Name == "" && a.Path != "" {
			a.Name = filepath.Base(a.Path)
		}
		attachments = append(attachments, a)
	}
	p.Attachments, p.Meta = attachments, bytes.Clone(p.Meta)
	return p
}
