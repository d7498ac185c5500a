package ui

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/wire"
)

// startParams are those of run.start (spec/contracts/ui-protocol.md, "5.1 run.start").
// Unknown members are kept with the prompt.
type startParams struct {
	Input     input           `json:"input"`
	SessionID string          `json:"session_id"`
	Context   *snapshot       `json:"ui_context"`
	Compact   bool            `json:"force_compaction"`
	Tools     *[]tool         `json:"tools"`
	Portal    portalExtension `json:"portal"`
}

// portalExtension is what the portal adds to spec/contracts/ui-protocol.md, "5.1 run.start".
type portalExtension struct {
	Mode        string         `json:"mode"`
	WhenBusy    string         `json:"when_busy"` // refuse, queue, steer
	Attachments []attachedFile `json:"attachments"`
}

type attachedFile struct {
	Path  string `json:"path"`
	First int    `json:"first"`
	Last  int    `json:"last"`
	Text  string `json:"text"`
	Name  string `json:"name"`
}

type input struct {
	Type  string      `json:"type"`
	Text  string      `json:"text"`
	Parts []inputPart `json:"parts"`
}

// inputPart is a part of an input: a text, or an image in one of two forms.
type inputPart struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Name      string `json:"name"` // of an image, for people
	MediaType string `json:"media_type"`
	Data      string `json:"data"` // base64
	ImageURL  struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

// prompt decodes the prompt.
func (p startParams) prompt() (event.Prompt, error) {
	prompt := event.Prompt{Mode: event.Mode(p.Portal.Mode), Compact: p.Compact, By: Origin}
	switch p.Portal.WhenBusy {
	case "", "refuse":
		prompt.RefuseIfBusy = true
	case "steer":
		prompt.Steer = true
	case "queue":
	default:
		return prompt, jsonrpc.InvalidParams(`"portal.when_busy" is refuse, queue or steer, not %q`, p.Portal.WhenBusy)
	}
	if p.Tools != nil {
		tools := declared(*p.Tools)
		prompt.Tools = &tools
	}
	for _, a := range p.Portal.Attachments {
		prompt.Attachments = append(prompt.Attachments, event.Attachment{Path: a.Path, First: a.First, Last: a.Last, Text: a.Text, Name: a.Name})
	}
	return prompt, p.Input.read(&prompt)
}

// read adds the input to a prompt.
func (i input) read(to *event.Prompt) error {
	switch i.Type {
	case "text":
		to.Text = i.Text
		return nil
	case "parts":
	case "":
		return jsonrpc.InvalidParams(`"input" is missing: {"type": "text", "text": "…"}`)
	default:
		return jsonrpc.InvalidParams(`"input.type" is text or parts, not %q`, i.Type)
	}
	var texts []string
	for k, x := range i.Parts {
		switch x.Type {
		case "text":
			texts = append(texts, x.Text)
		case "image", "image_url":
			image, err := x.image()
			if err != nil {
				return jsonrpc.InvalidParams(`"input.parts.%d" is not an image: %v`, k, err)
			}
			to.Attachments = append(to.Attachments, image)
		default:
			return jsonrpc.InvalidParams(`"input.parts.%d.type" is text, image or image_url, not %q`, k, x.Type)
		}
	}
	to.Text = strings.Join(texts, "\n\n")
	return nil
}

func (x inputPart) image() (a event.Attachment, err error) {
	data := x.Data
	a.Type, a.Name = x.MediaType, cmp.Or(x.Name, "image")
	if x.Type == "image_url" {
		media, encoded, ok := strings.Cut(strings.TrimPrefix(x.ImageURL.URL, "data:"), ";base64,")
		if !ok || !strings.HasPrefix(x.ImageURL.URL, "data:") {
			return a, fault.Errorf(fault.Invalid, "its url is not a data: URL in base64")
		}
		a.Type, data = media, encoded
	}
	a.Data, err = base64.StdEncoding.DecodeString(data)
	return a, err
}

// unknownMembers returns the unknown members of params as an object; nil if there are none. They
// are kept in the record (spec/contracts/ui-protocol.notes.md, "Rules that real UIs rely on").
func unknownMembers(params json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(params, &members) != nil {
		return nil
	}
	for _, name := range []string{"input", "session_id", "ui_context", "force_compaction", "tools", "portal"} {
		delete(members, name)
	}
	if len(members) == 0 {
		return nil
	}
	kept, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	return kept
}

// tool is a client tool.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Timeout     int64           `json:"timeout_ms"`
	Approval    string          `json:"approval"` // default, or never: no question
}

func declared(list []tool) []event.Tool {
	return wire.List(list, func(t tool) event.Tool {
		return event.Tool{
			Name: t.Name, Description: t.Description, Schema: t.Parameters,
			Limit: time.Duration(t.Timeout) * time.Millisecond, NoApproval: t.Approval == "never",
		}
	})
}
