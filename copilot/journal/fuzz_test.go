package journal_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/journal"
)

// The model is slow, so the record and the number of operations are bounded.
const (
	mostEntries = 2000
	mostOps     = 250
)

// pair is a journal and the model whose behavior it must match.
type pair struct {
	t       *testing.T
	journal *journal.Journal[event]
	model   *model
}

// FuzzJournal uses two bytes for each operation: the operation and its argument.
func FuzzJournal(f *testing.F) {
	f.Add(uint16(0), []byte{})
	f.Add(uint16(0), []byte{0, 1, 8, 1, 2, 0, 4, 0, 5, 200, 7, 1})
	f.Add(uint16(5), []byte{1, 8, 1, 8, 0, 40, 2, 8, 0, 8, 0, 8, 7, 1})       // groups under pressure
	f.Add(uint16(9), []byte{0, 8, 6, 0, 0, 8, 7, 1, 6, 1, 0, 8, 6, 0, 4, 99}) // close and reopen
	f.Add(uint16(0), []byte{3, 255, 11, 255, 2, 0, 19, 255, 5, 100, 7, 9, 5, 255, 7, 255})
	f.Add(uint16(300), []byte{11, 255, 3, 100, 11, 255, 2, 8, 3, 255, 7, 3, 19, 255, 2, 9, 5, 90})
	f.Add(uint16(1), []byte{3, 255, 11, 255, 2, 8, 4, 0, 0, 255, 7, 1})
	f.Add(uint16(700), []byte{11, 200, 19, 200, 27, 200, 2, 9, 2, 10, 2, 8, 5, 120, 3, 255, 11, 255, 3, 255, 7, 100})
	f.Add(uint16(0), []byte{0, 8, 11, 255, 2, 9, 0, 8, 5, 200, 3, 255, 7, 5})  // whole chunks become holes
	f.Add(uint16(99), []byte{0, 8, 11, 30, 2, 9, 19, 255, 0, 8, 2, 10, 7, 50}) // the same by eviction
	f.Fuzz(compare)
}

// TestLongActivities runs long random sequences, which a fuzzer rarely creates.
func TestLongActivities(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 0))
		ops := make([]byte, 400)
		for i := range ops {
			ops[i] = byte(random.Uint32())
		}
		compare(t, uint16(random.Uint32()), ops)
	}
}

func compare(t *testing.T, budget uint16, ops []byte) {
	t.Helper()
	size := int(budget) % 1024
	p := &pair{t: t, journal: newJournal(size), model: &model{budget: size}}
	for i := 0; i+1 < min(len(ops), 2*mostOps); i += 2 {
		p.do(ops[i], ops[i+1])
		p.next(0, 4)
		p.next(p.model.last-min(p.model.last, 3), 0)
	}
	p.everything(7)
}

func (p *pair) do(op, arg byte) {
	key := [...]string{"", "a", "b", "c"}
	switch op % 8 {
	case 0:
		p.append(event{cost: int(arg%10) - 1})
	case 1:
		p.append(event{key: key[arg%4], cost: int(arg / 8 % 8)})
	case 2:
		p.append(event{key: key[arg%4], cost: int(arg / 8 % 8), end: true})
	case 3:
		for range 3 * int(arg) {
			p.append(event{key: key[op/8%4], cost: 1})
		}
	case 4:
		p.next(p.share(arg), int(op/8))
	case 5:
		p.journal.Trim(p.share(arg))
		p.model.trim(p.share(arg))
	case 6:
		p.close(arg%2 == 0)
	case 7:
		p.everything(max(20, int(arg)))
	}
}

// share returns a number of the record, or one slightly beyond it.
func (p *pair) share(of200 byte) uint64 {
	return p.model.last * uint64(of200) / 200
}

func (p *pair) append(e event) {
	if p.model.last == mostEntries {
		return
	}
	e.id = int(p.model.last) + 1
	want, wantErr := p.model.append(e)
	n, err := p.journal.Append(e)
	require.Equal(p.t, wantErr, err)
	require.Equal(p.t, want, n)
	require.Equal(p.t, p.model.last, p.journal.Last())
}

func (p *pair) close(closed bool) {
	p.model.closed = closed
	if closed {
		p.journal.Close()
	} else {
		p.journal.Reopen()
	}
}

// next compares one read and returns the position of the next one, and whether there is one.
func (p *pair) next(after uint64, limit int) (uint64, bool) {
	want, wantErr := p.model.next(after, limit)
	got, err := p.journal.Next(ended(), after, limit)
	require.Equal(p.t, wantErr, err)
	require.Equal(p.t, want, got)
	if gap, ok := err.(*journal.GapError); ok { //nolint:errorlint // the model does not wrap it
		return gap.First - 1, true
	}
	if err != nil {
		return after, false
	}
	return got[len(got)-1].N, true
}

func (p *pair) everything(limit int) {
	for after, more := uint64(0), true; more; {
		after, more = p.next(after, limit)
	}
}
