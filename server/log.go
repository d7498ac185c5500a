package server

import (
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"
)

// Log writes to a stream that nobody may be reading, such as the standard error of a program whose parent
// ignores it. It never blocks the caller: lines that do not fit into the buffer are dropped, and a line
// reports that. It is safe for concurrent use.
type Log struct {
	out  io.Writer
	wake chan struct{}
	done chan struct{}

	mu      sync.Mutex
	pending []byte
	dropped int
	closed  bool
}

// logBuffer is the maximum number of bytes that wait to be written.
const logBuffer = 1 << 20

// NewLog returns a Log that writes to out. The caller must close it.
func NewLog(out io.Writer) *Log {
	l := &Log{out: out, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go l.run()
	return l
}

// Logger returns a structured logger for records of the given level and above.
func (l *Log) Logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: level}))
}

// Write queues a line. It never fails or blocks.
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
	_, _ = l.Write(fmt.Appendf(nil, format, args...)) // Write never fails
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
		_, _ = l.out.Write(text) // there is nowhere to report an error
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

// Close writes what is queued, but waits at most d for it.
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
