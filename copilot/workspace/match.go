package workspace

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// file is a file that can be found.
type file struct {
	path        string
	lower, name string // path and its last element, in lower case
	hidden      bool
}

func newFile(p string) file {
	lower := strings.ToLower(p)
	return file{p, lower, path.Base(lower), isHiddenPath(p)}
}

// match rates how well a file matches.
type match struct {
	file
	class int // how the letters occur in the path, best first
	span  int // from the first letter to the last
}

// best returns the paths of the files that contain the letters of a query in order, best matches first.
func best(files []file, query string) []string {
	query = strings.ToLower(query)
	var found []match
	for _, f := range files {
		if m, ok := f.match(query); ok {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b match) int {
		return cmp.Or(
			later(a.hidden, b.hidden),
			cmp.Compare(a.class, b.class),
			cmp.Compare(a.span, b.span),
			cmp.Compare(strings.Count(a.path, "/"), strings.Count(b.path, "/")),
			cmp.Compare(len(a.path), len(b.path)),
			strings.Compare(a.path, b.path),
		)
	})
	paths := make([]string, 0, len(found))
	for _, m := range found {
		paths = append(paths, m.path)
	}
	return paths
}

// match rates a file. A file whose name begins with the query is best.
func (f file) match(query string) (m match, ok bool) {
	m = match{file: f, span: len(query)}
	switch {
	case strings.HasPrefix(f.name, query):
		m.class = 0
	case strings.Contains(f.name, query):
		m.class = 1
	case strings.Contains(f.lower, query):
		m.class = 2
	default:
		m.class = 3
		if m.span, ok = span(f.name, query); !ok {
			m.class = 4
			m.span, ok = span(f.lower, query)
		}
		return m, ok
	}
	return m, true
}

// span returns how far apart the letters of a query are in a text, if the text contains them in order.
func span(text, query string) (n int, ok bool) {
	end := 0
	for _, r := range query {
		letter := string(r)
		i := strings.Index(text[end:], letter)
		if i < 0 {
			return 0, false
		}
		end += i + len(letter)
	}
	begin := end
	letters := []rune(query)
	for _, r := range slices.Backward(letters) {
		begin = strings.LastIndex(text[:begin], string(r))
	}
	return end - begin, true
}
