package wire

import (
	"bytes"
	"sync"

	"github.com/klauspost/compress/flate"
)

const (
	maxTexts  = 512     // texts that are kept
	maxShared = 4 << 10 // bytes of a text that is compressed once for all; less than the context that flate takes
	maxAfter  = 4       // forms of a text that are kept, by the text before it
)

// Deflater compresses texts that many connections send (RFC 1951), once for all of them. What a client has received is the
// context of what follows. All readers of a record get the same texts in the same order, so they share even the form
// that refers to the text before: for a piece of an answer, a tenth of the form that stands alone.
//
// Only texts that were shared are compressed: nothing else becomes a context, so the size of a text reveals nothing of a response.
// The zero value has none. It is safe for concurrent use.
type Deflater struct {
	mu     sync.RWMutex
	texts  map[*byte]*sharedText
	newest [maxTexts]*byte // a ring: the oldest text is forgotten first
	next   int
}

type sharedText struct {
	text  []byte
	mu    sync.Mutex
	forms []deflated
}

type deflated struct {
	before *byte
	form   []byte
}

// Share says that many connections send a text, which is this slice for all of them and does not change any more. It keeps the
// newest ones; long texts are not kept.
func (d *Deflater) Share(text []byte) {
	if len(text) == 0 || len(text) > maxShared || d.find(text) != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.texts == nil {
		d.texts = map[*byte]*sharedText{}
	}
	if oldest := d.newest[d.next]; oldest != nil {
		delete(d.texts, oldest)
	}
	d.texts[&text[0]] = &sharedText{text: text}
	d.newest[d.next] = &text[0]
	d.next = (d.next + 1) % maxTexts
}

func (d *Deflater) find(text []byte) *sharedText {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.texts[&text[0]]
}

// After returns the form of a shared text for a client whose context ends with the text before; nil stands for no context. The
// form ends with an empty stored block, so that the client can read all of it. It is nil if the text is not shared.
func (d *Deflater) After(before, text []byte) []byte {
	if len(text) == 0 {
		return nil
	}
	s := d.find(text)
	if s == nil || len(s.text) != len(text) {
		return nil
	}
	return s.after(before)
}

func (s *sharedText) after(before []byte) []byte {
	var key *byte
	if len(before) > 0 {
		key = &before[0]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.forms {
		if f.before == key {
			return f.form
		}
	}
	form := Deflate(before, s.text)
	if len(s.forms) < maxAfter {
		s.forms = append(s.forms, deflated{key, form})
	}
	return form
}

// Deflate compresses a text for a client whose context ends with the text before. The form ends with an empty stored block.
func Deflate(before, text []byte) []byte {
	var form bytes.Buffer
	_ = flate.StatelessDeflate(&form, text, false, before) // a buffer cannot fail
	return form.Bytes()
}
