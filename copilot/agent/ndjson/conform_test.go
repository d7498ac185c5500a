package ndjson_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/agenttest"
	"github.com/copilot-portal/portal/copilot/agent/ndjson"
)

// spec/contracts/cli-protocol.md has no means for the capabilities that are not declared.
func TestAgentConforms(t *testing.T) {
	m := &model{scenes: map[string][]agenttest.Scene{}, past: map[string][]string{}}
	agenttest.Run(t, agenttest.Subject{
		Machine: func(t *testing.T) agenttest.Machine {
			t.Helper()
			f := newFakes(t, greeted(m.serve))
			return agenttest.Machine{Launch: ndjson.LaunchOf(f.start, silent), Kill: func(agent.Agent) { f.kill() }}
		},
		Virtual: true,
		Write:   m.write,
		Model:   "fake-cli",
		Other:   "other",
		Can:     ndjson.New(ndjson.Options{Command: []string{"none"}}).Capabilities(),
	})
}

// model plays scenes, and remembers the prompts of a tab of a process.
type model struct {
	mu     sync.Mutex
	scenes map[string][]agenttest.Scene
	past   map[string][]string
}

func (m *model) write(scenes ...agenttest.Scene) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := fmt.Sprintf("%+v", scenes)
	m.scenes[text] = scenes
	return text
}

func (m *model) read(c *cli, f frame) (scenes []agenttest.Scene, past string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	message, tab := f.chat()
	key := fmt.Sprintf("%p %s", c, tab)
	past = strings.Join(m.past[key], "\n")
	m.past[key] = append(m.past[key], message)
	return m.scenes[message], past
}

func (m *model) serve(c *cli, f frame) {
	if f.Method != "chat" {
		c.die() // exit
		return
	}
	scenes, past := m.read(c, f)
	p := &player{cli: c, frame: f}
	for _, s := range scenes {
		switch s := s.(type) {
		case agenttest.Say:
			p.say(s.Text)
		case agenttest.Stream:
			for i := range s.Chunks {
				p.wait(s.Over / time.Duration(s.Chunks))
				p.say(fmt.Sprintf("w%d ", i))
			}
		case agenttest.Wait:
			p.wait(s.For)
		case agenttest.Fail:
			c.fail(f, -32603)
			return
		case agenttest.Recall:
			p.say("The earlier prompts: " + past)
		}
	}
	c.say(f, p.said)
}

type player struct {
	cli   *cli
	frame frame
	n     int
	said  string
}

func (p *player) say(text string) {
	p.cli.chunk(p.frame, p.n, text)
	p.n++
	p.said += text
}

func (p *player) wait(d time.Duration) {
	if d == 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-p.cli.gone:
	}
}
