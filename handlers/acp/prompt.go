package acp

import (
	"cmp"
	"context"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/copilot-portal/portal/copilot/acp"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// compact is the command that compacts the conversation.
const compact = "compact"

// prompt starts a run in order, so that a cancellation right behind it finds the run, and answers at the run's end.
func (n *connection) prompt(_ context.Context, r *jsonrpc.Request) (func(context.Context) (any, error), error) {
	var p acp.PromptParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	a, err := n.attachment(p.SessionID)
	if err != nil {
		return nil, err
	}
	prompt, err := decodePrompt(p.Prompt)
	if err != nil {
		return nil, err
	}
	prompt.Mode = a.mode()
	run, err := a.runs.start(string(r.ID), func() (string, error) { return a.session().Prompt(prompt) })
	if err != nil {
		return nil, err
	}
	r.After(func() { close(run.answered) })
	return func(ctx context.Context) (any, error) { return run.wait(ctx) }, nil
}

// wait waits for the end of the run, whose updates are sent by then.
func (r *ownRun) wait(ctx context.Context) (acp.PromptResult, error) {
	select {
	case end := <-r.ended:
		return end.result()
	case <-ctx.Done():
		return acp.PromptResult{}, ctx.Err()
	}
}

func (e runEnd) result() (acp.PromptResult, error) {
	switch {
	case e.err != nil:
		return acp.PromptResult{}, e.err
	case e.outcome == event.Cancelled:
		return acp.PromptResult{StopReason: "cancelled"}, nil
	case e.outcome == event.Completed:
		return acp.PromptResult{StopReason: "end_turn"}, nil
	case e.outcome == event.Interrupted:
		return acp.PromptResult{}, fault.Errorf(fault.Unavailable, "the portal ended during the run; what it did so far is in the session")
	}
	return acp.PromptResult{}, fault.Errorf(fault.Unavailable, "%s", e.reason)
}

// cancel cancels the runs of the editor in a session, or if it has none, the current run, which another client started.
func (n *connection) cancel(_ context.Context, p sessionParams) (any, error) {
	a, err := n.attachment(p.SessionID)
	if err != nil {
		return nil, err
	}
	if !a.cancelRuns() {
		_ = a.session().Cancel("") // it may have ended meanwhile
	}
	return nil, nil //nolint:nilnil // a notification has no result
}

// decodePrompt reads the content of a prompt. Texts and links become its text, in their order; resources and images are attached.
func decodePrompt(blocks []acp.Content) (event.Prompt, error) {
	p := event.Prompt{By: Origin}
	var texts []string
	for i, b := range blocks {
		text, attached, err := decodeBlock(b)
		if err != nil {
			return p, jsonrpc.InvalidParams(`"prompt.%d": %v`, i, err)
		}
		texts = append(texts, text)
		p.Attachments = append(p.Attachments, attached...)
	}
	p.Text = strings.Join(texts, "")
	if rest, ok := strings.CutPrefix(p.Text, "/"+compact); ok && (rest == "" || rest[0] == ' ' || rest[0] == '\n') {
		p.Compact, p.Text = true, strings.TrimSpace(rest)
	}
	return p, nil
}

// decodeBlock returns the text of a block, or the one that stands for what it attaches. A link to anything but a file is only text.
func decodeBlock(b acp.Content) (text string, attached []event.Attachment, err error) {
	switch {
	case b.Type == "text":
		return b.Text, nil, nil
	case b.Type == "image" && len(b.Data) > 0:
		return "", []event.Attachment{{Data: b.Data, Type: b.MimeType, Name: "image"}}, nil
	case b.Type == "resource_link":
		if file, ok := fileOf(b.URI); ok {
			return "@" + b.Name, []event.Attachment{file}, nil
		}
		return b.URI, nil, nil
	case b.Type == "resource" && b.Resource != nil:
		a, err := embedded(*b.Resource)
		return "@" + a.Name, []event.Attachment{a}, err
	}
	return "", nil, fault.Errorf(fault.Invalid, "use a text, an image, a resource or a link to one")
}

// embedded returns the attachment of a resource: the editor's text of a file, which may not be saved yet, another text, or an image.
func embedded(r acp.Resource) (event.Attachment, error) {
	name := path.Base(strings.TrimRight(r.URI, "/"))
	file, isFile := fileOf(r.URI)
	switch {
	case r.Text == nil && strings.HasPrefix(r.MimeType, "image/"):
		return event.Attachment{Name: name, Data: r.Blob, Type: r.MimeType}, nil
	case r.Text == nil:
		return event.Attachment{}, fault.Errorf(fault.Invalid, "a resource must be a text or an image, not %q", r.MimeType)
	case isFile:
		file.Name, file.Text = name, *r.Text
		if file.Text != "" {
			file.First = max(file.First, 1)
			file.Last = file.First + strings.Count(strings.TrimSuffix(file.Text, "\n"), "\n")
		}
		return file, nil
	}
	return event.Attachment{Name: name, Text: *r.Text}, nil
}

// lines is a fragment that selects lines, as in #L120, #L120:134 and #L120-L134.
var lines = regexp.MustCompile(`^L(\d+)(?:[:-]L?(\d+))?$`)

// fileOf returns the attachment for a file: URI, with the lines that it selects.
func fileOf(uri string) (event.Attachment, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return event.Attachment{}, false
	}
	a := event.Attachment{Path: u.Path}
	if selected := lines.FindStringSubmatch(u.Fragment); selected != nil {
		a.First, _ = strconv.Atoi(selected[1]) // they are digits
		a.Last, _ = strconv.Atoi(cmp.Or(selected[2], selected[1]))
	}
	return a, true
}
