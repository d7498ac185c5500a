// Package changes says what the runs of a session changed in its directory, from the checkpoints of their starts and ends, and proposes and
// makes commits and pull requests of it.
package changes

import (
	"context"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/checkpoint"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/git"
)

// Names of checkpoints: each is followed by the id of a run.
const (
	StartOf = "start-"
	EndOf   = "end-"
)

// Changes are the changes of files that the runs of a session made.
type Changes struct {
	Runs      []Run                  // that changed a file, or work; oldest first
	Files     []File                 // by path; at most 2,000
	More      bool                   // there are more
	Reason    string                 // why there are no checkpoints, and what to do; then everything else is empty
	InGit     bool                   // the directory is in a git repository; see [git.Project]
	Uncovered []checkpoint.Uncovered // files that checkpoints do not contain; at most 100
	Undo      *checkpoint.Restored   // what can be taken back; nil if there is nothing
}

// Run summarizes the changes of one run.
type Run struct {
	Run            string
	Started, Ended time.Time // Ended is zero if that is unknown
	Working        bool
	Files          int
	Added, Removed int // lines
}

// File is the change of one file.
type File struct {
	checkpoint.Change

	State checkpoint.State
	Also  bool // something else changed the file, too, between runs
}

// Limits of [Changes].
const (
	maxFiles      = 2000
	maxNotCovered = 100
)

// Source has the checkpoints of a session's runs.
type Source struct {
	Store   *checkpoint.Store
	Session string
	Working func() string // returns the id of the run that works, or ""
}

// runSpan is a run between its checkpoints.
type runSpan struct {
	checkpoint.Span

	run     string
	ended   time.Time
	working bool
}

// view reads the session's checkpoints.
func (o Source) view(ctx context.Context, read func(v *checkpoint.View, spans []runSpan, list []checkpoint.Checkpoint) error) error {
	return o.Store.View(ctx, func(v *checkpoint.View) error {
		list, err := v.Checkpoints(ctx, o.Session)
		if err != nil {
			return err
		}
		return read(v, spansOf(list, o.Working()), list)
	})
}

// spansOf returns the runs that have a checkpoint of their start, oldest first. A run without one of its end, because the portal
// was killed, ends with the start of the next one.
func spansOf(list []checkpoint.Checkpoint, working string) []runSpan {
	ends := map[string]checkpoint.Checkpoint{}
	for _, c := range list {
		if run, ok := strings.CutPrefix(c.Name, EndOf); ok {
			ends[run] = c
		}
	}
	var spans []runSpan
	for _, c := range list {
		run, ok := strings.CutPrefix(c.Name, StartOf)
		if !ok {
			continue
		}
		if i := len(spans) - 1; i >= 0 && spans[i].ended.IsZero() {
			spans[i].To = c
		}
		r := runSpan{run: run, working: run == working}
		r.From = c
		if end, ok := ends[run]; ok && !r.working {
			r.To, r.ended = end, end.Time
		}
		spans = append(spans, r)
	}
	return spans
}

// selectSpan returns the span of a run, or for "" that of all runs together.
func selectSpan(ctx context.Context, v *checkpoint.View, spans []runSpan, run string) (one checkpoint.Span, also map[string]bool, err error) {
	var all []checkpoint.Span
	for _, r := range spans {
		if r.run == run {
			return r.Span, nil, nil
		}
		all = append(all, r.Span)
	}
	if run != "" {
		return one, nil, fault.Errorf(fault.NotFound, "%w: there is no checkpoint of it", fault.ErrRunNotFound)
	}
	return v.Join(ctx, all)
}

// Span returns what is between the start and the end of a run, or for "" of all runs together. Errors: [fault.ErrRunNotFound].
func (o Source) Span(ctx context.Context, run string) (one checkpoint.Span, err error) {
	err = o.view(ctx, func(v *checkpoint.View, spans []runSpan, _ []checkpoint.Checkpoint) (err error) {
		one, _, err = selectSpan(ctx, v, spans, run)
		return err
	})
	return one, err
}

// Changes returns what a run changed, or for "" what all runs of the session changed. Errors: [fault.ErrRunNotFound].
func (o Source) Changes(ctx context.Context, run string) (c Changes, err error) {
	_, c.InGit = git.Project(o.Store.Directory())
	err = o.view(ctx, func(v *checkpoint.View, spans []runSpan, list []checkpoint.Checkpoint) (err error) {
		c.Undo = checkpoint.Undoable(list)
		if c.Runs, err = summaries(ctx, v, spans); err != nil {
			return err
		}
		one, also, err := selectSpan(ctx, v, spans, run)
		if err != nil {
			return err
		}
		if c.Files, c.More, err = fileChanges(ctx, v, one, also); err != nil {
			return err
		}
		c.Uncovered, err = v.Uncovered(ctx)
		c.Uncovered = c.Uncovered[:min(maxNotCovered, len(c.Uncovered))]
		return err
	})
	return c, err
}

// summaries returns the runs that changed a file, or work.
func summaries(ctx context.Context, v *checkpoint.View, spans []runSpan) (runs []Run, err error) {
	for _, r := range spans {
		changes, err := v.Changes(ctx, r.Span)
		if err != nil {
			return nil, err
		}
		sum := Run{Run: r.run, Started: r.From.Time, Ended: r.ended, Working: r.working, Files: len(changes)}
		for _, c := range changes {
			sum.Added += c.Added
			sum.Removed += c.Removed
		}
		if sum.Working || sum.Files > 0 {
			runs = append(runs, sum)
		}
	}
	return runs, nil
}

func fileChanges(ctx context.Context, v *checkpoint.View, span checkpoint.Span, also map[string]bool) (files []File, more bool, err error) {
	changes, err := v.Changes(ctx, span)
	if err != nil {
		return nil, false, err
	}
	if more = len(changes) > maxFiles; more {
		changes = changes[:maxFiles]
	}
	states, err := v.States(ctx, span, changes)
	for i, c := range changes {
		if err == nil {
			files = append(files, File{c, states[i], also[c.Path] || c.OldPath != "" && also[c.OldPath]})
		}
	}
	return files, more, err
}

// Diff returns the difference of a file that a run changed, or for "" all runs. Credentials are masked. path is that of its [File]. Errors: those of
// [Source.Changes], kind [fault.NotFound] if it did not change.
func (o Source) Diff(ctx context.Context, run, path string) (d checkpoint.Diff, err error) {
	err = o.view(ctx, func(v *checkpoint.View, spans []runSpan, _ []checkpoint.Checkpoint) error {
		one, _, err := selectSpan(ctx, v, spans, run)
		if err == nil {
			d, err = v.Diff(ctx, one, path)
		}
		return err
	})
	maskDiff(&d)
	return d, err
}
