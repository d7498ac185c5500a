package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/jobs"
	"github.com/copilot-portal/portal/jobs/book"
)

// FindBook reads the job book in force for a directory, and says which file it is, "" for the built-in one.
func FindBook(c Config, dir string) (b *book.Book, file string, err error) {
	found := findBook(c.Jobs.Book, dir)
	return found.Book, found.file, found.fault
}

// WithJobs does something with the jobs of the data directory and the book in force for dir. Jobs that are started meanwhile
// end with it. An agent process is started when one is needed, and stopped again.
func WithJobs(ctx context.Context, c Config, dir string, log *slog.Logger, do func(*jobs.Host) error) error {
	b := findBook(c.Jobs.Book, dir)
	unattended := func(o *jobs.Options) { o.Unattended = true } // no other process can answer what sessions of this one ask
	kept := openStorage(ctx, c, log)
	defer kept.close(log)
	return runOnce(ctx, c, kept, log, func(h *copilot.Host) error {
		all := newJobs(c, h, kept, b.Book, log, unattended)
		defer func() {
			gently, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGently)
			defer cancel()
			all.Close(gently)
		}()
		return do(all)
	})
}

// WithStoredJobs is WithJobs for looking at what there is; a data directory that is not there is not made, and has none.
func WithStoredJobs(ctx context.Context, c Config, log *slog.Logger, do func(*jobs.Host) error) error {
	if _, err := os.Stat(c.DataDir); errors.Is(err, fs.ErrNotExist) {
		c.Ephemeral = true
	}
	return WithJobs(ctx, c, workDir(), log, func(all *jobs.Host) error {
		if err := all.Recover(ctx); err != nil && ctx.Err() == nil {
			log.Warn("jobs of portals that have ended may be told as running", "err", err)
		}
		return do(all)
	})
}

// FindJob gives the job whose id is, or alone begins with, a text.
func FindJob(ctx context.Context, all *jobs.Host, beginning string) (*jobs.Job, error) {
	found, err := all.Job(ctx, beginning)
	if !errors.Is(err, jobs.ErrJobNotFound) {
		return found, err
	}
	list, err := all.Jobs(ctx, 0)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, i := range list {
		if beginning != "" && strings.HasPrefix(i.ID, beginning) {
			ids = append(ids, i.ID)
		}
	}
	switch len(ids) {
	case 0:
		return nil, fault.Errorf(fault.NotFound, "there is no job whose id begins with %q: see portal jobs status", beginning)
	case 1:
		return all.Job(ctx, ids[0])
	}
	return nil, fault.Errorf(fault.Invalid, "the ids of several jobs begin with %q: %s", beginning, strings.Join(ids[:min(len(ids), maxListed)], ", "))
}

// cancelTime is how long a portal may take to stop all sessions of a job.
const cancelTime = time.Minute

// CancelJob ends a job that the portal on the configured port is at, over its API.
func CancelJob(ctx context.Context, c Config, id string) error {
	ctx, cancel := context.WithTimeout(ctx, cancelTime)
	defer cancel()
	u := ownURL(c.Host, c.Port, c.BasePath+"/api/copilot/job/"+url.PathEscape(id)+"/stop")
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), nil)
	if err != nil {
		return err
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true}, // without a proxy
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("another process is at this job, and no portal answers on port %d (--port says another one): %w", c.Port, err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	var answer struct{ Result, Error string }
	if err := json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&answer); err != nil {
		return fmt.Errorf("what answers on port %d is no portal: %w", c.Port, err)
	}
	if answer.Result != "Closed" {
		return fmt.Errorf("the portal on port %d says: %s", c.Port, answer.Error)
	}
	return nil
}
