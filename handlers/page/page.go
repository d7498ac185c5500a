// Package page adds the methods of the portal's own page to the dialect of UIs
// (spec/page.md, "Methods"): it manages sessions, completes paths, and keeps lists of
// sessions, jobs and interfaces up to date. Any UI may call them.
//
// It sees a connection only as a [ui.Connection]. A watch is a goroutine that reads at the
// pace of its connection (watch.go), so nothing is queued for a slow UI.
package page

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"sync"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/share"
	"github.com/copilot-portal/portal/copilot/workspace"
	"github.com/copilot-portal/portal/handlers/extension"
	"github.com/copilot-portal/portal/handlers/ui"
	"github.com/copilot-portal/portal/jobs"
	"github.com/copilot-portal/portal/jobs/studio/gallery"
)

// Options of the [API]. Zero fields take the defaults named.
type Options struct {
	Host     *copilot.Host
	Shares   *share.Shares // links to sessions
	BasePath string        // before the addresses of links; "" or as in "/portal"
	Jobs     *jobs.Host    // nil: the portal has none
	Gallery  *gallery.Host // interfaces to APIs; nil: the portal has none
	Version  string        // of the portal
	About    About
	Log      *slog.Logger // nil: none
}

// API holds what all connections share. It is safe for concurrent use and needs no close.
type API struct {
	options     Options
	extensions  extension.API
	sessionPoll sessionPoll
	files       workspace.Files
}

// New returns an API.
func New(o Options) *API {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.About = o.About.complete()
	return &API{options: o, extensions: extension.API{Host: o.Host, Directory: o.About.Configuration.Directory}}
}

// Methods returns the methods for a connection. It is a [ui.ExtraMethods].
func (a *API) Methods(client ui.Connection) (methods jsonrpc.Methods, wait func()) {
	n := &connection{api: a, client: client, watches: map[string]*watch{}}
	return n.methods(), n.work.Wait
}

// connection is the page's part of a connection.
type connection struct {
	api    *API
	client ui.Connection
	work   sync.WaitGroup // the watches

	mu      sync.Mutex
	watches map[string]*watch // by key
}

func (n *connection) methods() jsonrpc.Methods {
	methods := n.api.extensions.Methods("portal.")
	maps.Copy(methods, n.ownMethods())
	return methods
}

func (n *connection) ownMethods() jsonrpc.Methods {
	return jsonrpc.Methods{
		"portal.sessions.watch":      {Handle: n.watchSessions},
		"portal.sessions.search":     {Handle: n.search},
		"portal.session.rename":      {Handle: n.rename},
		"portal.session.update":      {Handle: n.place},
		"portal.session.delete":      {Handle: n.remove},
		"portal.session.fork":        {Handle: n.fork},
		"portal.session.resend":      {Handle: n.resend},
		"portal.session.permit":      {Handle: n.permit},
		"portal.session.permissions": {Handle: n.permissions},
		"portal.session.revoke":      {Handle: n.revoke},
		"portal.session.changes":     {Handle: n.changes},
		"portal.session.diff":        {Handle: n.diff},
		"portal.session.revert":      {Handle: n.revertChanges},
		"portal.session.restore":     {Handle: n.restore},
		"portal.session.undo":        {Handle: n.undo},
		"portal.share.create":        {Handle: n.createShare},
		"portal.share.list":          {Handle: n.listShares},
		"portal.share.revoke":        {Handle: n.revokeShare},
		"portal.share.current":       {Handle: n.currentShare},
		"portal.jobs.list":           {Handle: n.listJobs},
		"portal.jobs.history":        {Handle: n.jobHistory},
		"portal.jobs.watch":          {Handle: n.watchJobs},
		"portal.jobs.start":          {Handle: n.startJob},
		"portal.job.watch":           {Handle: n.watchJob},
		"portal.job.unwatch":         {Handle: n.unwatchJob},
		"portal.job.cancel":          {Handle: n.cancelJob},
		"portal.job.continue":        {Handle: n.continueJob},
		"portal.interfaces.list":     {Handle: n.listInterfaces},
		"portal.interfaces.create":   {Handle: n.createInterface},
		"portal.interface.get":       {Handle: n.getInterface},
		"portal.interface.make":      {Handle: n.regenerateInterface},
		"portal.interface.change":    {Handle: n.changeInterface},
		"portal.interface.cancel":    {Handle: n.cancelInterface},
		"portal.interface.back":      {Handle: n.revertInterface},
		"portal.interface.compare":   {Handle: n.compareInterface},
		"portal.interface.delete":    {Handle: n.deleteInterface},
		"portal.interface.allow":     {Handle: n.allowInterface},
		"portal.interface.call":      {Handle: n.callInterface},
		"portal.interface.watch":     {Handle: n.watchInterface},
		"portal.interface.unwatch":   {Handle: n.unwatchInterface},
		"portal.server.signin":       {Handle: n.signIn},
		"portal.queue.list":          {Handle: n.listQueue},
		"portal.queue.edit":          {Handle: n.editQueued},
		"portal.queue.move":          {Handle: n.moveQueued},
		"portal.queue.send":          {Handle: n.sendQueued},
		"portal.directory.complete":  {Handle: n.completeDirectory},
		"portal.directory.describe":  {Handle: n.describeDirectory},
		"portal.file.read":           {Handle: n.readFile},
		"portal.files.complete":      {Handle: n.completeFile},
		"portal.files.find":          {Handle: n.findViewable},
		"portal.files.missing":       {Handle: n.missingFiles},
		"portal.status":              {Handle: n.status},
		"portal.markdown":            {Handle: n.markdown},

		"portal.commit.propose":       {Handle: n.proposeCommit},
		"portal.commit.create":        {Handle: n.createCommit},
		"portal.pull_request.propose": {Handle: n.proposePull},
		"portal.pull_request.create":  {Handle: n.createPull},
	}
}

func (n *connection) host() *copilot.Host { return n.api.options.Host }

type oneSession struct {
	SessionID string `json:"session_id"`
}

// find returns the session with an id from params.
func (n *connection) find(ctx context.Context, id string) (*copilot.Session, error) {
	if err := checkSessionID(id); err != nil {
		return nil, err
	}
	return n.host().Session(ctx, id)
}

// findIn decodes params and finds the session with the id among them.
func (n *connection) findIn(ctx context.Context, r *jsonrpc.Request, params any, id *string) (*copilot.Session, error) {
	if err := r.Decode(params); err != nil {
		return nil, err
	}
	return n.find(ctx, *id)
}

// sessionID decodes params that name a session.
func sessionID(r *jsonrpc.Request) (string, error) {
	var p oneSession
	if err := r.Decode(&p); err != nil {
		return "", err
	}
	return p.SessionID, checkSessionID(p.SessionID)
}

func checkSessionID(id string) error {
	if id == "" {
		return jsonrpc.InvalidParams(`"session_id" is missing`)
	}
	return nil
}
