package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/ui"
)

// Config contains the settings of the portal. Flags override PORTAL_* variables, which override the
// configuration file, which overrides the defaults.
type Config struct {
	Port         int      `mapstructure:"port"`      // 0 means any free port
	Host         string   `mapstructure:"host"`      // "localhost" means 127.0.0.1 and ::1
	BasePath     string   `mapstructure:"base_path"` // "", or a path such as "/portal"
	AllowedHosts []string `mapstructure:"allowed_hosts"`
	LAN          bool     `mapstructure:"lan"` // listen on all addresses; print one with a QR code
	TLS          TLS      `mapstructure:"tls"`
	// AllowedOrigins are the origins of web pages that may use operations, with a token.
	AllowedOrigins []string `mapstructure:"allowed_origins"`
	Token          string   `mapstructure:"token" secret:"true"`
	DataDir        string   `mapstructure:"data_dir"`
	Ephemeral      bool     `mapstructure:"ephemeral"` // store nothing in DataDir
	Debug          bool     `mapstructure:"debug"`
	Terminal       bool     `mapstructure:"terminal"` // the page has a terminal, in the directory of a session

	Sandbox        bool     `mapstructure:"sandbox"`         // run the CLI in bubblewrap; without it, sessions fail to start
	SandboxNetwork string   `mapstructure:"sandbox_network"` // what the sandbox can reach: shared or model
	SandboxHosts   []string `mapstructure:"sandbox_hosts"`   // hosts that the sandbox can reach with "model", besides those of models

	CopilotPath string `mapstructure:"copilot_path"`
	Account     bool   `mapstructure:"account"` // the Copilot CLI uses an account of GitHub
	// AgentCommand is the program, with shell-quoted arguments, that replaces the Copilot CLI; "" means none.
	AgentCommand string  `mapstructure:"agent_command"`
	Agents       []Agent `mapstructure:"agents"` // besides the first one

	Model       string      `mapstructure:"model"`  // of sessions that do not name one
	Titles      string      `mapstructure:"titles"` // who titles the sessions of people: model or prompt
	Demo        bool        `mapstructure:"demo"`
	Permissions Permissions `mapstructure:"permissions"`
	Pool        Pool        `mapstructure:"pool"`
	Limits      Limits      `mapstructure:"limits"`
	Retention   Retention   `mapstructure:"retention"`
	Checkpoints Checkpoints `mapstructure:"checkpoints"`
	Sidecar     Sidecar     `mapstructure:"sidecar"`
	Operations  Operations  `mapstructure:"operations"`
	Jobs        Jobs        `mapstructure:"jobs"`
	Cluster     Cluster     `mapstructure:"cluster"`
	Providers   []Provider  `mapstructure:"providers"`

	// File is the configuration file that was read, or "".
	File string `mapstructure:"-"`
	// UsualFile is the default path of the configuration file, or "" without a home directory.
	UsualFile string `mapstructure:"-"`
	// Home is the user's home directory, or "" if the environment names none.
	Home string `mapstructure:"-"`
	// Origins maps each key that does not have its default value to the source of its value.
	Origins map[string]string `mapstructure:"-"`
	// CopilotEnv is the value of COPILOT_CLI_PATH.
	CopilotEnv string `mapstructure:"-"`
	// Depth is the number of agents above this portal, see [mcp.DepthVariable].
	Depth int `mapstructure:"-"`
}

// The values of titles.
const (
	titlesByModel  = "model"  // which is asked once for each session, after its first run
	titlesByPrompt = "prompt" // the first one
)

// modelTitles returns the origins of sessions whose titles the model gives: those that people start.
func (c *Config) modelTitles() []string {
	if c.Titles == titlesByModel {
		return []string{ui.Origin}
	}
	return nil
}

// Permissions decide what agents may do: allow, ask or deny.
type Permissions struct {
	Rest       permission.Decision `mapstructure:"rest"`       // for sessions that plain REST starts, which cannot ask
	Headless   permission.Decision `mapstructure:"headless"`   // instead of asking, for a terminal or desktop UI that cannot ask
	Operations permission.Decision `mapstructure:"operations"` // for sessions of operations, which run unattended
	Jobs       permission.Decision `mapstructure:"jobs"`       // for sessions of jobs and tasks, which run unattended
	CLI        permission.Decision `mapstructure:"cli"`        // for chats of portal cli and of the same method at /rpc; sessions that generate code have no tools
	Rules      map[string]string   `mapstructure:"rules"`      // by permission name, for all sessions
}

