package wire_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/handlers/wire"
)

func TestEachTextOfAStreamCanBeReadWhenItArrives(t *testing.T) {
	var shared wire.Deflater
	z := wire.NewGzip(&shared)
	from, to := io.Pipe()
	defer from.Close()
	texts := [][]byte{piece(1), piece(2), []byte("private"), []byte(strings.Repeat("long ", 30_000)), piece(3), piece(4)}
	for i, text := range texts {
		if i != 2 {
			shared.Share(text)
		}
	}
	written := make(chan struct{})
	go func() {
		defer to.Close()
		for _, text := range texts {
			var out bytes.Buffer
			z.Add(&out, text)
			_, _ = to.Write(out.Bytes())
			<-written
		}
		var out bytes.Buffer
		z.End(&out)
		_, _ = to.Write(out.Bytes())
	}()
	in, err := gzip.NewReader(from)
	require.NoError(t, err)
	for _, text := range texts {
		got := make([]byte, len(text))
		_, err := io.ReadFull(in, got)
		require.NoError(t, err)
		assert.Equal(t, string(text), string(got))
		written <- struct{}{}
	}
	rest, err := io.ReadAll(in)
	require.NoError(t, err, "the checksum is right")
	assert.Empty(t, rest)
}

func TestEmptyStreamIsValid(t *testing.T) {
	var out bytes.Buffer
	wire.NewGzip(&wire.Deflater{}).End(&out)
	in, err := gzip.NewReader(&out)
	require.NoError(t, err)
	text, err := io.ReadAll(in)
	require.NoError(t, err)
	assert.Empty(t, text)
}
