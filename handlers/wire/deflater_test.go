package wire_test

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/handlers/wire"
)

// piece is a message as a stream of an answer has it.
func piece(n int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"session.event","params":{"sessionId":"e379b01e-5bf5-4cc9-bb33-cb797420a4b6","id":"73123-%d",`+
		`"event":"timeline.message","data":{"type":"text","content":"word %d","messageId":"0b1e7a1c-1111-4cc9-bb33-cb797420a4b6"}}}`, n, n*7919)
}

// inflate returns the text of forms.
func inflate(tb testing.TB, forms ...[]byte) string {
	tb.Helper()
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(append(bytes.Join(forms, nil), 1, 0, 0, 0xff, 0xff)))) // and the last block
	require.NoError(tb, err)
	return string(text)
}

func TestSharedTextRefersToTheOneBefore(t *testing.T) {
	var d wire.Deflater
	one, two := piece(1), piece(2)
	d.Share(one)
	d.Share(two)
	alone, after := d.After(nil, one), d.After(one, two)
	assert.Equal(t, string(one)+string(two), inflate(t, alone, after))
	assert.Equal(t, string(two), inflate(t, d.After(nil, two)))
	assert.Less(t, len(after)*5, len(two))
	assert.Same(t, &after[0], &d.After(one, two)[0], "all readers get the same form")
}

func TestTextThatWasNotSharedIsNotCompressed(t *testing.T) {
	var d wire.Deflater
	secret := piece(1)
	assert.Nil(t, d.After(nil, secret))
	d.Share(piece(1))
	assert.Nil(t, d.After(nil, secret), "nor is its equal")
	assert.Nil(t, d.After(nil, nil))
}

func TestOldSharedTextsAreForgotten(t *testing.T) {
	var d wire.Deflater
	first := piece(0)
	d.Share(first)
	d.Share(first) // no second time
	require.NotNil(t, d.After(nil, first))
	for n := range 511 {
		d.Share(piece(n))
	}
	assert.NotNil(t, d.After(nil, first))
	d.Share(piece(512))
	assert.Nil(t, d.After(nil, first))
	long := make([]byte, 4<<10+1)
	d.Share(long)
	assert.Nil(t, d.After(nil, long), "long texts are not kept")
}

func TestSharedTextsOfAnyKindAreReadable(t *testing.T) {
	var d wire.Deflater
	random := rand.New(rand.NewPCG(1, 2))
	var before []byte
	var want string
	var forms [][]byte
	for n := range 300 {
		text := piece(n)
		if n%3 == 0 {
			text = make([]byte, 1+random.IntN(4<<10))
			for i := range text {
				text[i] = byte(random.IntN(1 + n))
			}
		}
		d.Share(text)
		forms = append(forms, d.After(before, text))
		before, want = text, want+string(text)
	}
	assert.Equal(t, want, inflate(t, forms...))
}

func BenchmarkDeflateAfter(b *testing.B) {
	one, two := piece(1), piece(2)
	b.ReportAllocs()
	for b.Loop() {
		wire.Deflate(one, two)
	}
}
