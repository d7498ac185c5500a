package acp

import (
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/agent/stdio"
	"github.com/copilot-portal/portal/copilot/fault"
)

// Preset is an agent that is known by its name.
type Preset struct {
	Name    string
	Command []string
	Package string // of npm that has the program, for people

	mode   string          // in which the agent asks before it acts, if it has this mode; "": the one it starts in
	env    []string        // "KEY=VALUE", in addition to that of the portal unless it has them
	meta   json.RawMessage // "_meta" of each session that is opened
	secret string          // variable with a password for a server that the program opens; "": none

	// What a working directory brings for the agent, such as hooks, plugins, MCP servers and permissions, can run commands without asking.
	// Unless the user trusts the directories, it is not used:
	untrusted json.RawMessage // instead of meta, for agents that can ignore it
	ignoring  []string        // besides env, for agents that can ignore some of it
	refused   []string        // files and folders with it, for agents that cannot: directories that have one are refused
}

// InstallHint says how to install the program.
func (p Preset) InstallHint() string {
	return "Install it with `npm install --global " + p.Package + "`."
}

// Presets returns the known agents, by name. Each of them asks before it acts (spec/agents.md, "Safety").
func Presets() []Preset {
	return []Preset{
		{
			Name: "claude", Command: []string{"claude-agent-acp"}, Package: "@agentclientprotocol/claude-agent-acp", mode: "default",
			meta: claudeOptions(`"user","project","local"`), untrusted: claudeOptions(`"user"`),
		},
		{
			Name: "codex", Command: []string{"codex-acp"}, Package: "@agentclientprotocol/codex-acp", mode: "read-only",
			refused: []string{".codex"},
		},
		{
			Name: "copilot-acp", Command: []string{"copilot", "--acp"}, Package: "@github/copilot", mode: "https://agentclientprotocol.com/protocol/session-modes#agent",
			refused: []string{".github/hooks"},
		},
		{
			Name: "gemini", Command: []string{"gemini", "--acp"}, Package: "@google/gemini-cli", mode: "default",
			env: []string{
				"GEMINI_PTY_INFO=child_process",   // with a terminal, it does not send the output of commands
				"GEMINI_CLI_NO_RELAUNCH=true",     // it starts in half the time
				"GEMINI_CLI_TRUST_WORKSPACE=true", // else it uses no MCP servers, also those of clients
			},
			refused: []string{".gemini", ".env"}, // variables like BASH_ENV run commands
		},
		{
			Name: "opencode", Command: []string{"opencode", "acp"}, Package: "opencode-ai", mode: "build",
			env: []string{
				`OPENCODE_PERMISSION={"*":"ask","read":"allow","glob":"allow","grep":"allow","list":"allow","todowrite":"allow","todoread":"allow","task":"allow","skill":"allow"}`,
				"OPENCODE_DISABLE_AUTOUPDATE=1",
			},
			secret:   "OPENCODE_SERVER_PASSWORD",
			ignoring: []string{"OPENCODE_DISABLE_PROJECT_CONFIG=1"},
			refused:  []string{".opencode", "opencode.json", "opencode.jsonc"}, // it runs their plugins even with OPENCODE_DISABLE_PROJECT_CONFIG
		},
	}
}

// claudeOptions returns the "_meta" of sessions of Claude Code: it asks for each command, also for those that only read, and uses the settings of these sources.
func claudeOptions(sources string) json.RawMessage {
	return json.RawMessage(`{"claudeCode":{"options":{"allowDangerouslySkipPermissions":false,"promptSuggestions":false,` +
		`"settings":{"permissions":{"ask":["Bash","Edit","WebFetch","WebSearch"]}},"settingSources":[` + sources + `]}}}`)
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

// preset returns the preset of the agent; an empty one if it is not known.
func (o Options) preset() Preset {
	p, _ := FindPreset(o.Name)
	switch {
	case o.TrustDirectories:
		p.refused, p.ignoring = nil, nil
	case p.untrusted != nil:
		p.meta = p.untrusted
	}
	p.env = slices.Concat(p.env, p.ignoring)
	return p
}

// checkDirectory returns an error if a directory, or one above it, has something that would make the agent run commands without asking. What is
// in the home directory itself is the user's own.
func (p Preset) checkDirectory(directory string) error {
	if len(p.refused) == 0 {
		return nil
	}
	home, _ := os.UserHomeDir()           // "": there is none
	home, _ = filepath.EvalSymlinks(home) // the same
	d, err := filepath.EvalSymlinks(directory)
	if err != nil {
		return fault.Errorf(fault.Invalid, "the directory cannot be used: %w", err)
	}
	for ; ; d = filepath.Dir(d) {
		for _, name := range p.refused {
			path := filepath.Join(d, name)
			if _, err := os.Lstat(path); err == nil && d != home {
				return fault.Errorf(fault.Denied, "%s can make the agent %s run commands without asking. Remove it, or set trust_directories of the agent", path, p.Name)
			}
		}
		if d == filepath.Dir(d) {
			return nil
		}
	}
}

// command returns how to start the program. A known agent starts in the directory of its saved sessions: some use settings of the directory in
// which they start.
func (d *Driver) command() (stdio.Command, error) {
	c := stdio.Command{Words: slices.Clone(d.options.Command), Env: d.options.Env, Log: d.options.Log}
	if c.Env == nil {
		c.Env = os.Environ()
	}
	p := d.preset
	if p.Name == "" {
		return c, nil
	}
	c.Directory = d.saved.directory
	if err := os.MkdirAll(c.Directory, 0o700); err != nil {
		return c, err
	}
	if strings.ContainsRune(c.Words[0], filepath.Separator) {
		words, err := filepath.Abs(c.Words[0])
		if err != nil {
			return c, err
		}
		c.Words[0] = words
	}
	c.Env = with(c.Env, p.env)
	if p.secret != "" {
		c.Env = append(c.Env, p.secret+"="+rand.Text())
	}
	return c, nil
}

// with returns an environment with variables that it does not have yet.
func with(env, more []string) []string {
	env = slices.Clone(env)
	for _, v := range more {
		name, _, _ := strings.Cut(v, "=")
		if !slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
			env = append(env, v)
		}
	}
	return env
}
