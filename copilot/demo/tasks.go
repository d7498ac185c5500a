package demo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// How much of the document is repeated in one place of an analysis, in characters.
const (
	longestName = 40
	longestText = 500
)

// A task is one of a breakdown.
type task struct {
	name  string // T3, or Task 3
	key   string // its number without zeros before it
	title string
	text  string // all that is said about it
	needs []int  // the tasks that it depends on, by their place
	lacks []string
}

// tasksIn are the headings that are named as tasks; where there are none, the outermost list items; else the headings below the first level.
func tasksIn(found []passage) []task {
	named := regexp.MustCompile(`(?i)^(?:task\s+#?\d+|T\d+|\d+[.)])`)
	outermost := indentation(found)
	for _, begins := range []func(passage) bool{
		func(p passage) bool { return p.kind == heading && named.MatchString(p.text) },
		func(p passage) bool { return p.kind == item && p.level <= outermost+1 },
		func(p passage) bool { return p.kind == heading && p.level > 1 },
	} {
		if tasks := gather(found, begins); len(tasks) > 0 {
			connect(tasks)
			return tasks
		}
	}
	return nil
}

// indentation is how far the outermost list items are indented.
func indentation(found []passage) int {
	least := -1
	for _, p := range found {
		if p.kind == item && (least < 0 || p.level < least) {
			least = p.level
		}
	}
	return least
}

// gather makes a task of each passage that begins one. What follows belongs to it, up to the next heading.
func gather(found []passage, begins func(passage) bool) []task {
	var tasks []task
	within := false
	for _, p := range found {
		switch {
		case begins(p):
			tasks = append(tasks, newTask(p, len(tasks)+1))
			within = true
		case p.kind == heading:
			within = false
		case within:
			tasks[len(tasks)-1].text += "\n" + p.text
		}
	}
	return tasks
}

// newTask reads the number of a task from its text, from the list, or from its place.
func newTask(p passage, place int) task {
	m := regexp.MustCompile(`(?i)^(?:(T)|task\s+#?)?(\d+)\s*[.:)\-–]*\s*(.*)$`).FindStringSubmatch(p.text)
	t := task{title: p.text, text: p.text, key: fmt.Sprint(place)}
	switch {
	case m != nil && (m[1] != "" || p.kind == heading || !strings.HasPrefix(p.text, m[2])):
		t.key, t.title = strings.TrimLeft(m[2], "0"), m[3]
		t.name = strings.ToUpper(m[1]) + m[2]
	case p.number != "":
		t.key = p.number
	}
	if t.name == "" || t.name[0] != 'T' {
		t.name = "Task " + t.key
	}
	t.name = shorten(t.name, longestName)
	t.title = shorten(t.title, longestHeading)
	return t
}

// connect finds out what the tasks depend on.
func connect(tasks []task) {
	needs := regexp.MustCompile(`(?i)\b(?:depends? on|dependencies|dependency|requires|blocked by)\b:?\s*([^.;()\n]+)`)
	number := regexp.MustCompile(`\b[Tt]?(\d+)\b`)
	for i := range tasks {
		for _, m := range needs.FindAllStringSubmatch(tasks[i].text, -1) {
			for _, n := range number.FindAllStringSubmatch(m[1], -1) {
				tasks[i].need(tasks, n[0], strings.TrimLeft(n[1], "0"))
			}
			for j, other := range tasks {
				if len(other.title) > 3 && strings.Contains(strings.ToLower(m[1]), strings.ToLower(other.title)) {
					tasks[i].depend(j)
				}
			}
		}
	}
}

func (t *task) need(tasks []task, name, key string) {
	j := slices.IndexFunc(tasks, func(other task) bool { return other.key == key })
	if j < 0 {
		t.lacks = append(t.lacks, name)
		return
	}
	t.depend(j)
}

func (t *task) depend(j int) {
	if !slices.Contains(t.needs, j) {
		t.needs = append(t.needs, j)
	}
}

// estimated says whether the text has a time, points or a size.
func (t *task) estimated() bool {
	return regexp.MustCompile(`(?i)\b\d+(?:\.\d+)?\s*(?:h|hours?|d|days?|weeks?|points?|pts|sp)\b|[(\[](?:XS|S|M|L|XL)[)\]]|` +
		`\b(?:size|estimate|effort)\s*:\s*\S`).MatchString(t.text)
}

// circles follows the dependencies from each task. Each circle is found once, as a chain that ends where it begins.
func circles(tasks []task) []string {
	w := walk{tasks: tasks, state: make([]int, len(tasks))}
	for i := range tasks {
		w.from(i)
	}
	return w.found
}

// A walk goes from task to task: 0 is a task where it never was, 1 one that it is on the way from, 2 one that is done.
type walk struct {
	tasks []task
	state []int
	way   []int
	found []string
}

func (w *walk) from(i int) {
	if w.state[i] == 1 {
		var chain []string
		for _, j := range w.way[slices.Index(w.way, i):] {
			chain = append(chain, w.tasks[j].name)
		}
		w.found = append(w.found, shorten(strings.Join(append(chain, w.tasks[i].name), " → "), longestText))
	}
	if w.state[i] != 0 {
		return
	}
	w.state[i] = 1
	w.way = append(w.way, i)
	for _, j := range w.tasks[i].needs {
		w.from(j)
	}
	w.way = w.way[:len(w.way)-1]
	w.state[i] = 2
}
