package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/jobs"
	"github.com/copilot-portal/portal/jobs/book"
)

// Jobs contains the settings of jobs; see [jobs.Options].
type Jobs struct {
	Book      string        `mapstructure:"book"`      // path; "" means that of the repository, else the built-in book
	Retention time.Duration `mapstructure:"retention"` // how long a job is kept after its end
	Parallel  int           `mapstructure:"parallel"`  // maximum number of working sessions of all jobs
}

func (j *Jobs) check(fault func(format string, args ...any)) {
	if j.Retention <= 0 {
		fault("jobs.retention: %v must be positive", j.Retention)
	}
	if j.Parallel < 1 {
		fault("jobs.parallel: %d must be positive", j.Parallel)
	}
}

// jobBook is the book that jobs are started from.
type jobBook struct {
	*book.Book // empty if there is a fault: no other book may silently replace a faulty one

	file  string // "" means the built-in book
	fault error  // why the book cannot be used
}

// findBook reads the configured book, else that of the repository that contains dir, else the built-in one.
func findBook(configured, dir string) jobBook {
	file := configured
	if file == "" {
		found, ok := book.Find(copilot.ProjectOf(dir))
		if !ok {
			return jobBook{Book: book.BuiltIn()}
		}
		file = found
	}
	b, err := ReadBook(file)
	if err != nil {
		return jobBook{Book: &book.Book{}, file: file, fault: err}
	}
	return jobBook{Book: b, file: file}
}

// maxBook is the maximum size of a file that is read, in bytes. Package book has its own, lower limit.
const maxBook = 2 << 20

// ReadBook reads a job book. Faults of its content are a [book.Faults], each with its position.
func ReadBook(file string) (*book.Book, error) {
	info, err := os.Stat(file)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxBook) {
		err = fmt.Errorf("%s is not a regular file", file)
	}
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file) //nolint:gosec // the user names it
	if err != nil {
		return nil, err
	}
	return book.Load(file, text)
}

// clientError returns the error that clients get when they start a job, or nil.
func (b jobBook) clientError() error {
	if b.fault == nil {
		return nil
	}
	return fault.Errorf(fault.Unavailable, "the job book is not valid; correct it (portal jobs check) and restart the portal:\n%w", b.fault)
}

// maxFaults is the maximum number of faults that are logged.
const maxFaults = 20

// log logs the faults of the book.
func (b jobBook) log(log *slog.Logger) {
	var faults book.Faults
	switch {
	case b.fault == nil:
		return
	case !errors.As(b.fault, &faults):
		log.Warn("no job can start: the job book cannot be read", "book", b.file, "err", b.fault)
		return
	}
	log.Warn("no job can start: the job book has faults, which portal jobs check also prints", "book", b.file, "faults", len(faults))
	for _, f := range faults[:min(len(faults), maxFaults)] {
		log.Warn(f.Error())
	}
}

// jobBookHealth is the state of the job book for GET /health.
type jobBookHealth struct {
	Book    string `json:"book"`  // path, or "built-in"
	State   string `json:"state"` // "ok" or "faulty"
	Message string `json:"message"`
}

func (b jobBook) health() jobBookHealth {
	h := jobBookHealth{Book: "built-in", State: "ok"}
	if b.file != "" {
		h.Book = b.file
	}
	if b.fault != nil {
		h.State, h.Message = "faulty", b.fault.Error()
	}
	return h
}

// newJobs creates the host of jobs as configured, with changes by with. log may be nil.
func newJobs(c Config, sessions *copilot.Host, kept storage, b *book.Book, log *slog.Logger, with ...func(*jobs.Options)) *jobs.Host {
	o := jobs.Options{
		Sessions: sessions, Book: b, Store: kept.store, Policy: permission.Everywhere(c.Permissions.Jobs), Directory: copilot.ProjectOf(workDir()),
		Retention: c.Jobs.Retention, Parallel: c.Jobs.Parallel, Log: log,
	}
	for _, change := range with {
		change(&o)
	}
	return jobs.New(o)
}

// openJobs reads the book and creates the host of jobs.
func (k *portalCore) openJobs() {
	k.book = findBook(k.config.Jobs.Book, workDir())
	k.book.log(k.log)
	k.jobs = newJobs(k.config, k.host, k.storage, k.book.Book, k.log)
}

// CheckBook returns an error if the configured job book cannot be used.
func (c *Config) CheckBook() error {
	if c.Jobs.Book == "" {
		return nil
	}
	if _, err := ReadBook(c.Jobs.Book); err != nil {
		return fmt.Errorf("the job book is not valid:\n%w", err)
	}
	return nil
}

// recoverWork returns a function that calls left regularly, until ctx is done, to finalize what killed
// portals left behind.
func (k *portalCore) recoverWork(left ...func(context.Context) error) func(context.Context) {
	return func(ctx context.Context) {
		every(ctx, recoverEvery, func() {
			for _, end := range left {
				if err := end(ctx); err != nil && ctx.Err() == nil {
					k.log.Debug("cannot recover jobs and operations of other processes", "err", err) // see /health for the cause
				}
			}
		})
	}
}
