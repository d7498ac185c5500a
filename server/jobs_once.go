package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/jobs"
	"github.com/copilot-portal/portal/jobs/book"
)

// FindBook reads the effective job book of a directory and returns it with its path, which is "" for the
// built-in book.
func FindBook(c Config, dir string) (b *book.Book, file string, err error) {
	found := findBook(c.Jobs.Book, dir)
	return found.Book, found.file, found.fault
}

// WithJobs calls do with the jobs of the data directory and the effective book of dir. Jobs started by do are
// cancelled when do returns. WithJobs starts an agent process if one is needed, and stops it.
func WithJobs(ctx context.Context, c Config, dir string, log *slog.Logger, do func(*jobs.Host) error) error {
	if err := c.CheckDataDir(); err != nil {
		return err
	}
	return withJobs(ctx, c, openStorage(ctx, c, log), dir, log, do)
}

// WithStoredJobs is like WithJobs, for jobs that are stored already, with the book of the working directory. It fails if the data
// directory cannot be used, and does not create a missing one.
func WithStoredJobs(ctx context.Context, c Config, log *slog.Logger, do func(*jobs.Host) error) error {
	if err := c.CheckDataDir(); err != nil {
		return err
	}
	if _, err := os.Stat(c.DataDir); errors.Is(err, fs.ErrNotExist) {
		c.Ephemeral = true
	}
	kept, err := openDataDir(ctx, c, log)
	if err != nil {
		return fmt.Errorf("cannot read the jobs: %w", err)
	}
	return withJobs(ctx, c, kept, workDir(), log, func(all *jobs.Host) error {
		if err := all.RecoverOnce(ctx); err != nil && ctx.Err() == nil {
			log.Warn("jobs of stopped portals may be shown as running", "err", err)
		}
		return do(all)
	})
}

// withJobs calls do with the jobs of a storage, which it closes.
func withJobs(ctx context.Context, c Config, kept storage, dir string, log *slog.Logger, do func(*jobs.Host) error) error {
	defer kept.close(log)
	b := findBook(c.Jobs.Book, dir)
	unattended := func(o *jobs.Options) { o.Unattended = true } // no other process can answer questions of these sessions
	return runOnce(ctx, c, kept, log, func(h *copilot.Host) error {
		all := newJobs(c, h, kept, b.Book, log, unattended)
		defer within(ctx, stopGently, all.Close)
		return do(all)
	})
}

// FindJob returns the job with the id, or with the only id that has the given prefix.
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
	id, err := onlyID(ids, "job", beginning, "portal jobs status")
	if err != nil {
		return nil, err
	}
	return all.Job(ctx, id)
}
