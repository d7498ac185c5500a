package jobs

// outcome is how a Ref ended in an earlier job.
type outcome struct {
	task   string
	status Status
	fault  bool // it failed because of an error, not because of an answer
}

// earlierResults are the outcomes of a Ref in an earlier job, one for each time it started. Works run in a
// fixed order, so the outcomes correspond to the rounds of the enclosing loops. It is not safe for concurrent
// use.
type earlierResults struct {
	outcomes []outcome
	over     bool // a work ran again, so later outcomes no longer apply
}

// readEarlierResults returns the outcomes of the Refs of a job, by work id.
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

// next returns the next outcome. It returns false if the work must run again, that is, unless it succeeded
// or, in a condition, was answered with no.
func (p *earlierResults) next(condition bool) (o outcome, ok bool) {
	if p == nil || p.over || len(p.outcomes) == 0 {
		return outcome{}, false
	}
	o, p.outcomes = p.outcomes[0], p.outcomes[1:]
	ok = o.status == Succeeded || condition && o.status == Failed && !o.fault
	p.over = !ok
	return o, ok
}
