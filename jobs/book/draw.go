package book

import "strconv"

// Chart returns the flow chart of a job. Its first node is the start. The chart of an unknown job is empty.
func (b *Book) Chart(job string) []Node {
	w := b.Jobs[job].Work
	if w == nil {
		return nil
	}
	var d chartBuilder
	d.work(w)
	return d.nodes
}

// chartBuilder draws each work as nodes with one entry and one exit. An arrow that is still missing its
// target is an open end.
type chartBuilder struct{ nodes []Node }

// node adds a node and returns its id.
func (d *chartBuilder) node(kind NodeKind, work int, label string) int {
	id := len(d.nodes) + 1
	d.nodes = append(d.nodes, Node{ID: id, Hint: Hint{kind, work}, Label: label, Arrows: []Arrow{}})
	return id
}

func (d *chartBuilder) arrow(from int, a Arrow) {
	d.nodes[from-1].Arrows = append(d.nodes[from-1].Arrows, a)
}

// work draws a work and returns its first and last node.
func (d *chartBuilder) work(w *Work) (first, last int) {
	switch w.Kind {
	case Ref:
		first = d.node(TaskNode, w.ID, w.Task)
		return first, first
	case Seq:
		return d.seq(w)
	case Par:
		return d.par(w)
	case Loop:
		return d.loop(w)
	case Alt:
		return d.alt(w)
	}
	panic("a work without a kind")
}

func (d *chartBuilder) seq(w *Work) (first, last int) {
	for i, part := range w.Works {
		begin, end := d.work(part)
		if i == 0 {
			first = begin
		} else {
			d.arrow(last, Arrow{To: begin})
		}
		last = end
	}
	return first, last
}

func (d *chartBuilder) par(w *Work) (first, last int) {
	first = d.node(ParBegin, 0, "")
	var ends []int
	for _, part := range w.Works {
		begin, end := d.work(part)
		d.arrow(first, Arrow{To: begin})
		ends = append(ends, end)
	}
	last = d.node(ParEnd, 0, "")
	for _, end := range ends {
		d.arrow(end, Arrow{To: last})
	}
	return first, last
}

// condition draws a work whose last node decides. A single task becomes one node; any other work is drawn
// between two nodes.
func (d *chartBuilder) condition(w *Work) (first, last int) {
	if w.Kind == Ref {
		first = d.node(CondNode, w.ID, w.Task)
		return first, first
	}
	first = d.node(CondBegin, 0, "")
	begin, end := d.work(w)
	d.arrow(first, Arrow{To: begin})
	last = d.node(CondEnd, 0, "")
	d.arrow(end, Arrow{To: last})
	return first, last
}

// loop draws the condition before, the body, the condition after, and the arrow back. Without conditions,
// both arrows start at the end of the body.
func (d *chartBuilder) loop(w *Work) (first, last int) {
	var pre, post int
	if w.Pre != nil {
		first, pre = d.condition(w.Pre)
	}
	begin, end := d.work(w.Body)
	if w.Pre == nil {
		first = begin
	} else {
		d.arrow(pre, Arrow{To: begin, Label: strconv.FormatBool(w.PreWanted)})
	}
	if w.Post != nil {
		var ask int
		ask, post = d.condition(w.Post)
		d.arrow(end, Arrow{To: ask})
	}
	last = d.node(LoopEnd, 0, "")
	if w.Pre != nil {
		d.arrow(pre, Arrow{To: last, Label: strconv.FormatBool(!w.PreWanted)})
	}
	if w.Post != nil {
		d.arrow(post, Arrow{To: first, LoopBack: true, Label: strconv.FormatBool(w.PostWanted)})
		d.arrow(post, Arrow{To: last, Label: strconv.FormatBool(!w.PostWanted)})
		return first, last
	}
	d.arrow(end, Arrow{To: first, LoopBack: true})
	if w.Pre == nil {
		d.arrow(end, Arrow{To: last})
	}
	return first, last
}

func (d *chartBuilder) alt(w *Work) (first, last int) {
	first, decided := d.condition(w.Condition)
	var begins, ends [2]int
	for i, part := range []*Work{w.True, w.False} {
		if part != nil {
			begins[i], ends[i] = d.work(part)
		}
	}
	last = d.node(AltEnd, 0, "")
	for i, begin := range begins {
		if begin == 0 {
			begin = last
		} else {
			d.arrow(ends[i], Arrow{To: last})
		}
		d.arrow(decided, Arrow{To: begin, Label: strconv.FormatBool(i == 0)})
	}
	return first, last
}
