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
	"github.com/copilot-portal/portal/handlers/edit"
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
	methods     jsonrpc.Table[*connection]
	shared      jsonrpc.Methods // with other dialects
	sessionPoll sessionPoll
	files       workspace.Files
}

// New returns an API.
func New(o Options) *API {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.About = o.About.complete()
	a := &API{options: o, extensions: extension.API{Host: o.Host, Directory: o.About.Configuration.Directory}, methods: methods()}
	a.shared = a.extensions.Methods("portal.")
	edits := edit.API{Session: a.session, By: ui.Origin}
	maps.Copy(a.shared, jsonrpc.Methods{
		"portal.session.undo":         {Handle: edits.Undo},
		"portal.commit.create":        {Handle: edits.CreateCommit},
		"portal.pull_request.propose": {Handle: edits.ProposePull},
		"portal.pull_request.create":  {Handle: edits.CreatePull},
	})
	return a
}

// Methods returns the methods for a connection. It is a [ui.ExtraMethods].
func (a *API) Methods(client ui.Connection) (methods jsonrpc.Finder, wait func()) {
	n := &connection{api: a, client: client, watches: map[string]*watch{}}
	return jsonrpc.Chain{a.methods.Of(n), a.shared}, n.work.Wait
}

// connection is the page's part of a connection.
type connection struct {
	api    *API
	client ui.Connection
	work   sync.WaitGroup // the watches

	mu      sync.Mutex
	watches map[string]*watch // by key
}

func methods() jsonrpc.Table[*connection] {
	return jsonrpc.Table[*connection]{
		"portal.sessions.watch":      {Handle: (*connection).watchSessions},
		"portal.sessions.search":     {Handle: (*connection).search},
		"portal.session.rename":      {Handle: (*connection).rename},
		"portal.session.update":      {Handle: (*connection).place},
		"portal.session.delete":      {Handle: (*connection).remove},
		"portal.session.fork":        {Handle: (*connection).fork},
		"portal.session.resend":      {Handle: (*connection).resend},
		"portal.session.permit":      {Handle: (*connection).permit},
		"portal.session.permissions": {Handle: (*connection).permissions},
		"portal.session.revoke":      {Handle: (*connection).revoke},
		"portal.session.changes":     {Handle: (*connection).changes},
		"portal.session.diff":        {Handle: (*connection).diff},
		"portal.session.revert":      {Handle: (*connection).revertChanges},
		"portal.session.restore":     {Handle: (*connection).restore},
		"portal.share.create":        {Handle: (*connection).createShare},
		"portal.share.list":          {Handle: (*connection).listShares},
		"portal.share.revoke":        {Handle: (*connection).revokeShare},
		"portal.share.current":       {Handle: (*connection).currentShare},
		"portal.jobs.list":           {Handle: (*connection).listJobs},
		"portal.jobs.history":        {Handle: (*connection).jobHistory},
		"portal.jobs.watch":          {Handle: (*connection).watchJobs},
		"portal.jobs.unwatch":        {Handle: (*connection).unwatchJobs},
		"portal.jobs.start":          {Handle: (*connection).startJob},
		"portal.job.watch":           {Handle: (*connection).watchJob},
		"portal.job.unwatch":         {Handle: (*connection).unwatchJob},
		"portal.job.cancel":          {Handle: (*connection).cancelJob},
		"portal.job.continue":        {Handle: (*connection).continueJob},
		"portal.job.repeat":          {Handle: (*connection).repeatJob},
		"portal.interfaces.list":     {Handle: (*connection).listInterfaces},
		"portal.interfaces.create":   {Handle: (*connection).createInterface},
		"portal.interface.get":       {Handle: (*connection).getInterface},
		"portal.interface.make":      {Handle: (*connection).regenerateInterface},
		"portal.interface.change":    {Handle: (*connection).changeInterface},
		"portal.interface.cancel":    {Handle: (*connection).cancelInterface},
		"portal.interface.back":      {Handle: (*connection).revertInterface},
		"portal.interface.compare":   {Handle: (*connection).compareInterface},
		"portal.interface.delete":    {Handle: (*connection).deleteInterface},
		"portal.interface.allow":     {Handle: (*connection).allowInterface},
		"portal.interface.call":      {Handle: (*connection).callInterface},
		"portal.interface.watch":     {Handle: (*connection).watchInterface},
		"portal.interface.unwatch":   {Handle: (*connection).unwatchInterface},
		"portal.server.signin":       {Handle: (*connection).signIn},
		"portal.queue.list":          {Handle: (*connection).listQueue},
		"portal.queue.edit":          {Handle: (*connection).editQueued},
		"portal.queue.move":          {Handle: (*connection).moveQueued},
		"portal.queue.send":          {Handle: (*connection).sendQueued},
		"portal.directory.complete":  {Handle: (*connection).completeDirectory},
		"portal.directory.describe":  {Handle: (*connection).describeDirectory},
		"portal.file.read":           {Handle: (*connection).readFile},
		"portal.files.complete":      {Handle: (*connection).completeFile},
		"portal.files.find":          {Handle: (*connection).findViewable},
		"portal.files.missing":       {Handle: (*connection).missingFiles},
		"portal.status":              {Handle: (*connection).status},
		"portal.markdown":            {Handle: (*connection).markdown},

		"portal.commit.propose": {Handle: (*connection).proposeCommit},
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

// session finds the session that params name.
func (a *API) session(ctx context.Context, r *jsonrpc.Request) (*copilot.Session, error) {
	id, err := sessionID(r)
	if err != nil {
		return nil, err
	}
	return a.options.Host.Session(ctx, id)
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
