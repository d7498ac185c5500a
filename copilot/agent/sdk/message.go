package sdk

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"os"
	"strings"

	vendor "github.com/github/copilot-sdk/go"
	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot/event"
)

// message converts a prompt for the CLI.
func message(p event.Prompt) vendor.MessageOptions {
	m := vendor.MessageOptions{Prompt: p.Text, AgentMode: cmp.Or(vendor.AgentMode(p.Mode), vendor.AgentModeInteractive)}
	if p.Steer {
		m.Mode = "immediate"
	}
	var symbols, texts strings.Builder
	selected := false
	for _, a := range p.Attachments {
		switch {
		case a.Data == nil && a.Text != "" && selected:
			texts.WriteString(a.Fenced() + "\n")
		default:
			m.Attachments = append(m.Attachments, attachment(a))
			selected = selected || a.Data == nil && a.Text != ""
		}
		if a.Symbol != "" {
			fmt.Fprintf(&symbols, "* %s in %s\n", a.Symbol, a.Place())
		}
	}
	enclose(&m, p.Text, "attached_symbols", symbols.String())
	enclose(&m, p.Text, "attached_texts", texts.String())
	return m
}

// enclose appends to a prompt what the CLI has no field for: symbols, and all texts but the first, because it
// shows the model only one selection.
func enclose(m *vendor.MessageOptions, prompt, name, text string) {
	if text != "" {
		m.DisplayPrompt = prompt
		m.Prompt += "\n\n<" + name + ">\n" + text + "</" + name + ">"
	}
}

func attachment(a event.Attachment) vendor.Attachment {
	name := a.Name
	switch {
	case a.Data != nil:
		data := base64.StdEncoding.EncodeToString(a.Data)
		return &rpc.AttachmentBlob{Data: &data, MIMEType: a.Type, DisplayName: &name}
	case a.Text != "":
		return excerpt(a)
	case isDirectory(a.Path):
		return &rpc.AttachmentDirectory{Path: a.Path, DisplayName: name}
	}
	file := &rpc.AttachmentFile{Path: a.Path, DisplayName: name}
	if a.First != 0 {
		file.LineRange = &rpc.AttachmentFileLineRange{Start: int64(a.First), End: int64(a.Last)}
	}
	return file
}

// excerpt converts a text with its position; the CLI counts lines from 0.
func excerpt(a event.Attachment) vendor.Attachment {
	first, last := max(a.First, 1), a.Last
	if last == 0 { // the whole file
		last = first + strings.Count(strings.TrimSuffix(a.Text, "\n"), "\n")
	}
	return &rpc.AttachmentSelection{
		FilePath: cmp.Or(a.Path, a.Name), DisplayName: a.Name, Text: a.Text,
		Selection: rpc.AttachmentSelectionDetails{
			Start: rpc.AttachmentSelectionDetailsStart{Line: int64(first - 1)},
			End:   rpc.AttachmentSelectionDetailsEnd{Line: int64(last - 1)},
		},
	}
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