// Provider is a source of models besides GitHub's.
type Provider struct {
	Name      string   `mapstructure:"name"`
	Type      string   `mapstructure:"type"`
	BaseURL   string   `mapstructure:"base_url"`
	APIKey    string   `mapstructure:"api_key" secret:"true"`
	APIKeyEnv string   `mapstructure:"api_key_env"` // name of a variable that contains the key
	Models    []string `mapstructure:"models"`
}

// Sources are the sources of the configuration besides its file.
type Sources struct {
	Flags   *pflag.FlagSet // flags in flagKeys count if they are set
	Environ []string       // "KEY=VALUE"
}

// lookup returns the value of an environment variable.
func (s Sources) lookup(name string) (string, bool) {
	for _, v := range s.Environ {
		if key, value, _ := strings.Cut(v, "="); key == name {
			return value, true
		}
	}
	return "", false
}

// delimiter separates the levels of viper's keys. The default, a dot, occurs in the names of permissions.
const delimiter = "::"

// flagKeys maps flags to the keys they set.
var flagKeys = map[string]string{ //nolint:gochecknoglobals // a constant in all but syntax
	"port": "port", "host": "host", "data-dir": "data_dir", "ephemeral": "ephemeral", "token": "token",
	"base-path": "base_path", "demo": "demo", "sandbox": "sandbox", "sandbox-network": "sandbox_network", "copilot-path": "copilot_path", "agent-command": "agent_command", "agents": "agents", "debug": "debug", "terminal": "terminal",
	"lan": "lan", "callback": "sidecar::callback", "jobs": "jobs::book",
}

// defaults returns the defaults of all keys that environment variables can set.
func defaults() map[string]any {
	return map[string]any{
		"port": 8888, "host": "localhost", "base_path": "", "lan": false, "tls::cert": "", "tls::key": "", "allowed_hosts": []string{}, "allowed_origins": []string{}, "token": "",
		"data_dir": "", "ephemeral": false, "debug": false, "terminal": false, "sandbox": false, "sandbox_network": "shared", "titles": titlesByModel, "sandbox_hosts": []string{},
		"copilot_path": "", "account": true, "agent_command": "", "agents": []string{}, "model": "", "demo": false,
		"permissions::rest": "allow", "permissions::headless": "deny", "permissions::operations": "allow",
		"permissions::jobs": "allow", "permissions::cli": "allow",
		"pool::size": 1, "pool::sessions_per_process": 50, "pool::linger": "10s", "pool::warm": "auto", "pool::start_timeout": "30s",
		"pool::ping_every": "5s", "pool::silence_limit": "10s", "pool::memory_limit": 1024,
		"limits::sessions": 500, "limits::runs": 50, "limits::studio": 8, "limits::question": "0s", "limits::tool": "10m", "limits::idle": "30m", "limits::depth": 3,
		"retention::age": "0s", "retention::size": 4096,
		"checkpoints::enabled": true, "checkpoints::file_size": 10, "checkpoints::files": 100_000, "checkpoints::size": 1024,
		"sidecar::idle": "2h", "sidecar::callback": "", "sidecar::callback_remote": false, "sidecar::unattended": "2m",
		"operations::retention": "10m", "operations::connections": 100, "operations::compression": false,
		"cluster::nats": []string{}, "cluster::group": "portal", "cluster::name": "", "cluster::credentials": "", "cluster::replicas": 1, "cluster::lease": "10s",
		"cluster::tls::ca": "", "cluster::tls::cert": "", "cluster::tls::key": "", "cluster::directories": []string{},
		"jobs::book": "", "jobs::retention": "168h", "jobs::parallel": 30,
	}
}

// variable returns the name of the environment variable of a key.
func variable(key string) string {
	return "PORTAL_" + strings.ToUpper(strings.ReplaceAll(key, delimiter, "_"))
}

// Load reads and validates the configuration. The error lists every fault that it finds.
func Load(s Sources) (Config, error) {
	v := viper.NewWithOptions(viper.KeyDelimiter(delimiter))
	c := Config{Origins: map[string]string{}, Home: homeDirectory(s.lookup), UsualFile: userPath(s.lookup, "XDG_CONFIG_HOME", ".config", "portal", "config.yaml")}
	var err error
	if c.File, err = readFile(v, s, c.UsualFile); err != nil {
		return Config{}, err
	}
	faults := c.fill(v, s)
	if err := errors.Join(faults, c.decode(v, s.lookup)); err != nil {
		return Config{}, invalid(c.File, err)
	}
	c.CopilotEnv, _ = s.lookup("COPILOT_CLI_PATH")
	c.Depth, err = depthOf(s)
	return c, err
}

