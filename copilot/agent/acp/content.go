package acp

import (
	"net/url"

	"github.com/copilot-portal/portal/copilot/acp"
	"github.com/copilot-portal/portal/copilot/event"
)

// blocks returns a prompt as content of the protocol.
func (a *Agent) blocks(p event.Prompt) ([]acp.Content, error) {
	list := make([]acp.Content, 0, 1+len(p.Attachments))
	if !p.IsEmpty() || len(p.Attachments) == 0 {
		list = append(list, acp.Content{Type: "text", Text: p.Text})
	}
	for _, attached := range p.Attachments {
		block, err := a.block(attached)
		if err != nil {
			return nil, err
		}
		list = append(list, block)
	}
	return list, nil
}

// block returns an attachment: an image, a text with its place, or a link to a file.
func (a *Agent) block(attached event.Attachment) (acp.Content, error) {
	can := a.info.Capabilities.Prompt
	place := (&url.URL{Scheme: "file", Path: attached.Path}).String()
	switch {
	case attached.Data != nil && !can.Image:
		return acp.Content{}, a.Cannot("see images")
	case attached.Data != nil:
		return acp.Content{Type: "image", Data: attached.Data, MimeType: attached.Type}, nil
	case attached.Text == "":
		return acp.Content{Type: "resource_link", URI: place, Name: attached.Place()}, nil
	case can.EmbeddedContext && attached.Path != "":
		return acp.Content{Type: "resource", Resource: &acp.Resource{URI: place, MimeType: "text/plain", Text: &attached.Text}}, nil
	}
	return acp.Content{Type: "text", Text: "\n\n" + attached.Fenced()}, nil
}
