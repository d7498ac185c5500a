package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/share"
	"github.com/copilot-portal/portal/handlers/page"
	"github.com/copilot-portal/portal/handlers/socket"
	"github.com/copilot-portal/portal/handlers/ui"
	"github.com/copilot-portal/portal/jobs"
	"github.com/copilot-portal/portal/jobs/operation"
	"github.com/copilot-portal/portal/jobs/studio"
	"github.com/copilot-portal/portal/jobs/studio/gallery"
)

// portalCore is a portal without its listeners and dialects: agents, sessions, jobs and their storage.
type portalCore struct {
	config  Config
	version string
	started time.Time
	log     *slog.Logger
	drivers drivers
	storage storage
	host    *copilot.Host
	shares  *share.Shares
	studio  *studio.Host
	gallery *gallery.Host // must be closed before host
	port    func() int    // returns the open port; nil if there is none
	demo    demoModel
	book    jobBook
	jobs    *jobs.Host      // must be closed before host
	work    *operation.Host // must be closed before host
}

// newCore opens the data directory and creates the hosts.
func newCore(ctx context.Context, c Config, version string, log *slog.Logger) *portalCore {
	k := &portalCore{config: c, version: version, started: time.Now(), log: log}
	k.drivers = newServingDrivers(c, &k.demo, version, log)
	k.storage = openStorage(ctx, c, log)
	k.host = newHost(c, k.drivers, k.storage, log)
	if k.storage.cluster != nil {
		k.storage.cluster.start(ctx, k.host, c)
	}
	k.shares = share.New(k.host, k.storage.store)
	k.openJobs()
	k.work = newOperations(k)
	k.studio = newStudio(c, k.host)
	k.gallery = gallery.New(gallery.Options{Studio: k.studio, Store: k.storage.store, Port: k.ownPort, Log: log})
	return k
}

// ownPort returns the open port, or 0 if there is none.
func (k *portalCore) ownPort() int {
	if k.port == nil {
		return 0
	}
	return k.port()
}

// newUI returns the dialect of terminal and desktop UIs, with the methods of the page;
// sockets may be nil.
func (k *portalCore) newUI(sockets *socket.Server) *ui.API {
	own := page.New(page.Options{Host: k.host, Shares: k.shares, BasePath: k.config.BasePath, Jobs: k.jobs, Gallery: k.gallery, Version: k.version, About: k.about(), Log: k.log})
	return ui.New(ui.Options{
		Host: k.host, WorkDir: workDir(), Headless: k.config.Permissions.Headless,
		Version: k.version, Sockets: sockets, Extra: own.Methods, Admit: admitLinked(linkedUI()), Log: k.log,
	})
}

// closeGently closes operations, jobs, interfaces and sessions, even if ctx is done.
func (k *portalCore) closeGently(ctx context.Context) {
	within(ctx, stopWork, k.closeWork)
	within(ctx, stopGently, k.host.Close)
}

// closeWork ends the operations, jobs and studio requests that use sessions.
func (k *portalCore) closeWork(ctx context.Context) {
	var work sync.WaitGroup
	work.Go(func() { k.work.Close(ctx) })
	work.Go(func() { k.jobs.Close(ctx) })
	work.Go(func() { k.gallery.Close(ctx) })
	work.Wait()
}

// close releases the storage and the driver. The caller must close the host first.
func (k *portalCore) close() {
	k.storage.close(k.log)
	k.demo.close()
	k.drivers.remove()
}
