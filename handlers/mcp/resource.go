package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/copilot-portal/portal/copilot/export"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
)

// The media types of resources.
const (
	markdown = "text/markdown"
	jsonText = "application/json"
)

// resource is a kind of resource, whose addresses are portal://HOST/ID….
type resource struct {
	template, name, about, media string
	read                         func(ctx context.Context, ids []string) (string, error)
}

func (a *API) addResources() {
	a.server.AddResource(&sdk.Resource{URI: "portal://sessions", Name: "sessions", Title: "Sessions", Description: "The sessions that changed last.", MIMEType: jsonText},
		a.reader(jsonText, a.sessionsResource))
	for _, r := range []resource{
		{"portal://session/{sessionId}", "session", "A whole session: prompts, answers, tool calls.", markdown, a.sessionResource},
		{"portal://result/{sessionId}/{runId}", "result", "The answer of a run.", markdown, a.resultResource},
		{"portal://job/{jobId}", "job", "A job and its tasks.", jsonText, a.jobResource},
		{"portal://operation/{operationId}", "operation", "An operation and its result.", jsonText, a.operationResource},
	} {
		a.server.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: r.template, Name: r.name, Description: r.about, MIMEType: r.media}, a.reader(r.media, r.read))
	}
}

// reader returns the handler that reads a resource as text.
func (a *API) reader(media string, read func(context.Context, []string) (string, error)) sdk.ResourceHandler {
	return func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		text, err := read(ctx, idsOf(r.Params.URI))
		if err != nil {
			return nil, a.protocolError(r.Params.URI, err)
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: media, Text: text}}}, nil
	}
}

// idsOf returns the parts of the path of an address, at least one.
func idsOf(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return []string{""}
	}
	return strings.Split(strings.Trim(u.Path, "/"), "/")
}

func (a *API) sessionsResource(ctx context.Context, _ []string) (string, error) {
	list, err := a.list(ctx, call{}, listArgs{})
	return encode(list, err)
}

// maxTranscript is the maximum size of a session as a resource, in bytes; more is for read_events.
const maxTranscript = 4 << 20

func (a *API) sessionResource(ctx context.Context, ids []string) (string, error) {
	s, err := a.options.Host.Session(ctx, ids[0])
	if err != nil {
		return "", err
	}
	text := boundedText{room: maxTranscript}
	err = export.Markdown(&text, s.Info(), follow.Snapshot(ctx, s.Record()))
	return text.String(), err
}

// boundedText refuses more text than it has room for.
type boundedText struct {
	bytes.Buffer

	room int
}

func (t *boundedText) Write(p []byte) (int, error) {
	if t.Len()+len(p) > t.room {
		return 0, fault.Errorf(fault.Invalid, "the session is larger than %d bytes: read it in pages with %s", t.room, readEvents)
	}
	return t.Buffer.Write(p)
}

func (a *API) resultResource(ctx context.Context, ids []string) (string, error) {
	if len(ids) < 2 {
		return "", fault.ErrRunNotFound
	}
	s, err := a.options.Host.Session(ctx, ids[0])
	if err != nil {
		return "", err
	}
	r, err := a.watch(ctx, call{&sdk.CallToolRequest{Params: &sdk.CallToolParamsRaw{}}}, s, ids[1], deadline{time.Now()})
	return r.Answer, err
}

func (a *API) jobResource(ctx context.Context, ids []string) (string, error) {
	j, err := a.options.Jobs.Job(ctx, ids[0])
	if err != nil {
		return "", err
	}
	return encode(stateOf(j.Info()), nil)
}

func (a *API) operationResource(ctx context.Context, ids []string) (string, error) {
	o, err := a.options.Operations.Get(ctx, ids[0])
	if err != nil {
		return "", err
	}
	return encode(describeOperation(o.Info()), nil)
}

func encode(v any, err error) (string, error) {
	if err != nil {
		return "", err
	}
	b, err := json.MarshalIndent(v, "", "  ")
	return string(b), err
}
