package event

import (
	"bytes"
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
	// Steer puts the prompt into the run that is going instead of behind it: the
	// agent reads it before its next step. A command that it waits for goes on in
	// the background. Without a run it is a prompt like any other.
	Steer bool `json:"steer,omitzero"`
	// RefuseIfBusy refuses the prompt ([fault.ErrBusy]) where it would have to wait behind another
	// run. It is not recorded.
	RefuseIfBusy bool `json:"-"`
	// Tools, if not nil, are those of clients that the session has from this prompt on.
	// Others than it had mean that the conversation is opened anew, which ends commands
	// in the background. One that steers a run brings none along. They are part of no
	// record.
	Tools *[]Tool `json:"-"`
	// Compact has the conversation summed up first, in the same run, if there is
	// anything to sum up. The text may be empty then, without attachments: the run has
	// no prompt, as that of [copilot.Session.Compact]. A prompt that steers cannot have it.
	Compact bool `json:"compact,omitzero"`
	// By names the dialect that it came through; "" if nobody says.
	By string `json:"by,omitzero"`
	// Meta is what the client says besides, a JSON object; nil if nothing. It is
	// recorded, and the agent is not told.
	Meta json.RawMessage `json:"meta,omitempty"`
}

func (p *Prompt) visit(v visitor) {
	v.text(&p.Text, masked|counted)
	v.json(&p.Meta, masked|counted)
	each(v, &p.Attachments, (*Attachment).visit)
}

// maxMeta is how large [Prompt.Meta] may be, in bytes.
const maxMeta = 64 << 10

// Mode is how the agent goes about a prompt.
type Mode string

// The modes of a prompt. Of the empty one [ModeInteractive] is meant.
const (
	ModeInteractive Mode = "interactive" // step by step with the user
	ModePlan        Mode = "plan"        // makes a plan and asks for its approval ([AskPlan])
	ModeAutopilot   Mode = "autopilot"   // goes on until the task is done
)

// ParseMode reads a mode as people write it.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(strings.ToLower(strings.TrimSpace(s))); m {
	case "":
		return ModeInteractive, nil
	case ModeInteractive, ModePlan, ModeAutopilot:
		return m, nil
	}
	return "", fault.Errorf(fault.Invalid, "%q is no mode of a prompt: use interactive, plan or autopilot", s)
}

// Attachment is something that the model is shown with a prompt: a file or
// directory (Path alone), lines of a file (Path and First, perhaps Text as the
// editor has it), a text (Text and Name) or an image (Data and Type).
type Attachment struct {
	Path   string `json:"path,omitzero"`   // absolute, or in the session's directory
	First  int    `json:"first,omitzero"`  // the first line, from 1; 0: all
	Last   int    `json:"last,omitzero"`   // the last line; 0: all
	Symbol string `json:"symbol,omitzero"` // what stands there, such as the name of a function
	Name   string `json:"name,omitzero"`   // for people; made from the others if ""
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

// Place says for the model where it comes from: the file, and the lines if not all.
func (a Attachment) Place() string {
	where := a.Path
	if where == "" {
		where = a.Name
	}
	switch a.First {
	case 0:
		return where
	case a.Last:
		return fmt.Sprintf("%s, line %d", where, a.First)
	}
	return fmt.Sprintf("%s, lines %d-%d", where, a.First, a.Last)
}

// Check refuses what the agent could not use.
func (p Prompt) Check() error {
	switch {
	case p.IsEmpty() && p.Compact == (len(p.Attachments) > 0): // attachments alone will do
		return fault.ErrEmptyPrompt
	case p.Compact && p.Steer:
		return fault.Errorf(fault.Invalid, "the conversation cannot be summed up for a prompt that steers")
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
		return fault.Errorf(fault.Invalid, "what is said besides the prompt has %d bytes; %d are allowed", len(p.Meta), maxMeta)
	}
	var object map[string]json.RawMessage
	if p.Meta != nil && (json.Unmarshal(p.Meta, &object) != nil || object == nil) {
		return fault.Errorf(fault.Invalid, "what is said besides the prompt is no JSON object")
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
		return fault.Errorf(fault.Invalid, "%q is no media type of an image", a.Type)
	}
	if a.Path != "" || a.Text != "" {
		return fault.Errorf(fault.Invalid, "give an image, a path or a text, not several of them")
	}
	return nil
}

func (a Attachment) checkLines() error {
	if a.First < 0 || a.Last != 0 && (a.First == 0 || a.Last < a.First) {
		return fault.Errorf(fault.Invalid, "the lines %d to %d are no range", a.First, a.Last)
	}
	if a.First != 0 && a.Path == "" && a.Name == "" {
		return fault.Errorf(fault.Invalid, "it has lines but no file")
	}
	return nil
}

// CheckFiles looks whether the attached files are there. One whose text is given may
// exist in an editor only.
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

// reason is an error without the path, which stands beside it.
func reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// Resolve makes relative paths absolute and fills in what is left open. What it gives
// is the session's own.
func (p Prompt) Resolve(directory string) Prompt {
	p.Mode, _ = ParseMode(string(p.Mode)) // check has seen it
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
