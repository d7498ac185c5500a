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
	"github.com/copilot-portal/portal/handlers/rest"
	"github.com/copilot-portal/portal/jobs"
	"github.com/copilot-portal/portal/jobs/book"
)

// Jobs are trees of tasks from a job book; see [jobs.Options].
type Jobs struct {
	Book      string        `mapstructure:"book"`      // file; "": that of the repository, else the built-in one
	Retention time.Duration `mapstructure:"retention"` // how long a job is known after its end
	Parallel  int           `mapstructure:"parallel"`  // sessions of all jobs that are at work at the same time
}

func (j *Jobs) check(fault func(format string, args ...any)) {
	if j.Retention <= 0 {
		fault("jobs.retention: %v is no time in which a job could be looked at", j.Retention)
	}
	if j.Parallel < 1 {
		fault("jobs.parallel: %d lets no job work", j.Parallel)
	}
}

// jobBook is the book that jobs are started from.
type jobBook struct {
	*book.Book // with nothing in it if there is a fault: another book must not stand in for it unnoticed

	file  string // "" for the built-in book
	fault error  // why it cannot be used
}

// findBook reads the configured book, else that of the repository that dir is in, else the built-in one.
func findBook(configured, dir string) jobBook {
	file := configured
	if file == "" {
		found, ok := book.Find(rest.RepoRoot(dir))
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

// maxBook is the largest file that is read; the book says what is too large for one.
const maxBook = 2 << 20

// ReadBook reads a job book. Faults of the book are of type [book.Faults], each with its place.
func ReadBook(file string) (*book.Book, error) {
	info, err := os.Stat(file)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxBook) {
		err = fmt.Errorf("%s is no file that could be a job book", file)
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

// clientError is fault as clients are told it, nil if there is none.
func (b jobBook) clientError() error {
	if b.fault == nil {
		return nil
	}
	return fault.Errorf(fault.Unavailable, "the job book cannot be used; when it is put right (portal jobs check), start the portal again:\n%w", b.fault)
}

// maxFaults is how many of a book's faults the log tells.
const maxFaults = 20

// log logs what is wrong with a book.
func (b jobBook) log(log *slog.Logger) {
	var faults book.Faults
	switch {
	case b.fault == nil:
		return
	case !errors.As(b.fault, &faults):
		log.Warn("no job can be started: the job book cannot be read", "book", b.file, "err", b.fault)
		return
	}
	log.Warn("no job can be started: the job book has faults, which portal jobs check tells, too", "book", b.file, "faults", len(faults))
	for _, f := range faults[:min(len(faults), maxFaults)] {
		log.Warn(f.Error())
	}
}

// jobBookHealth is how it stands with the job book, for GET /health.
type jobBookHealth struct {
	Book    string `json:"book"`  // its file, or "built-in"
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

// newJobs makes the host of jobs as configured, with changes. log may be nil.
func newJobs(c Config, sessions *copilot.Host, kept storage, b *book.Book, log *slog.Logger, with ...func(*jobs.Options)) *jobs.Host {
	d, _ := permission.ParseDecision(c.Permissions.Jobs) // check has validated it
	o := jobs.Options{
		Sessions: sessions, Book: b, Store: kept.store, Policy: permission.Everywhere(d), Directory: rest.RepoRoot(workDir()),
		Retention: c.Jobs.Retention, Parallel: c.Jobs.Parallel, Log: log,
	}
	for _, change := range with {
		change(&o)
	}
	return jobs.New(o)
}

// openJobs reads the book and makes the host of jobs.
func (k *portalCore) openJobs() {
	k.book = findBook(k.config.Jobs.Book, workDir())
	if k.config.Jobs.Book == "" {
		k.book.log(k.log) // a configured one ends the portal, which tells
	}
	k.jobs = newJobs(k.config, k.host, k.storage, k.book.Book, k.log)
}

// checkBook fails if the user has named a book that cannot be used.
func (k *portalCore) checkBook() error {
	if k.config.Jobs.Book == "" || k.book.fault == nil {
		return nil
	}
	return fmt.Errorf("the job book cannot be used:\n%w", k.book.fault)
}

// recoverWork ends what killed portals have left.
func (k *portalCore) recoverWork(left ...func(context.Context) error) func(context.Context) {
	return func(ctx context.Context) {
		every := time.NewTicker(recoverEvery)
		defer every.Stop()
		for {
			for _, end := range left {
				if err := end(ctx); err != nil && ctx.Err() == nil {
					k.log.Debug("the jobs and operations that others have left could not be looked at", "err", err) // /health says why
				}
			}
			select {
			case <-every.C:
			case <-ctx.Done():
				return
			}
		}
	}
}
