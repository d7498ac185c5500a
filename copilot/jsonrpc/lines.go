package jsonrpc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	defaultLine = 64 << 20
	// writeSize is the number of bytes of lines that are collected for one write.
	writeSize = 64 << 10
)

// LineOptions configures reading and writing of lines. Zero values select the defaults.
type LineOptions struct {
	Max   int  // maximum length of a line, in bytes without its end; 64 MiB
	ASCII bool // write non-ASCII characters as \u escapes, for readers that split characters
}

// Lines is a [Carrier] with one message per line (NDJSON). A line may end with CR LF, and the last one without a line
// break. Any number of goroutines may write.
type Lines struct {
	in      io.Closer
	reader  *bufio.Reader
	options LineOptions

	writing sync.Mutex // held while lines are written
	out     io.WriteCloser
	buffer  []byte // small lines to be written next
}

// NewLines returns a carrier on two streams. [Lines.Close] closes them.
func NewLines(in io.ReadCloser, out io.WriteCloser, options LineOptions) *Lines {
	if options.Max <= 0 {
		options.Max = defaultLine
	}
	return &Lines{in: in, out: out, reader: bufio.NewReaderSize(in, writeSize), options: options}
}

// Read returns the next line. It does not keep a line that is too long.
func (l *Lines) Read() ([]byte, error) {
	part, err := l.reader.ReadSlice('\n')
	if err == nil && len(part) <= l.options.Max { // the common case
		return part, nil
	}
	var line []byte
	size := 0
	for ; ; part, err = l.reader.ReadSlice('\n') {
		size += len(part)
		if size <= l.options.Max+len("\r\n") {
			line = append(line, part...)
		} else {
			line = nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l.finish(line, size, err)
		}
	}
}

// finish returns a line that did not fit into the reader's buffer or that has no line break.
func (l *Lines) finish(line []byte, size int, err error) ([]byte, error) {
	switch {
	case err != nil && (size == 0 || !errors.Is(err, io.EOF)):
		return nil, err
	case len(line) < size || len(trimEnd(line)) > l.options.Max:
		return nil, fmt.Errorf("%w: a line may have %d bytes", ErrTooLong, l.options.Max)
	}
	return line, nil
}

// trimEnd removes the line break.
func trimEnd(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}

// Write writes messages as lines. It combines small ones.
func (l *Lines) Write(messages [][]byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	for _, m := range messages {
		if l.options.ASCII {
			m = escape(m)
		}
		if len(l.buffer)+len(m) >= writeSize {
			if err := l.flush(); err != nil {
				return err
			}
		}
		if len(m) >= writeSize {
			if _, err := l.out.Write(m); err != nil {
				return err
			}
			m = nil
		}
		l.buffer = append(append(l.buffer, m...), '\n')
	}
	return l.flush()
}

func (l *Lines) flush() error {
	if len(l.buffer) == 0 {
		return nil
	}
	_, err := l.out.Write(l.buffer)
	l.buffer = l.buffer[:0]
	return err
}

// Close closes both streams.
func (l *Lines) Close() error { return errors.Join(l.out.Close(), l.in.Close()) }

// escape writes non-ASCII characters, which JSON has only in strings, as escapes.
func escape(m []byte) []byte {
	if isASCII(m) {
		return m
	}
	b := make([]byte, 0, len(m)+len(m)/2)
	for _, r := range string(m) {
		switch {
		case r < utf8.RuneSelf:
			b = utf8.AppendRune(b, r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return b
}

func isASCII(m []byte) bool {
	for _, c := range m {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
