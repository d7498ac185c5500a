package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
)

func TestLogWritesLinesInOrder(t *testing.T) {
	var out bytes.Buffer
	l := server.NewLog(&out)
	for i := range 1000 {
		l.Printf("%d\n", i)
	}
	l.Close(time.Minute)
	lines := strings.Fields(out.String())
	require.Len(t, lines, 1000)
	for i, line := range lines {
		require.Equal(t, fmt.Sprint(i), line)
	}
}

func TestLogNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe() // nobody reads
		defer r.Close()
		l := server.NewLog(w)
		begin := time.Now()
		line := strings.Repeat("x", 1023) + "\n"
		for range 5000 { // five times the size of the buffer
			n, err := l.Write([]byte(line))
			require.NoError(t, err)
			require.Equal(t, len(line), n)
		}
		assert.Zero(t, time.Since(begin))
		l.Close(200 * time.Millisecond)
		assert.Equal(t, 200*time.Millisecond, time.Since(begin), "Close keeps its time limit")
		n, err := l.Write([]byte("late\n"))
		require.NoError(t, err)
		assert.Equal(t, 5, n)
	})
}

func TestLogReportsDroppedLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		l := server.NewLog(w)
		l.Printf("first\n")
		synctest.Wait() // the writer is blocked, because nobody reads
		line := strings.Repeat("x", 1<<16-1) + "\n"
		for range 20 {
			l.Printf("%s", line)
		}
		l.Printf("fits\n")
		var got bytes.Buffer
		var reading sync.WaitGroup
		reading.Go(func() { _, _ = io.Copy(&got, r) })
		synctest.Wait()
		l.Printf("last\n")
		l.Close(time.Minute)
		require.NoError(t, w.Close())
		reading.Wait()

		lines := strings.Split(strings.ReplaceAll(got.String(), line, "long\n"), "\n")
		assert.Equal(t, "first", lines[0])
		assert.Equal(t, 16, strings.Count(got.String(), line), "lines that fit into the buffer")
		said := `level=WARN msg="log lines were dropped because nobody read them"`
		assert.Equal(t, 1, strings.Count(got.String(), said))
		assert.Equal(t, []string{said, "last", ""}, lines[len(lines)-3:])
	})
}

func TestLogSurvivesClosedReader(t *testing.T) {
	r, w := io.Pipe()
	require.NoError(t, r.CloseWithError(errors.New("gone")))
	l := server.NewLog(w)
	for range 100 {
		l.Printf("x\n")
	}
	l.Close(time.Minute)
	l.Close(time.Minute) // may be called again
}

func TestLogMayBeUsedConcurrently(t *testing.T) {
	var out bytes.Buffer
	l := server.NewLog(&out)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			log := l.Logger([]slog.Level{slog.LevelDebug, slog.LevelInfo}[i%2])
			for range 200 {
				log.Info("line", "writer", i)
				log.Debug("detail", "writer", i)
			}
		})
	}
	all.Wait()
	l.Close(time.Minute)
	for line := range strings.Lines(out.String()) {
		require.Regexp(t, `^time=\S+ level=(INFO msg=line|DEBUG msg=detail) writer=\d\n$`, line)
	}
	assert.Equal(t, 8*200, strings.Count(out.String(), "msg=line"))
	assert.Equal(t, 4*200, strings.Count(out.String(), "msg=detail"), "only at this level")
}
