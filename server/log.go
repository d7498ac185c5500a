package server

import (
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"
)

// Log writes to a stream that may not be read, such as the standard error of a
// program whose parent looked away: it never blocks the writer. What does not
// fit into its buffer is dropped, and a line says so. It may be used concurrently.
type Log struct {
	out  io.Writer
	wake chan struct{}
	done chan struct{}

	mu      sync.Mutex
	pending []byte
	dropped int
	closed  bool
}

// logBuffer is how much may wait to be read, in bytes.
const logBuffer = 1 << 20

// NewLog starts writing to out. Close ends it.
func NewLog(out io.Writer) *Log {
	l := &Log{out: out, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go l.run()
	return l
}

// Logger writes structured lines of a level and above to the log.
func (l *Log) Logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: level}))
}

// Write takes a line. It never fails and never waits.
func (l *Log) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.pending)+len(line) > logBuffer {
		l.dropped++
		return len(line), nil
	}
	l.pending = append(l.pending, line...)
	l.nudge()
	return len(line), nil
}

// Printf writes text for people.
func (l *Log) Printf(format string, args ...any) {
	_, _ = l.Write(fmt.Appendf(nil, format, args...)) // never fails
}

func (l *Log) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *Log) run() {
	defer close(l.done)
	for range l.wake {
		text, last := l.take()
		_, _ = l.out.Write(text) // there is nowhere to tell
		if last {
			return
		}
	}
}

func (l *Log) take() (text []byte, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, l.pending = l.pending, nil
	if l.dropped > 0 {
		text = append(text, "level=WARN msg=\"log lines were dropped because nobody read them\"\n"...)
		l.dropped = 0
	}
	return text, l.closed
}

// Close writes what is left, unless nobody reads it within d.
func (l *Log) Close(d time.Duration) {
	l.mu.Lock()
	l.closed = true
	l.nudge()
	l.mu.Unlock()
	select {
	case <-l.done:
	case <-time.After(d):
	}
}
