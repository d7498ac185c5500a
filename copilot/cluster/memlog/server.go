// Package memlog is a log of a cluster in memory, for tests. They decide what happens to each of its operations.
package memlog

import (
	"cmp"
	"context"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/cluster"
)

// Stored is a message of the log.
type Stored struct {
	cluster.Message

	Subject string
}

// Server has the messages, objects and announcements of a cluster. Its methods may be called concurrently.
type Server struct {
	// OnStore is called with each message, before it is visible, with the lock.
	OnStore func(Stored)

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced when anything below changes
	messages []Stored
	last     uint64
	newest   map[string]uint64 // by subject
	ids      map[string]uint64 // sequences of messages by their ids
	objects  map[string]object
	said     []announcement // the newest of each member, in their order
	revision int
	serving  map[string]*service
}

type object struct {
	data   []byte
	stored time.Time
}

type announcement struct {
	revision int
	member   string
	state    []byte
}

// service is a member that answers requests.
type service struct {
	answer func([]byte) []byte
	work   *sync.WaitGroup
}

// NewServer returns an empty log.
func NewServer() *Server {
	return &Server{
		changed: make(chan struct{}), newest: map[string]uint64{}, ids: map[string]uint64{}, objects: map[string]object{},
		serving: map[string]*service{},
	}
}

// Messages returns the messages that are not purged.
func (s *Server) Messages() []Stored {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.messages)
}

// Last returns the sequence of the newest message.
func (s *Server) Last() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Objects returns how many objects there are.
func (s *Server) Objects() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.objects)
}

// AgeObjects makes all objects older.
func (s *Server) AgeObjects(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, o := range s.objects {
		o.stored = o.stored.Add(-by)
		s.objects[name] = o
	}
}

// Lose removes the messages after a sequence, as a server does that has lost its latest writes.
func (s *Server) Lose(after uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = slices.DeleteFunc(s.messages, func(m Stored) bool { return m.Sequence > after })
	s.last = after
	s.signal()
}

// signal wakes those who wait for a change. The caller must hold the lock.
func (s *Server) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// await returns when ready returns true, which is called with the lock.
func (s *Server) await(ctx context.Context, ready func() bool) error {
	for {
		s.mu.Lock()
		ok, changed := ready(), s.changed
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Server) append(subject string, expect uint64, id string, data []byte) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sequence, known := s.ids[id]; known {
		return sequence, nil
	}
	if expect != cluster.Any && expect != s.newest[subject] {
		return 0, cluster.ErrConflict
	}
	m := Stored{cluster.Message{Sequence: s.last + 1, Data: slices.Clone(data)}, subject}
	if s.OnStore != nil {
		s.OnStore(m)
	}
	s.last++
	s.messages = append(s.messages, m)
	s.newest[subject], s.ids[id] = s.last, s.last
	s.signal()
	return s.last, nil
}

func (s *Server) after(sequence uint64, limit int) (list []cluster.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, _ := slices.BinarySearchFunc(s.messages, sequence+1, func(m Stored, to uint64) int { return cmp.Compare(m.Sequence, to) })
	for ; i < len(s.messages) && len(list) < limit; i++ {
		list = append(list, s.messages[i].Message)
	}
	return list
}

func (s *Server) purge(subject string, before uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = slices.DeleteFunc(s.messages, func(m Stored) bool { return m.Subject == subject && m.Sequence < before })
	if before > s.newest[subject] { // nothing is left
		delete(s.newest, subject)
	}
}

func (s *Server) announce(member string, state []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision++
	s.said = slices.DeleteFunc(s.said, func(a announcement) bool { return a.member == member })
	s.said = append(s.said, announcement{s.revision, member, slices.Clone(state)})
	s.signal()
}

func (s *Server) announced(after int) (list []announcement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.said {
		if a.revision > after {
			list = append(list, a)
		}
	}
	return list
}

func (s *Server) put(name string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[name] = object{slices.Clone(data), time.Now()}
}

func (s *Server) get(name string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objects[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return o.data, nil
}

func (s *Server) list() (list []cluster.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, o := range s.objects {
		list = append(list, cluster.Object{Name: name, Stored: o.stored})
	}
	return list
}

func (s *Server) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, name)
}

// request starts to answer a request.
func (s *Server) request(member string, data []byte) (<-chan []byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to := s.serving[member]
	if to == nil {
		return nil, cluster.ErrNobody
	}
	answered := make(chan []byte, 1)
	to.work.Go(func() { answered <- to.answer(data) })
	return answered, nil
}

func (s *Server) serve(ctx context.Context, member string, answer func(context.Context, []byte) []byte) error {
	to := &service{func(data []byte) []byte { return answer(ctx, data) }, &sync.WaitGroup{}}
	s.mu.Lock()
	s.serving[member] = to
	s.mu.Unlock()
	<-ctx.Done()
	s.mu.Lock()
	delete(s.serving, member)
	s.mu.Unlock()
	to.work.Wait()
	return ctx.Err()
}
