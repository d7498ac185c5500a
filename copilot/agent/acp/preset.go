package acp

import (
	"crypto/rand"
	"os"
	"slices"
	"strings"
)

// Preset is an agent that is known by its name.
type Preset struct {
	Name    string
	Command []string
	Package string // of npm that has the program, for people

	env    []string // "KEY=VALUE", in addition to that of the portal unless it has them
	mode   string   // in which the agent asks before it acts, if it has this mode; "": the one it starts in
	secret string   // variable with a password for a server that the program opens; "": none
}

// InstallHint says how to install the program.
func (p Preset) InstallHint() string {
	return "Install it with `npm install --global " + p.Package + "`."
}

// Presets returns the known agents, by name. Each of them asks before it acts (spec/agents.md, "Safety").
func Presets() []Preset {
	return []Preset{
		{Name: "claude", Command: []string{"claude-agent-acp"}, Package: "@agentclientprotocol/claude-agent-acp", mode: "default"},
		{Name: "codex", Command: []string{"codex-acp"}, Package: "@agentclientprotocol/codex-acp", mode: "read-only"},
		{Name: "copilot-acp", Command: []string{"copilot", "--acp"}, Package: "@github/copilot", mode: "https://agentclientprotocol.com/protocol/session-modes#agent"},
		{Name: "gemini", Command: []string{"gemini", "--acp"}, Package: "@google/gemini-cli", mode: "default"},
		{
			Name: "opencode", Command: []string{"opencode", "acp"}, Package: "opencode-ai", mode: "build",
			env: []string{
				`OPENCODE_PERMISSION={"*":"ask","read":"allow","glob":"allow","grep":"allow","list":"allow","todowrite":"allow","todoread":"allow","task":"allow","skill":"allow"}`,
				"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_PROJECT_CONFIG=1", // a directory must not bring plugins
			},
			secret: "OPENCODE_SERVER_PASSWORD",
		},
	}
}

// FindPreset returns the preset of a name.
func FindPreset(name string) (Preset, bool) {
	list := Presets()
	i := slices.IndexFunc(list, func(p Preset) bool { return p.Name == name })
	if i < 0 {
		return Preset{}, false
	}
	return list[i], true
}

// environ returns the environment of a process of an agent: env, and what its preset adds to it.
func (o Options) environ() []string {
	env := o.Env
	if env == nil {
		env = os.Environ()
	}
	env = slices.Clone(env)
	p, _ := FindPreset(o.Name)
	for _, v := range p.env {
		name, _, _ := strings.Cut(v, "=")
		if !slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
			env = append(env, v)
		}
	}
	if p.secret != "" {
		env = append(env, p.secret+"="+rand.Text())
	}
	return env
}