// fill merges the defaults, the configuration file, variables and flags, in order of increasing precedence.
func (c *Config) fill(v *viper.Viper, s Sources) error {
	faults := errors.Join(withoutValue(v), unknownVariables(s))
	for _, key := range v.AllKeys() {
		if v.Get(key) != nil {
			c.Origins[key] = "file"
		}
	}
	for key, value := range defaults() {
		v.SetDefault(key, value)
		if text, _ := s.lookup(variable(key)); text != "" {
			v.Set(key, text)
			c.Origins[key] = "variable " + variable(key)
		}
	}
	for flag, key := range flagKeys {
		if f := s.Flags.Lookup(flag); f != nil && f.Changed {
			v.Set(key, f.Value.String())
			c.Origins[key] = "flag --" + flag
		}
	}
	return faults
}

// invalid formats faults, one per line, with the sources they may come from.
func invalid(file string, err error) error {
	sources := "flags and PORTAL_* variables"
	if file != "" {
		sources = "flags, PORTAL_* variables and " + file
	}
	faults := strings.NewReplacer("decoding failed due to the following error(s):\n\n", "", "'' has invalid keys:", "unknown keys:").Replace(err.Error())
	return fmt.Errorf("the configuration (%s) is not valid:\n%s", sources, faults)
}

// decode copies the values into c. It checks the values even if there are unknown keys, so that it can report
// all faults at once.
func (c *Config) decode(v *viper.Viper, lookup func(string) (string, bool)) error {
	faults := v.UnmarshalExact(c, viper.DecodeHook(decodeText))
	if v.Unmarshal(c, viper.DecodeHook(decodeText)) != nil {
		return faults
	}
	if err := c.Permissions.restoreCase(c.File); err != nil {
		faults = errors.Join(faults, err)
	}
	return errors.Join(faults, c.check(lookup))
}

// decodeText decodes what viper does not: durations with a unit, lists in variables, and names of agents.
func decodeText(_, to reflect.Type, value any) (any, error) {
	value = decodeAgents(to, value)
	switch {
	case to == reflect.TypeFor[time.Duration]():
		return parseDuration(fmt.Sprint(value))
	case to == reflect.TypeFor[[]string]():
		if text, ok := value.(string); ok {
			return splitList(text), nil
		}
	}
	return value, nil
}

