package book

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
