package book

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Load parses a book in YAML or JSON; name is the name of its file. An error is of type Faults and lists all
// faults.
func Load(name string, data []byte) (*Book, error) {
	var faults Faults
	b := load(name, data, &faults)
	if len(faults) == 0 {
		b.source = Source{name, data}
		return b, nil
	}
	for i := range faults {
		faults[i].File = name
		faults[i].Path = cmp.Or(faults[i].Path, ".")
	}
	slices.SortStableFunc(faults, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
	return nil, faults
}

func load(name string, data []byte, faults *Faults) *Book {
	root, fault := read(name, bytes.TrimPrefix(data, []byte("\uFEFF")))
	if fault != nil {
		*faults = append(*faults, *fault)
		return nil
	}
	l := &loader{&Book{Variables: map[string][]string{}, Tasks: map[string]Task{}, Jobs: map[string]Job{}, Grid: []Row{}}, map[string]int{}, nil}
	l.load(located{root, "", faults})
	return l.book
}

func read(name string, data []byte) (*value, *Fault) {
	switch {
	case len(data) > maxBytes:
		return nil, &Fault{Text: fmt.Sprintf("is longer than %d bytes", maxBytes)}
	case !utf8.Valid(data):
		return nil, &Fault{Text: "is not UTF-8"}
	case isJSON(name, data):
		return readJSON(data)
	}
	return readYAML(data)
}

// loader builds a book. It reads the parts in such an order that references are already defined.
type loader struct {
	book  *Book
	sizes map[string]int // of the variables, with nested variables expanded
	ids   []claimedID    // of the works of a job
}

func (l *loader) load(s located) {
	f, ok := s.fields("models", "drivingSessionRetries", "promptVariables", "tasks", "jobs", "grid")
	if !ok {
		return
	}
	f.must("models", l.models)
	if !f.may("drivingSessionRetries", l.retries) {
		l.book.Models.Retries = []Retry{{l.book.Models.ByCategory[Driving], defaultRetries}}
	}
	f.may("promptVariables", l.variables)
	f.must("tasks", l.tasks)
	f.may("jobs", l.jobs)
	f.may("grid", l.grid)
	if jobs := f.byKey["jobs"]; len(l.book.Grid) == 0 && jobs.value != nil && len(jobs.parts) > 0 {
		r := Row{Keyword: "jobs"} // by default a button for each job, in the order of the book
		for _, p := range jobs.parts {
			r.Jobs = append(r.Jobs, &Button{Name: p.key, JobName: p.key})
		}
		l.book.Grid = append(l.book.Grid, r)
	}
}

func (l *loader) jobs(s located) {
	for _, p := range s.entries() {
		at := s.key(p)
		at.checkName(p)
		var job Job
		l.ids = nil
		f, ok := at.fields("work", "requireUserInput")
		if ok {
			f.must("work", func(s located) { job.Work = l.work(s, 1) })
		}
		if job.Work != nil {
			id := 0
			for w := range job.Work.All() {
				id++
				w.ID = id
				job.RequireUserInput = job.RequireUserInput || l.book.Tasks[w.Task].RequireUserInput
			}
			l.checkDerived(f, job)
		}
		l.book.Jobs[p.key] = job
	}
}

func (l *loader) grid(s located) {
	for _, row := range s.items() {
		f, ok := row.fields("keyword", "jobs")
		if !ok {
			continue
		}
		r := Row{Jobs: []*Button{}}
		f.must("keyword", func(s located) { r.Keyword = s.word() })
		f.must("jobs", func(s located) {
			for _, item := range s.items() {
				r.Jobs = append(r.Jobs, l.button(item))
			}
		})
		l.book.Grid = append(l.book.Grid, r)
	}
}

func (l *loader) button(s located) *Button {
	if s.shape == null {
		return nil
	}
	var b Button
	if f, ok := s.fields("name", "jobName"); ok {
		f.must("name", func(s located) { b.Name = s.word() })
		f.must("jobName", func(s located) {
			if b.JobName = s.word(); b.JobName != "" && !has(l.book.Jobs, b.JobName) {
				s.fault("%s is not a job", quote(b.JobName))
			}
		})
	}
	return &b
}

// checkName requires names of tasks and jobs to fit into a path segment and one line.
func (s located) checkName(p part) {
	const longest = 100
	switch bad := func(r rune) bool { return r == '/' || !unicode.IsPrint(r) }; {
	case s.shape == broken:
	case strings.TrimSpace(p.key) != p.key || p.key == "" || p.key == "." || p.key == "..":
		s.faultAt(p.line, "is not a name")
	case strings.ContainsFunc(p.key, bad):
		s.faultAt(p.line, `a name has no "/" and no invisible characters`)
	case utf8.RuneCountInString(p.key) > longest:
		s.faultAt(p.line, "a name must have at most %d characters", longest)
	}
}

func has[V any](m map[string]V, key string) bool {
	_, ok := m[key]
	return ok
}
