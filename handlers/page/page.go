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
		"portal.sessions.search":     {Handle: jsonrpc.TypedOf((*connection).search)},
		"portal.session.rename":      {Handle: jsonrpc.TypedOf((*connection).rename)},
		"portal.session.update":      {Handle: jsonrpc.TypedOf((*connection).place)},
		"portal.session.delete":      {Handle: jsonrpc.TypedOf((*connection).remove)},
		"portal.session.fork":        {Handle: jsonrpc.TypedOf((*connection).fork)},
		"portal.session.resend":      {Handle: jsonrpc.TypedOf((*connection).resend)},
		"portal.session.permit":      {Handle: jsonrpc.TypedOf((*connection).permit)},
		"portal.session.permissions": {Handle: jsonrpc.TypedOf((*connection).permissions)},
		"portal.session.revoke":      {Handle: jsonrpc.TypedOf((*connection).revoke)},
		"portal.session.changes":     {Handle: jsonrpc.TypedOf((*connection).changes)},
		"portal.session.diff":        {Handle: jsonrpc.TypedOf((*connection).diff)},
		"portal.session.revert":      {Handle: jsonrpc.TypedOf((*connection).revertChanges)},
		"portal.session.restore":     {Handle: jsonrpc.TypedOf((*connection).restore)},
		"portal.share.create":        {Handle: jsonrpc.TypedOf((*connection).createShare)},
		"portal.share.list":          {Handle: jsonrpc.TypedOf((*connection).listShares)},
		"portal.share.revoke":        {Handle: jsonrpc.TypedOf((*connection).revokeShare)},
		"portal.share.current":       {Handle: (*connection).currentShare},
		"portal.jobs.list":           {Handle: (*connection).listJobs},
		"portal.jobs.history":        {Handle: jsonrpc.TypedOf((*connection).jobHistory)},
		"portal.jobs.watch":          {Handle: (*connection).watchJobs},
		"portal.jobs.unwatch":        {Handle: (*connection).unwatchJobs},
		"portal.jobs.start":          {Handle: jsonrpc.TypedOf((*connection).startJob)},
		"portal.job.watch":           {Handle: (*connection).watchJob},
		"portal.job.unwatch":         {Handle: jsonrpc.TypedOf((*connection).unwatchJob)},
		"portal.job.cancel":          {Handle: jsonrpc.TypedOf((*connection).cancelJob)},
		"portal.job.continue":        {Handle: jsonrpc.TypedOf((*connection).continueJob)},
		"portal.job.repeat":          {Handle: jsonrpc.TypedOf((*connection).repeatJob)},
		"portal.interfaces.list":     {Handle: (*connection).listInterfaces},
		"portal.interfaces.create":   {Handle: jsonrpc.TypedOf((*connection).createInterface)},
		"portal.interface.get":       {Handle: jsonrpc.TypedOf((*connection).getInterface)},
		"portal.interface.make":      {Handle: jsonrpc.TypedOf((*connection).regenerateInterface)},
		"portal.interface.change":    {Handle: jsonrpc.TypedOf((*connection).changeInterface)},
		"portal.interface.cancel":    {Handle: jsonrpc.TypedOf((*connection).cancelInterface)},
		"portal.interface.back":      {Handle: jsonrpc.TypedOf((*connection).revertInterface)},
		"portal.interface.compare":   {Handle: jsonrpc.TypedOf((*connection).compareInterface)},
		"portal.interface.delete":    {Handle: jsonrpc.TypedOf((*connection).deleteInterface)},
		"portal.interface.allow":     {Handle: jsonrpc.TypedOf((*connection).allowInterface)},
		"portal.interface.call":      {Handle: jsonrpc.TypedOf((*connection).callInterface)},
		"portal.interface.watch":     {Handle: (*connection).watchInterface},
		"portal.interface.unwatch":   {Handle: jsonrpc.TypedOf((*connection).unwatchInterface)},
		"portal.server.signin":       {Handle: (*connection).signIn},
		"portal.queue.list":          {Handle: jsonrpc.TypedOf((*connection).listQueue)},
		"portal.queue.edit":          {Handle: jsonrpc.TypedOf((*connection).editQueued)},
		"portal.queue.move":          {Handle: jsonrpc.TypedOf((*connection).moveQueued)},
		"portal.queue.send":          {Handle: jsonrpc.TypedOf((*connection).sendQueued)},
		"portal.directory.complete":  {Handle: jsonrpc.TypedOf((*connection).completeDirectory)},
		"portal.directory.describe":  {Handle: jsonrpc.TypedOf((*connection).describeDirectory)},
		"portal.file.read":           {Handle: jsonrpc.TypedOf((*connection).readFile)},
		"portal.files.complete":      {Handle: jsonrpc.TypedOf((*connection).completeFile)},
		"portal.files.find":          {Handle: jsonrpc.TypedOf((*connection).findViewable)},
		"portal.files.missing":       {Handle: jsonrpc.TypedOf((*connection).missingFiles)},
		"portal.status":              {Handle: jsonrpc.TypedOf((*connection).status)},
		"portal.markdown":            {Handle: jsonrpc.TypedOf((*connection).markdown)},

		"portal.commit.propose": {Handle: jsonrpc.TypedOf((*connection).proposeCommit)},
	}
}

func (n *connection) host() *copilot.Host { return n.api.options.Host }

type oneSession struct {
	SessionID string `json:"session_id"`
}

// find returns the session with an id from params.
func (a *API) find(ctx context.Context, id string) (*copilot.Session, error) {
	if err := checkSessionID(id); err != nil {
		return nil, err
	}
	return a.options.Host.Session(ctx, id)
}

// session finds the session that params name.
func (a *API) session(ctx context.Context, r *jsonrpc.Request) (*copilot.Session, error) {
	var p oneSession
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	return a.find(ctx, p.SessionID)
}

func checkSessionID(id string) error {
	if id == "" {
		return jsonrpc.InvalidParams(`"session_id" is missing`)
	}
	return nil
}
