package server_test

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sdk/formserver"
	"github.com/copilot-portal/portal/server/portaltest"
	"github.com/copilot-portal/portal/server/portaltest/contract"
	"github.com/copilot-portal/portal/server/portaltest/transcript"
)

const (
	// concurrentPlays is the number of transcripts played concurrently: each one on standard streams has
	// its own CLI.
	concurrentPlays = 3
	// patience is the time limit of a message on a busy machine.
	patience = 2 * time.Minute
)

// environment contains what plays share.
type environment struct {
	schema *contract.Dialect
	portal func() *portaltest.Portal // shared by all scripts that do not need their own
}

// play is a transcript on a carrier.
type play struct {
	transcript.Script

	carrier string
}

func TestTranscriptsOnBothCarriers(t *testing.T) {
	t.Parallel()
	schema, err := contract.UI()
	require.NoError(t, err)
	all := plays(t)
	shared := environment{schema, sync.OnceValue(func() *portaltest.Portal { return portaltest.Start(t, portaltest.Options{}) })}

	var work sync.WaitGroup
	for range concurrentPlays {
		work.Go(func() {
			for p := range all {
				t.Run(p.Name+"/"+p.carrier, func(t *testing.T) { assert.NoError(t, shared.open(t, p).Play(p.Script)) })
			}
		})
	}
	work.Wait()
}

// plays reads the transcripts. Each is played on one carrier, every eighth on standard streams, and in soak tests on
// both. Carriers do not inspect messages, and each play on standard streams starts its own CLI.
func plays(t *testing.T) <-chan play {
	t.Helper()
	files, err := filepath.Glob("../spec/transcripts/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var list []play
	for i, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		s, err := transcript.Parse(file, string(text))
		require.NoError(t, err)
		carriers := []string{transcript.Socket, transcript.Stdio}
		switch {
		case s.Needs.Only != "":
			carriers = []string{s.Needs.Only}
		case i%8 == 0:
			slices.Reverse(carriers)
		}
		for _, carrier := range carriers[:min(len(carriers), portaltest.Repeat(1, 2))] {
			list = append(list, play{s, carrier})
		}
	}
	all := make(chan play, len(list))
	for _, p := range list {
		all <- p
	}
	close(all)
	return all
}

func (e environment) open(t *testing.T, p play) transcript.Setup {
	t.Helper()
	o := portaltest.Options{Args: p.Needs.Args, Config: p.Needs.Config, Home: t.TempDir()}
	if p.Needs.Desk {
		formserver.Configure(t, o.Home, nil)
	}
	if p.carrier == transcript.Stdio {
		return e.onStreams(t, o)
	}
	portal := e.portal
	if p.Needs.OwnPortal() {
		portal = func() *portaltest.Portal { return portaltest.Start(t, o) }
	}
	return e.onSockets(t, portal())
}

// onStreams returns a stage on which each client has its own process, one after another.
func (e environment) onStreams(t *testing.T, o portaltest.Options) transcript.Setup {
	t.Helper()
	var now *portaltest.Stream
	open := func() transcript.UI {
		var here *portaltest.Stream
		t.Cleanup(func() { assert.Empty(t, here.Children(), "the portal left processes behind") }) // after its end
		here = portaltest.StdioWith(t, o)
		here.MaySendInvalid() // the player checks what it sends
		now = here
		return here
	}
	first := open()
	dir := now.Dir
	return transcript.Setup{
		Schema: e.schema, Patience: patience, Dir: dir, Stderr: func() string { return now.Stderr() },
		Open: func() transcript.UI {
			if next := first; next != nil {
				first = nil
				return next
			}
			return open()
		},
	}
}

func (e environment) onSockets(t *testing.T, p *portaltest.Portal) transcript.Setup {
	t.Helper()
	dir := t.TempDir()
	return transcript.Setup{
		Schema: e.schema, Patience: patience, Dir: dir, Stderr: p.Stderr,
		Open: func() transcript.UI {
			u := p.UI("cwd=" + url.QueryEscape(dir))
			u.MaySendInvalid() // the player checks what it sends
			return u
		},
		Session: func(query string) string { return p.StartSession(dir, query) },
		Query:   p.Query,
	}
}
