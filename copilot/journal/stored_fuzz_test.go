package journal_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/journal"
)

// storedPair is a journal on a store and the model whose behavior it must match.
type storedPair struct {
	t           *testing.T
	options     journal.Options[event]
	journal     *journal.Journal[event]
	model       *storedModel
	memoryStore *memoryStore
	delivered   []delivered
	ids         int
}

// delivered is a position that a client received.
type delivered struct {
	position journal.Position
	id       int
}

// FuzzStoredJournal uses two bytes for each operation, as [FuzzJournal] does, and a mode for the store.
func FuzzStoredJournal(f *testing.F) {
	f.Add(uint16(0), byte(0), []byte{0, 1, 8, 1, 2, 0, 6, 200, 7, 100, 0, 1})
	f.Add(uint16(5), byte(1), []byte{1, 8, 1, 8, 6, 100, 0, 40, 2, 8, 0, 8, 6, 200, 7, 3, 0, 8, 8, 3})
	f.Add(uint16(9), byte(2), []byte{0, 8, 6, 90, 1, 9, 1, 9, 2, 9, 6, 150, 0, 8, 7, 1, 6, 200, 1, 9, 4, 99, 9, 50})
	f.Add(uint16(300), byte(3), []byte{11, 255, 3, 100, 6, 200, 11, 255, 2, 8, 3, 255, 7, 200, 7, 3, 19, 255, 2, 9, 5, 90, 8, 200})
	f.Fuzz(compareStored)
}

func TestLongStoredActivities(t *testing.T) {
	for seed := range uint64(5) {
		random := rand.New(rand.NewPCG(seed, 1))
		ops := make([]byte, 400)
		for i := range ops {
			ops[i] = byte(random.Uint32())
		}
		compareStored(t, uint16(random.Uint32()), byte(seed), ops)
	}
}

func compareStored(t *testing.T, budget uint16, mode byte, ops []byte) {
	t.Helper()
	s := &memoryStore{sparse: mode&1 > 0, plain: mode&2 > 0}
	p := &storedPair{t: t, memoryStore: s, model: &storedModel{model: model{budget: int(budget) % 1024}}}
	p.options = journal.Options[event]{Budget: p.model.budget, Cost: costOf, Group: groupOf, Pinned: true, Load: s.load, Epoch: 1}
	p.journal = journal.New(p.options)
	for i := 0; i+1 < min(len(ops), 2*mostOps); i += 2 {
		p.do(ops[i], ops[i+1])
		p.next(0, 4)
		p.next(p.model.last-min(p.model.last, 3), 0)
		p.remember()
	}
	p.everything(7)
}

func (p *storedPair) do(op, arg byte) {
	key := [...]string{"", "a", "b", "c"}
	switch op % 10 {
	case 0:
		p.append(event{cost: int(arg%10) - 1})
	case 1:
		p.append(event{key: key[arg%4], cost: int(arg / 8 % 8)})
	case 2:
		p.append(event{key: key[arg%4], cost: int(arg / 8 % 8), end: true})
	case 3:
		for range 2 * int(arg) {
			p.append(event{key: key[op/10%4], cost: 1})
		}
	case 4:
		p.next(p.share(arg), int(op/10))
	case 5:
		p.journal.Trim(p.share(arg))
		p.model.trim(p.share(arg))
	case 6:
		p.store(p.model.pin + (p.model.last-p.model.pin)*uint64(arg%201)/200)
	case 7:
		p.crash(p.model.pin * uint64(arg) / 255)
	case 8:
		p.everything(max(20, int(arg)))
	case 9:
		p.prune(arg)
	}
}

func (p *storedPair) share(of200 byte) uint64 { return p.model.last * uint64(of200) / 200 }

func (p *storedPair) append(e event) {
	if p.ids == mostEntries {
		return
	}
	p.ids++
	e.id = p.ids
	want, wantErr := p.model.append(e)
	n, err := p.journal.Append(e)
	require.Equal(p.t, wantErr, err)
	require.Equal(p.t, want, n)
	p.excess()
}

func (p *storedPair) excess() {
	want := 0
	if p.model.budget > 0 {
		want = max(0, p.model.total()-p.model.budget)
	}
	require.Equal(p.t, want, p.journal.Excess())
}

func (p *storedPair) store(upTo uint64) {
	for _, e := range p.model.all[p.model.pin:upTo] {
		p.memoryStore.write(journal.Entry[event]{N: e.n, Value: e.event})
	}
	p.model.pin = upTo
	p.model.evict()
	p.journal.Unpin(upTo)
	p.excess()
}

// prune drops the oldest stored entries, a few at a time, but never the newest.
func (p *storedPair) prune(arg byte) {
	if to := p.memoryStore.begin + uint64(arg%8); to < p.model.pin {
		p.memoryStore.begin, p.model.begin = to, to
	}
}

func (p *storedPair) crash(after uint64) {
	after = max(after, p.memoryStore.begin)
	p.options.Earlier = append(p.options.Earlier, journal.Position{Epoch: p.options.Epoch, N: p.model.pin})
	p.options.Epoch++
	tail := p.memoryStore.after(after)
	if p.memoryStore.plain {
		unflag(tail)
	}
	j, err := journal.Restore(p.options, after, tail)
	require.NoError(p.t, err)
	p.journal = j
	p.model.crash(after, p.memoryStore.sparse, p.memoryStore.plain)
	require.Equal(p.t, p.model.last, j.Last())
	p.excess()
	p.positions()
}

// remember gives a client the position of the newest entry.
func (p *storedPair) remember() {
	if n := p.model.last; n > 0 {
		p.delivered = append(p.delivered, delivered{p.journal.Position(n), p.model.all[n-1].id})
	}
}

// positions checks that a position is valid if and only if its entry is still there.
func (p *storedPair) positions() {
	for _, was := range p.delivered {
		after, err := p.journal.After(was.position)
		n := was.position.N
		if same := n <= p.model.last && p.model.all[n-1].id == was.id; same {
			require.NoError(p.t, err)
			require.Equal(p.t, n, after)
			continue
		}
		gap, ok := err.(*journal.GapError) //nolint:errorlint // After does not wrap it
		require.True(p.t, ok, "%v was delivered as %d", was.position, was.id)
		require.LessOrEqual(p.t, gap.First, p.model.last+1)
	}
}

func (p *storedPair) next(after uint64, limit int) (read []journal.Entry[event], next uint64, more bool) {
	want, wantErr := p.model.next(after, limit, p.memoryStore.sparse)
	got, err := p.journal.Next(ended(), after, limit)
	require.Equal(p.t, wantErr, err)
	require.Equal(p.t, want, got)
	if gap, ok := err.(*journal.GapError); ok { //nolint:errorlint // the model does not wrap it
		return nil, gap.First - 1, true
	}
	if err != nil {
		return nil, after, false
	}
	return got, got[len(got)-1].N, true
}

// everything reads the whole record and checks that each entry is there that is neither superseded nor pruned.
func (p *storedPair) everything(limit int) {
	read := make(map[uint64]int)
	for after, more := uint64(0), true; more; {
		var entries []journal.Entry[event]
		entries, after, more = p.next(after, limit)
		for _, e := range entries {
			read[e.N] = e.Value.id
		}
	}
	for _, e := range p.model.all {
		if e.endedBy == 0 && e.n > p.model.begin {
			require.Equal(p.t, e.id, read[e.n])
		}
	}
}
