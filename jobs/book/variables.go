package book

import (
	"math"
	"slices"
	"strings"
)

// maxExpanded is the maximum size of a prompt after expansion, in bytes. Each line of variables can double
// the size.
const maxExpanded = 1 << 20

func (l *loader) variables(s located) {
	entries := s.entries()
	for _, p := range entries {
		l.book.Variables[p.key] = nil
		switch {
		case nameLength(p.key) != len(p.key) || p.key == "":
			s.key(p).faultAt(p.line, "is not the name of a variable: use letters, and a letter after each -")
		case atRunTime(p.key):
			s.key(p).faultAt(p.line, "gets its value at run time, not from the book")
		}
	}
	for _, p := range entries {
		l.book.Variables[p.key] = l.lines(s.key(p))
	}
	l.findCycles(s, entries)
	for _, p := range entries {
		if l.size([]string{"$" + p.key}) > maxExpanded {
			s.key(p).fault("is longer than %d bytes after expanding the variables in it", maxExpanded)
		}
	}
}

// findCycles reports all cycles of variables.
func (l *loader) findCycles(s located, entries []part) {
	walk := &variableWalk{variables: l.book.Variables, done: map[string]bool{}, on: map[string]bool{}}
	at := map[string]part{}
	for _, p := range entries {
		at[p.key] = p
		walk.visit(p.key)
	}
	for _, cycle := range walk.cycles {
		s.key(at[cycle[0]]).fault("refers to itself: $%s", strings.Join(cycle, " uses $"))
	}
}

// variableWalk visits each variable once, depth first.
type variableWalk struct {
	variables map[string][]string
	done, on  map[string]bool // on: variables on the current path
	path      []string
	cycles    [][]string
}

func (w *variableWalk) visit(name string) {
	if w.on[name] {
		w.cycles = append(w.cycles, append(slices.Clone(w.path[slices.Index(w.path, name):]), name))
		return
	}
	if w.done[name] {
		return
	}
	w.done[name], w.on[name], w.path = true, true, append(w.path, name)
	for _, line := range w.variables[name] {
		for used := range names(line) {
			w.visit(used)
		}
	}
	w.on[name], w.path = false, w.path[:len(w.path)-1]
}

// size is the length of lines with the book's variables expanded, at most that of an int32. It stops at cycles.
func (l *loader) size(lines []string) int {
	total := 0
	for _, line := range lines {
		total += len(line) + 1
		for name := range names(line) {
			if _, known := l.sizes[name]; !known {
				l.sizes[name] = 0
				l.sizes[name] = l.size(l.book.Variables[name])
			}
			total = min(total+l.sizes[name], math.MaxInt32)
		}
	}
	return total
}

// mentions reports whether a text occurs in lines or in the variables that they use, directly or not.
func (b *Book) mentions(lines []string, text string, seen map[string]bool) bool {
	for _, line := range lines {
		if strings.Contains(line, text) {
			return true
		}
		for name := range names(line) {
			if !seen[name] {
				seen[name] = true
				if b.mentions(b.Variables[name], text, seen) {
					return true
				}
			}
		}
	}
	return false
}
