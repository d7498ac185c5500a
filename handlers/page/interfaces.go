package page

import (
	"context"
	"net/http"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/render"
	"github.com/copilot-portal/portal/handlers/wire"
	"github.com/copilot-portal/portal/jobs/studio/gallery"
)

// errNoInterfaces is the error of a portal without a gallery.
var errNoInterfaces = fault.Errorf(fault.Unavailable, "this portal makes no interfaces")

// listedInterface is an interface as lists show it.
type listedInterface struct {
	InterfaceID  string         `json:"interface_id"`
	Title        string         `json:"title"`
	Format       string         `json:"format"`
	Operations   int            `json:"operations"`
	BaseURL      string         `json:"base_url"`
	Allowed      string         `json:"allowed"`
	Created      string         `json:"created_at"`
	Current      int            `json:"current"`
	VersionCount int            `json:"version_count"`
	Error        string         `json:"error,omitempty"`
	Work         *interfaceWork `json:"work,omitempty"`
}

// interfaceInfo is an interface at one moment.
type interfaceInfo struct {
	listedInterface

	Versions []interfaceVersion `json:"versions"`
	Question *interfaceQuestion `json:"question,omitempty"`
	Request  string             `json:"request,omitempty"`
}

type interfaceVersion struct {
	Number      int      `json:"number"`
	Description string   `json:"description"`
	Prompt      string   `json:"prompt,omitempty"`
	Assumptions []string `json:"assumptions,omitempty"`
	Components  int      `json:"components"`
	Bytes       int      `json:"bytes"`
	Based       int      `json:"based,omitempty"`
	Created     string   `json:"created_at"`
}

type interfaceQuestion struct {
	Prompt  string   `json:"prompt"`
	Text    string   `json:"text"`
	Options []string `json:"options"`
}

type interfaceWork struct {
	Prompt string `json:"prompt"`
	Since  string `json:"since"`
}

func encodeListed(i gallery.Item) listedInterface {
	encoded := listedInterface{
		InterfaceID: i.ID, Title: i.Title, Format: i.Format, Operations: i.Endpoints, BaseURL: i.BaseURL, Allowed: i.Allowed,
		Created: event.FormatTime(i.Created), Current: i.Current, VersionCount: len(i.Versions), Error: i.Error,
	}
	if w := i.Work; w != nil {
		encoded.Work = &interfaceWork{w.Prompt, event.FormatTime(w.Since)}
	}
	return encoded
}

func encodeInterface(i gallery.Item) interfaceInfo {
	encoded := interfaceInfo{listedInterface: encodeListed(i), Versions: []interfaceVersion{}, Request: i.Request}
	for _, v := range i.Versions {
		encoded.Versions = append(encoded.Versions, interfaceVersion{
			v.Number, v.Description, v.Prompt, v.Assumptions, v.Components, v.Bytes, v.Based, event.FormatTime(v.Created),
		})
	}
	if q := i.Question; q != nil {
		encoded.Question = &interfaceQuestion{q.Prompt, q.Text, append([]string{}, q.Options...)}
	}
	return encoded
}

type oneInterface struct {
	InterfaceID string `json:"interface_id"`
}

// gallery returns the gallery, for a method about one interface.
func (n *connection) gallery(of oneInterface) (*gallery.Host, error) {
	switch {
	case of.InterfaceID == "":
		return nil, jsonrpc.InvalidParams(`"interface_id" is missing`)
	case n.api.options.Gallery == nil:
		return nil, errNoInterfaces
	}
	return n.api.options.Gallery, nil
}

type interfaceList struct {
	Interfaces []listedInterface `json:"interfaces"`
}

// listInterfaces is portal.interfaces.list.
func (n *connection) listInterfaces(ctx context.Context, _ *jsonrpc.Request) (any, error) {
	if n.api.options.Gallery == nil {
		return interfaceList{[]listedInterface{}}, nil
	}
	list, err := n.api.options.Gallery.List(ctx)
	return interfaceList{wire.List(list, encodeListed)}, err
}

type interfaceResult struct {
	Interface interfaceInfo `json:"interface"`
}

type createInterfaceParams struct {
	Name string `json:"name"`
	Text string `json:"text"`
	Key  string `json:"key"`
}

// createInterface is portal.interfaces.create.
func (n *connection) createInterface(ctx context.Context, p createInterfaceParams) (any, error) {
	if n.api.options.Gallery == nil {
		return nil, errNoInterfaces
	}
	i, err := n.api.options.Gallery.Create(ctx, gallery.CreateRequest{Name: p.Name, Text: p.Text, Key: p.Key})
	if err != nil {
		return nil, err
	}
	return interfaceResult{encodeInterface(i)}, nil
}

type interfaceCode struct {
	Interface interfaceInfo `json:"interface"`
	Version   int           `json:"version"`
	Script    string        `json:"script,omitempty"`
	Error     string        `json:"error,omitempty"`
}

