// Package rest implements the REST contract of the portal
// (spec/contracts/portal-rest.md with its notes; spec/rest.md): sessions for scripts,
// long polling, and what else the web page needs.
//
// A handler decodes, calls the domain once and encodes. One encoder (callback.go) turns events into messages. The session stores the
// position of a reader of live as a bookmark (bookmark.go), because the reader sends none
// (spec/contracts/portal-rest.md, "copilot/session/{session-id}/live").
package rest

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/jobs"
)

// Options configure the [API].
type Options struct {
	Host    *copilot.Host
	Policy  permission.Policy // for sessions started here that request none
	WorkDir string            // where the search for the repository root begins
	Stop    func()            // asks the process to stop; returns at once

	Jobs *jobs.Host
	// BookFault is why the job book cannot be used; nil if it can.
	BookFault error
}

// API serves the dialect. Its handlers may be called concurrently.
type API struct {
	options   Options
	bookmarks bookmarks // of sessions
	jobMarks  bookmarks // of jobs and tasks
	linkMarks bookmarks // of holders of links, apart from those of others
}

// New returns an API.
func New(o Options) *API {
	return &API{options: o, bookmarks: newBookmarks(o.Host), jobMarks: newBookmarks(nil), linkMarks: newBookmarks(nil)}
}

// Routes adds the paths of spec/contracts/portal-rest.md, "API", and the portal's own, below r.
func (a *API) Routes(r gin.IRoutes) {
	r.Use(noStore)
	r.GET("/config", a.config)
	r.GET("/test", test)
	r.GET("/stop", a.stop)
	r.POST("/stop", a.stop)
	r.GET("/token", token)
	r.GET("/copilot/models", a.models)
	r.GET("/copilot/session", a.list)
	r.GET("/copilot/search", a.search)
	r.DELETE("/copilot/session/:id", a.remove)
	r.POST("/copilot/session/start/*model", a.start)
	r.GET("/copilot/session/:id/live", a.live)
	r.GET("/copilot/session/:id/live/:token", a.liveToken)
	r.GET("/copilot/session/:id/stop", a.stopSession)
	r.POST("/copilot/session/:id/stop", a.stopSession)
	r.POST("/copilot/session/:id/query", a.query)
	r.POST("/copilot/session/:id/cancel", a.cancel)
	r.POST("/copilot/session/:id/resume", a.resume)
	r.POST("/copilot/session/:id/answer/:request", a.answer)
	r.GET("/copilot/session/:id/permissions", a.permissionsOf)
	r.POST("/copilot/session/:id/revoke", a.revoke)
	r.GET("/copilot/session/:id/export", a.export)
	r.GET("/copilot/session/:id/history", a.history)
	r.POST("/copilot/session/:id/rename", a.rename)
	r.POST("/copilot/session/:id/update", a.update)
	r.POST("/copilot/session/:id/fork", a.fork)
	r.POST("/copilot/session/:id/resend/:run", a.resend)
	a.taskRoutes(r)
	a.jobRoutes(r)
}

// Polls returns the routes, relative to those of [API.Routes], whose calls wait for
// events. Their duration says nothing about the portal's speed.
func Polls() []string {
	var list []string
	for _, kind := range []string{"session", "task", "job"} {
		live := "/copilot/" + kind + "/:id/live"
		list = append(list, live, live+"/:token")
	}
	return list
}

func noStore(c *gin.Context) {
	c.Header("Cache-Control", "no-store")
	c.Next()
}

// config returns the repository root above the working directory, or the
// working directory itself without a repository.
func (a *API) config(c *gin.Context) {
	c.JSON(http.StatusOK, gin.H{"repoRoot": copilot.ProjectOf(a.options.WorkDir)})
}

func test(c *gin.Context) { c.JSON(http.StatusOK, gin.H{"message": "Hello, world!"}) }

// stop answers before it ends the process.
func (a *API) stop(c *gin.Context) {
	c.JSON(http.StatusOK, gin.H{})
	c.Writer.Flush()
	a.options.Stop()
}

func (a *API) models(c *gin.Context) {
	models, err := a.options.Host.Models(c.Request.Context())
	if err != nil {
		fail(c, err)
		return
	}
	list := make([]gin.H, 0, len(models))
	for _, m := range models {
		list = append(list, gin.H{"name": m.Name, "id": m.ID, "multiplier": m.Multiplier})
	}
	c.JSON(http.StatusOK, gin.H{"models": list})
}
