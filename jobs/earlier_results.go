package jobs

// outcome is how a Ref ended in an earlier job.
type outcome struct {
	task   string
	status Status
	fault  bool // it was no answer that made it fail
}

// earlierResults is what came of a Ref each time that it was begun. A walk comes to a Ref always in the same order, so that the
// times are the rounds of the loops around it. It is used by one goroutine at a time.
type earlierResults struct {
	outcomes []outcome
	over     bool // something was done anew: what follows is no past any more
}

// readEarlierResults finds out what came of the Refs of a job.
func readEarlierResults(events []Event) map[int]*earlierResults {
	all := map[int]*earlierResults{}
	faults := map[string]bool{} // tasks
	for _, e := range events {
		switch b := e.Body.(type) {
		case WorkStarted:
			if all[b.Work] == nil {
				all[b.Work] = &earlierResults{}
			}
			all[b.Work].outcomes = append(all[b.Work].outcomes, outcome{task: b.Task, status: Running})
		case WorkEvent:
			if _, ok := b.Body.(TaskError); ok {
				faults[b.Task] = true
			}
		case WorkStopped:
			if p := all[b.Work]; p != nil {
				last := &p.outcomes[len(p.outcomes)-1]
				last.status, last.fault = b.Status, faults[last.task]
			}
		}
	}
	return all
}

// next is what came of it this time, if that need not be done again: it succeeded, or it is part of a condition and
// answered with no.
func (p *earlierResults) next(condition bool) (o outcome, ok bool) {
	if p == nil || p.over || len(p.outcomes) == 0 {
		return outcome{}, false
	}
	o, p.outcomes = p.outcomes[0], p.outcomes[1:]
	ok = o.status == Succeeded || condition && o.status == Failed && !o.fault
	p.over = !ok
	return o, ok
}