type versionOfInterface struct {
	oneInterface
	Version int `json:"version"`
}

// getInterface is portal.interface.get. It returns the interface even if its code can no longer be
// shown.
func (n *connection) getInterface(ctx context.Context, p versionOfInterface) (any, error) {
	g, err := n.gallery(p.oneInterface)
	if err != nil {
		return nil, err
	}
	i, err := g.Get(ctx, p.InterfaceID)
	if err != nil {
		return nil, err
	}
	encoded := interfaceCode{Interface: encodeInterface(i)}
	if i.Current == 0 {
		return encoded, nil
	}
	v, script, err := g.Script(ctx, p.InterfaceID, p.Version)
	if err != nil && fault.KindOf(err) != fault.Invalid {
		return nil, err
	}
	encoded.Version, encoded.Script = v.Number, script
	if err != nil {
		encoded.Error = err.Error()
	}
	return encoded, nil
}

type changeInterfaceParams struct {
	oneInterface
	Prompt string `json:"prompt"`
}

// changeInterface is portal.interface.change.
func (n *connection) changeInterface(ctx context.Context, p changeInterfaceParams) (any, error) {
	g, err := n.gallery(p.oneInterface)
	if err != nil {
		return nil, err
	}
	return struct{}{}, g.Change(ctx, p.InterfaceID, p.Prompt)
}

// regenerateInterface is portal.interface.make.
func (n *connection) regenerateInterface(ctx context.Context, p oneInterface) (any, error) {
	return n.withInterface(ctx, p, (*gallery.Host).Make)
}

// cancelInterface is portal.interface.cancel.
func (n *connection) cancelInterface(ctx context.Context, p oneInterface) (any, error) {
	return n.withInterface(ctx, p, (*gallery.Host).Cancel)
}

// deleteInterface is portal.interface.delete.
func (n *connection) deleteInterface(ctx context.Context, p oneInterface) (any, error) {
	return n.withInterface(ctx, p, (*gallery.Host).Delete)
}

func (n *connection) withInterface(ctx context.Context, p oneInterface, do func(*gallery.Host, context.Context, string) error) (any, error) {
	g, err := n.gallery(p)
	if err != nil {
		return nil, err
	}
	return struct{}{}, do(g, ctx, p.InterfaceID)
}

// revertInterface is portal.interface.back.
func (n *connection) revertInterface(ctx context.Context, p versionOfInterface) (any, error) {
	g, err := n.gallery(p.oneInterface)
	if err != nil {
		return nil, err
	}
	return struct{}{}, g.Revert(ctx, p.InterfaceID, p.Version)
}

type compareInterfaceParams struct {
	oneInterface
	From int `json:"from"`
	To   int `json:"to"`
}

// compareInterface is portal.interface.compare.
func (n *connection) compareInterface(ctx context.Context, p compareInterfaceParams) (any, error) {
	g, err := n.gallery(p.oneInterface)
	if err != nil {
		return nil, err
	}
	diff, err := g.Compare(ctx, p.InterfaceID, p.From, p.To)
	if err != nil {
		return nil, err
	}
	html, added, removed := "", 0, 0
	if diff != "" {
		html, added, removed = render.Diff(diff)
	}
	return map[string]any{"html": html, "added": added, "removed": removed}, nil
}

type allowInterfaceParams struct {
	oneInterface
	BaseURL string `json:"base_url"`
	Private bool   `json:"private"`
}

// allowInterface is portal.interface.allow.
func (n *connection) allowInterface(ctx context.Context, p allowInterfaceParams) (any, error) {
	g, err := n.gallery(p.oneInterface)
	if err != nil {
		return nil, err
	}
	permission, err := g.Allow(ctx, p.InterfaceID, p.BaseURL, p.Private)
	return map[string]bool{"allowed": permission.Allowed, "private": permission.Private}, err
}

type interfaceAnswer struct {
	Status     int         `json:"status"`
	StatusText string      `json:"status_text"`
	Headers    [][2]string `json:"headers"`
	Body       []byte      `json:"body"` // in base64
}

type callInterfaceParams struct {
	oneInterface
	Method  string      `json:"method"`
	URL     string      `json:"url"`
	Headers [][2]string `json:"headers"`
	Body    []byte      `json:"body"` // in base64
}

// callInterface is portal.interface.call: the frame of an interface calls its API.
func (n *connection) callInterface(ctx context.Context, p callInterfaceParams) (any, error) {
	g, err := n.gallery(p.oneInterface)
	if err != nil {
		return nil, err
	}
	a, err := g.Call(ctx, p.InterfaceID, gallery.Request{Method: p.Method, URL: p.URL, Header: p.Headers, Body: p.Body})
	if err != nil {
		return nil, err
	}
	return interfaceAnswer{a.Status, http.StatusText(a.Status), append([][2]string{}, a.Header...), append([]byte{}, a.Body...)}, nil
}
