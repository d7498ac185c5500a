package gallery

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Compare gives the difference of the code of two versions as a unified diff, "" if there is none. Error: kind [copilot.NotFound].
func (h *Host) Compare(ctx context.Context, id string, from, to int) (string, error) {
	_, before, err := h.Source(ctx, id, from)
	if err != nil {
		return "", err
	}
	_, after, err := h.Source(ctx, id, to)
	if err != nil {
		return "", err
	}
	return unified(fmt.Sprintf("version %d", from), fmt.Sprintf("version %d", to), before, after), nil
}

// near is how many equal lines are shown before and behind what differs.
const near = 3

// edit is a line of both texts (' '), of the first ('-') or of the second ('+').
type edit struct {
	sign byte
	text string
}

// unified is the difference of two texts in the form of diff -u.
func unified(nameA, nameB, a, b string) string {
	edits := compare(lines(a), lines(b))
	var out strings.Builder
	lineA, lineB := 1, 1
	for at := 0; at < len(edits); {
		begin := at
		for at < len(edits) && edits[at].sign == ' ' {
			at++
		}
		if at == len(edits) {
			break
		}
		skipped := max(begin, at-near)
		lineA, lineB = lineA+skipped-begin, lineB+skipped-begin
		end := hunkEnd(edits, at)
		if out.Len() == 0 {
			fmt.Fprintf(&out, "--- %s\n+++ %s\n", nameA, nameB)
		}
		ofA, ofB := hunk(&out, edits[skipped:end], lineA, lineB)
		lineA, lineB, at = lineA+ofA, lineB+ofB, end
	}
	return out.String()
}

// hunkEnd is where what belongs together ends: behind some equal lines, of which too few for a gap are shown.
func hunkEnd(edits []edit, at int) int {
	last := at
	for ; at < len(edits) && at-last <= 2*near; at++ {
		if edits[at].sign != ' ' {
			last = at
		}
	}
	return min(last+near+1, len(edits))
}

func hunk(out *strings.Builder, edits []edit, lineA, lineB int) (ofA, ofB int) {
	for _, e := range edits {
		if e.sign != '+' {
			ofA++
		}
		if e.sign != '-' {
			ofB++
		}
	}
	fmt.Fprintf(out, "@@ -%d,%d +%d,%d @@\n", lineA, ofA, lineB, ofB)
	for _, e := range edits {
		fmt.Fprintf(out, "%c%s\n", e.sign, e.text)
	}
	return ofA, ofB
}

func lines(text string) []string {
	if text = strings.TrimSuffix(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// compare finds what has to be taken out of a, and put in, to make b of it.
func compare(a, b []string) (edits []edit) {
	same := func(list []string) {
		for _, text := range list {
			edits = append(edits, edit{' ', text})
		}
	}
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	same(a[:head])
	edits = append(edits, middle(a[head:len(a)-tail], b[head:len(b)-tail])...)
	same(a[len(a)-tail:])
	return edits
}

// mostSteps bounds the work of middle, which grows with the square of what differs.
const mostSteps = 1500

// middle is the algorithm of Myers: the shortest way through the grid of both texts. If that is long, all is taken to be different.
func middle(a, b []string) (edits []edit) {
	trace, found := search(a, b)
	if !found {
		return apart(a, b)
	}
	x, y := len(a), len(b)
	for d := len(trace) - 1; d >= 0; d-- {
		fromX, fromY := 0, 0
		if d > 0 {
			from := trace[d].from(x-y, d)
			fromX = trace[d].reach(from)
			fromY = fromX - from
		}
		for x > fromX && y > fromY {
			x, y = x-1, y-1
			edits = append(edits, edit{' ', a[x]})
		}
		switch {
		case d == 0:
		case x == fromX:
			y--
			edits = append(edits, edit{'+', b[y]})
		default:
			x--
			edits = append(edits, edit{'-', a[x]})
		}
	}
	slices.Reverse(edits)
	return edits
}

// apart are two texts that have nothing in common.
func apart(a, b []string) (edits []edit) {
	for _, text := range a {
		edits = append(edits, edit{'-', text})
	}
	for _, text := range b {
		edits = append(edits, edit{'+', text})
	}
	return edits
}

// front is how far each diagonal had come before a step, from -1 below the lowest that the step comes to.
type front []int

// reach is how far a diagonal had come; -1 if nobody was there.
func (f front) reach(k int) int {
	at := k + len(f)/2
	if at < 0 || at >= len(f) {
		return -1
	}
	return f[at]
}

// from is the diagonal that step d comes from to one.
func (f front) from(k, d int) int {
	if k == -d || k != d && f.reach(k-1) < f.reach(k+1) {
		return k + 1
	}
	return k - 1
}

// search goes step by step until both texts are at their end.
func search(a, b []string) (trace []front, found bool) {
	now := front{-1, 0, 0} // as if it had come from diagonal 1
	for d := 0; d <= min(len(a)+len(b), mostSteps); d++ {
		trace = append(trace, now)
		next := make(front, 2*d+5)
		for k := range next {
			next[k] = now.reach(k - len(next)/2)
		}
		for k := -d; k <= d; k += 2 {
			x := now.step(k, d, a, b)
			if next[k+len(next)/2] = x; x >= len(a) && x-k >= len(b) {
				return trace, true
			}
		}
		now = next
	}
	return nil, false
}

// step is how far a diagonal comes with step d.
func (f front) step(k, d int, a, b []string) int {
	from := f.from(k, d)
	x := f.reach(from)
	if from < k {
		x++
	}
	for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
		x++
	}
	return x
}