// splitList returns the elements of a list in a variable, without blanks around them and without empty ones.
func splitList(text string) []string {
	list := strings.Split(text, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

// parseDuration parses a duration. It also accepts days, such as "30d".
func parseDuration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil {
			return time.Duration(n * float64(24*time.Hour)), nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration: use a number with a unit, such as 10s or 30d", text)
	}
	return d, nil
}

// configVariable is the variable that names the configuration file.
const configVariable = "PORTAL_CONFIG"

// readFile reads the file of --config or PORTAL_CONFIG, which must exist, else the one at the usual path if
// it exists. It returns the path of the file that it read, or "".
func readFile(v *viper.Viper, s Sources, usual string) (string, error) {
	path, err := s.Flags.GetString("config")
	if err != nil {
		return "", err
	}
	if path == "" {
		path, _ = s.lookup(configVariable)
	}
	named := path != ""
	if !named {
		path = usual
	}
	if path == "" {
		return "", nil
	}
	if _, err := os.Stat(path); !named && errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	v.SetConfigFile(path)
	v.SetConfigType(configType(path))
	if err := v.ReadInConfig(); err != nil {
		return "", fmt.Errorf("cannot read the configuration file %s: %w", path, err)
	}
	return path, nil
}

// configType returns the format of a configuration file: YAML, unless its name says otherwise.
func configType(path string) string {
	kind := strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
	if slices.Contains([]string{"json", "toml", "env", "dotenv"}, kind) {
		return kind
	}
	return "yaml"
}

// homeDirectory returns the user's home directory, or "" if the environment names none.
func homeDirectory(lookup func(string) (string, bool)) string {
	for _, variable := range []string{"HOME", "USERPROFILE"} { // the second one is that of Windows
		if home, _ := lookup(variable); filepath.IsAbs(home) {
			return home
		}
	}
	return ""
}

// userPath returns a path in the directory that a variable of the XDG base directories names, else in usual below the home directory.
// A relative value does not count (XDG Base Directory Specification, "Environment variables"). Without both, it returns "".
func userPath(lookup func(string) (string, bool), variable, usual string, elements ...string) string {
	directory, _ := lookup(variable)
	if !filepath.IsAbs(directory) {
		home := homeDirectory(lookup)
		if home == "" {
			return ""
		}
		directory = filepath.Join(home, filepath.FromSlash(usual))
	}
	return filepath.Join(directory, filepath.Join(elements...))
}

// checkPaths makes paths absolute, because agents start in other directories. It reports each fault.
func (c *Config) checkPaths(lookup func(string) (string, bool), fault func(format string, args ...any)) {
	var err error
	if c.DataDir == "" {
		c.DataDir = userPath(lookup, "XDG_DATA_HOME", ".local/share", "copilot-portal")
	}
	if c.DataDir, err = absolute(c.DataDir); err != nil {
		fault("data_dir: %w", err)
	}
	if filepath.Base(c.CopilotPath) == c.CopilotPath {
		return // a name on PATH
	}
	if c.CopilotPath, err = absolute(c.CopilotPath); err != nil {
		fault("copilot_path: %w", err)
	}
}

// CheckDataDir returns an error if there is neither a data directory nor the setting to store nothing. Only what opens the data needs it.
func (c *Config) CheckDataDir() error {
	if err := c.missingDataDir(); err != nil {
		return invalid(c.File, err)
	}
	return nil
}

// missingDataDir says what [Config.CheckDataDir] reports.
func (c *Config) missingDataDir() error {
	if c.DataDir != "" || c.Ephemeral {
		return nil
	}
	return errors.New("data_dir: the environment names no home directory (HOME); choose a directory with --data-dir or data_dir, or store nothing with --ephemeral")
}

// absolute returns the absolute form of a path; "" stays.
func absolute(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return filepath.Abs(path)
}

// checkToken removes what surrounds the token, such as the line break of a secret that echo has written. It reports each fault.
func (c *Config) checkToken(fault func(format string, args ...any)) {
	given := c.Token
	c.Token = strings.TrimSpace(given)
	switch {
	case given != "" && c.Token == "":
		fault("token: it is blank; set one, or remove it")
	case strings.ContainsFunc(c.Token, unicode.IsControl):
		fault("token: it must not contain line breaks or other control characters, which clients cannot send")
	}
}

// check validates what viper does not, and reads API keys from the environment.
func (c *Config) check(lookup func(string) (string, bool)) error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.Port < 0 || c.Port > 65535 {
		fault("port: %d is not between 0 and 65535", c.Port)
	}
	var err error
	if c.BasePath, err = cleanBase(c.BasePath); err != nil {
		fault("base_path: %w", err)
	}
	c.checkPaths(lookup, fault)
	c.checkToken(fault)
	c.checkHosts(fault)
	c.checkLAN(fault)
	c.TLS.check(fault)
	if c.Titles != titlesByModel && c.Titles != titlesByPrompt {
		fault("titles: %q is neither %s nor %s", c.Titles, titlesByModel, titlesByPrompt)
	}
	origins(c.AllowedOrigins).check(fault)
	c.Permissions.check(fault)
	c.Pool.check(fault)
	c.checkAgent(fault)
	c.checkSandbox(fault)
	c.Limits.check(fault)
	c.Retention.check(fault)
	c.Checkpoints.check(fault)
	c.Sidecar.check(fault)
	c.Operations.check(fault)
	c.Jobs.check(fault)
	c.Cluster.check(fault)
	seen := map[string]bool{}
	for i := range c.Providers {
		p, at := &c.Providers[i], fmt.Sprintf("providers[%d].", i)
		p.check(lookup, func(format string, args ...any) { fault(at+format, args...) })
		if seen[p.Name] {
			fault(at+"name: %q is already used", p.Name)
		}
		seen[p.Name] = true
	}
	c.checkAgents(fault)
	return errors.Join(faults...)
}

// check reports each fault of the permissions.
func (p *Permissions) check(fault func(format string, args ...any)) {
	read := func(key string, d *permission.Decision) {
		var err error
		if *d, err = permission.ParseDecision(string(*d)); err != nil {
			fault("permissions.%s: %w", key, err)
		}
	}
	read("rest", &p.Rest)
	read("headless", &p.Headless)
	read("operations", &p.Operations)
	read("jobs", &p.Jobs)
	read("cli", &p.CLI)
	for rule, decision := range p.Rules {
		if _, _, err := permission.ParseRule(rule, decision); err != nil {
			fault("permissions.rules.%s: %w", rule, err)
		}
	}
}
