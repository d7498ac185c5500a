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
	r.GET("/config", reply(a.config))
	r.GET("/test", reply(test))
	r.GET("/stop", reply(a.stop))
	r.POST("/stop", reply(a.stop))
	r.GET("/token", reply(token))
	r.GET("/copilot/models", reply(a.models))
	r.GET("/copilot/session", reply(a.list))
	r.GET("/copilot/search", reply(a.search))
	r.DELETE("/copilot/session/:id", reply(a.remove))
	r.POST("/copilot/session/start/*model", reply(a.start))
	find := a.options.Host.Session
	r.GET("/copilot/session/:id/live", replyFor(find, a.live))
	r.GET("/copilot/session/:id/live/:token", replyFor(find, a.live))
	r.GET("/copilot/session/:id/stop", replyFor(find, stopSession))
	r.POST("/copilot/session/:id/stop", replyFor(find, stopSession))
	r.POST("/copilot/session/:id/query", replyFor(find, query))
	r.POST("/copilot/session/:id/cancel", replyFor(find, cancel))
	r.POST("/copilot/session/:id/resume", replyFor(find, resume))
	r.POST("/copilot/session/:id/answer/:request", replyFor(find, answer))
	r.GET("/copilot/session/:id/permissions", replyFor(find, permissionsOf))
	r.POST("/copilot/session/:id/revoke", replyFor(find, revoke))
	r.GET("/copilot/session/:id/export", replyFor(find, exportSession))
	r.GET("/copilot/session/:id/history", replyFor(find, history))
	r.POST("/copilot/session/:id/rename", replyFor(find, rename))
	r.POST("/copilot/session/:id/update", replyFor(find, update))
	r.POST("/copilot/session/:id/fork", reply(a.fork))
	r.POST("/copilot/session/:id/resend/:run", reply(a.resend))
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
func (a *API) config(*gin.Context) (any, error) {
	return gin.H{"repoRoot": copilot.ProjectOf(a.options.WorkDir)}, nil
}

func test(*gin.Context) (any, error) { return gin.H{"message": "Hello, world!"}, nil }

// stop answers before it ends the process.
func (a *API) stop(c *gin.Context) (any, error) {
	c.JSON(http.StatusOK, gin.H{})
	c.Writer.Flush()
	a.options.Stop()
	return written{}, nil
}

func (a *API) models(c *gin.Context) (any, error) {
	models, err := a.options.Host.Models(c.Request.Context())
	list := make([]gin.H, 0, len(models))
	for _, m := range models {
		list = append(list, gin.H{"name": m.Name, "id": m.ID, "multiplier": m.Multiplier})
	}
	return gin.H{"models": list}, err
}
