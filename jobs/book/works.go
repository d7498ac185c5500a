package book

// maxDepth is the maximum depth of nested works.
const maxDepth = 50

// work reads a work and the id that the book states for it.
func (l *loader) work(s located, depth int) *Work {
	w := l.workWithoutID(s, depth)
	for _, p := range s.parts {
		if p.key == workID {
			if at := s.key(p); at.hasKind(number) {
				l.ids = append(l.ids, claimedID{w, at, at.integer(1)})
			}
		}
	}
	return w
}

func (l *loader) workWithoutID(s located, depth int) *Work {
	if depth > maxDepth {
		s.fault("is nested more than %d deep", maxDepth)
		return &Work{}
	}
	switch kind := s.kind(); kind {
	case Ref:
		return l.ref(s)
	case Seq, Par:
		return l.sequenceOrParallel(s, kind, depth)
	case Loop:
		return l.loop(s, depth)
	case Alt:
		return l.alt(s, depth)
	}
	return &Work{}
}

// kind reads the kind, which determines the other fields.
func (s located) kind() (kind Kind) {
	if !s.hasKind(object) {
		return ""
	}
	f := fields{s, map[string]located{}}
	for _, p := range s.parts {
		f.byKey[p.key] = s.key(p)
	}
	f.must("kind", func(s located) {
		if !s.hasKind(text) {
			return
		}
		switch kind = Kind(s.text); kind {
		case Ref, Seq, Par, Loop, Alt:
		default:
			s.fault("%s is not a kind of work; use Ref, Seq, Par, Loop or Alt", quote(s.text))
		}
	})
	return kind
}

func (l *loader) ref(s located) *Work {
	w := &Work{Kind: Ref}
	f, _ := s.fields("kind", "taskId", "modelOverride", workID)
	f.must("taskId", func(s located) {
		if w.Task = s.word(); w.Task != "" && !has(l.book.Tasks, w.Task) {
			s.fault("%s is not a task", quote(w.Task))
		}
	})
	f.may("modelOverride", func(s located) { w.ModelOverride = l.model(s) })
	return w
}

// sequenceOrParallel reads a Seq or Par. It flattens works of the same kind, because nesting them means
// nothing.
func (l *loader) sequenceOrParallel(s located, kind Kind, depth int) *Work {
	w := &Work{Kind: kind}
	f, _ := s.fields("kind", "works", workID)
	f.must("works", func(s located) {
		for _, item := range s.nonEmptyList() {
			part := l.work(item, depth+1)
			if part.Kind == kind {
				w.Works = append(w.Works, part.Works...)
				continue
			}
			w.Works = append(w.Works, part)
		}
	})
	return w
}

func (l *loader) loop(s located, depth int) *Work {
	w := &Work{Kind: Loop, MaxIterations: DefaultIterations}
	f, _ := s.fields("kind", "preCondition", "body", "postCondition", "maxIterations", workID)
	f.may("preCondition", func(s located) { w.PreWanted, w.Pre = l.conditionPair(s, depth+1) })
	f.must("body", func(s located) { w.Body = l.work(s, depth+1) })
	f.may("postCondition", func(s located) { w.PostWanted, w.Post = l.conditionPair(s, depth+1) })
	f.may("maxIterations", func(s located) { w.MaxIterations = s.integer(1) })
	return w
}

// conditionPair reads [bool, work].
func (l *loader) conditionPair(s located, depth int) (bool, *Work) {
	items := s.items()
	if len(items) != 2 {
		if s.shape == list {
			s.fault("must be a list of two values: true or false, and a work")
		}
		return false, nil
	}
	return items[0].boolean(), l.condition(items[1], depth)
}

func (l *loader) alt(s located, depth int) *Work {
	w := &Work{Kind: Alt}
	f, _ := s.fields("kind", "condition", "trueWork", "falseWork", workID)
	f.must("condition", func(s located) { w.Condition = l.condition(s, depth+1) })
	onTrue := f.may("trueWork", func(s located) { w.True = l.work(s, depth+1) })
	onFalse := f.may("falseWork", func(s located) { w.False = l.work(s, depth+1) })
	if !onTrue && !onFalse {
		s.fault("must have trueWork or falseWork")
	}
	return w
}

// condition reads a work used as a condition. A condition holds if it succeeds, so it must be able to fail:
// one that always succeeds is most likely written by someone who expects the text of the answer to decide.
func (l *loader) condition(s located, depth int) *Work {
	w := l.work(s, depth)
	for part := range w.All() {
		if part.Kind == "" || part.Kind == Ref && l.canFail(part.Task) {
			return w
		}
	}
	s.fault("always holds: no task in it has criteria or availability, or names %s", PrerequisiteFailed)
	return w
}

func (l *loader) canFail(name string) bool {
	t, ok := l.book.Tasks[name]
	return !ok || t.Availability != nil || t.Criteria != nil || l.book.mentions(t.Prompt, PrerequisiteFailed, map[string]bool{})
}

// workID is the key under which a book may state the id of a work. Ids follow from the positions of works,
// and requireUserInput from the tasks. If a book states them, they must match; they have no effect.
const workID = "workIdInJob"

// claimedID is the id of a work as stated in the book.
type claimedID struct {
	work *Work
	at   located
	id   int
}

// checkDerived checks the derived values that a book states for a job.
func (l *loader) checkDerived(f fields, job Job) {
	for _, c := range l.ids {
		switch {
		case c.id == c.work.ID:
		case c.work.ID == 0:
			c.at.fault("must be omitted: this work is replaced by the works in it")
		default:
			c.at.fault("is %d, but the id of this work is %d; it can be omitted", c.id, c.work.ID)
		}
	}
	f.may("requireUserInput", func(s located) {
		if s.hasKind(flag) && s.boolean() != job.RequireUserInput {
			s.fault("is %t, but must be %t, which follows from the tasks of the job; it can be omitted", s.boolean(), job.RequireUserInput)
		}
	})
}
