package book

// workID is the key of the id of a work, which a book may say though it follows from the place of the work, as does whether a job requires
// user input. Both have to agree with what follows, and change nothing.
const workID = "workIdInJob"

// claimedID is what a book says about the id of a work.
type claimedID struct {
	work *Work
	at   located
	id   int
}

// checkDerived compares what a book says about a job with what follows from it.
func (l *loader) checkDerived(f fields, job Job) {
	for _, c := range l.ids {
		switch {
		case c.id == c.work.ID:
		case c.work.ID == 0:
			c.at.fault("must be left out: the works in this one take its place")
		default:
			c.at.fault("is %d, but the id of this work is %d; it can be left out", c.id, c.work.ID)
		}
	}
	f.may("requireUserInput", func(s located) {
		if s.hasKind(flag) && s.boolean() != job.RequireUserInput {
			s.fault("is %t, but must be %t, as the tasks of the job say; it can be left out", s.boolean(), job.RequireUserInput)
		}
	})
}
