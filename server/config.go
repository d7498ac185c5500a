package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/copilot-portal/portal/copilot/permission"
)

// Config is what the user can set: by flags, over PORTAL_* variables, over the
// configuration file, over the defaults.
type Config struct {
	Port         int      `mapstructure:"port"`      // 0: any free one
	Host         string   `mapstructure:"host"`      // "localhost": 127.0.0.1 and ::1
	BasePath     string   `mapstructure:"base_path"` // "", or as in "/portal"
	AllowedHosts []string `mapstructure:"allowed_hosts"`
	// AllowedOrigins are those of web pages that may use the operations, with a token.
	AllowedOrigins []string `mapstructure:"allowed_origins"`
	Token          string   `mapstructure:"token" secret:"true"`
	DataDir        string   `mapstructure:"data_dir"`
	Ephemeral      bool     `mapstructure:"ephemeral"` // nothing is kept there
	Debug          bool     `mapstructure:"debug"`

	Sandbox        bool     `mapstructure:"sandbox"`         // the CLI runs under bubblewrap, or no session starts
	SandboxNetwork string   `mapstructure:"sandbox_network"` // what it reaches then: shared or model
	SandboxHosts   []string `mapstructure:"sandbox_hosts"`   // that it reaches with model, besides those of models

	CopilotPath string `mapstructure:"copilot_path"`
	// AgentCommand is another program in place of the Copilot CLI, with its arguments as in a shell; "" for none.
	AgentCommand string `mapstructure:"agent_command"`

	Model       string      `mapstructure:"model"` // of sessions that name none
	Demo        bool        `mapstructure:"demo"`
	Permissions Permissions `mapstructure:"permissions"`
	Pool        Pool        `mapstructure:"pool"`
	Limits      Limits      `mapstructure:"limits"`
	Retention   Retention   `mapstructure:"retention"`
	Sidecar     Sidecar     `mapstructure:"sidecar"`
	Operations  Operations  `mapstructure:"operations"`
	Jobs        Jobs        `mapstructure:"jobs"`
	Providers   []Provider  `mapstructure:"providers"`

	// File is the configuration file that was read, "" if none.
	File string `mapstructure:"-"`
	// UsualFile is where it is looked for when nothing names one.
	UsualFile string `mapstructure:"-"`
	// Origins say where the values of keys came from that are not the defaults.
	Origins map[string]string `mapstructure:"-"`
	// CopilotEnv is COPILOT_CLI_PATH.
	CopilotEnv string `mapstructure:"-"`
}

// Permissions decide what agents may do: allow, ask or deny.
type Permissions struct {
	Rest       string            `mapstructure:"rest"`       // of sessions started by plain REST, which has no way to ask
	Headless   string            `mapstructure:"headless"`   // in place of a terminal or desktop UI that cannot ask
	Operations string            `mapstructure:"operations"` // of the sessions of operations, which work while nobody watches
	Jobs       string            `mapstructure:"jobs"`       // of the sessions of jobs and tasks, which do the same
	CLI        string            `mapstructure:"cli"`        // of the conversations of the studio; who writes code there may do nothing
	Rules      map[string]string `mapstructure:"rules"`      // by name, for all sessions
}

// Provider is a source of models besides GitHub's.
type Provider struct {
	Name      string   `mapstructure:"name"`
	Type      string   `mapstructure:"type"`
	BaseURL   string   `mapstructure:"base_url"`
	APIKey    string   `mapstructure:"api_key" secret:"true"`
	APIKeyEnv string   `mapstructure:"api_key_env"` // name of the variable that holds it
	Models    []string `mapstructure:"models"`
}

// Sources are where the configuration comes from besides its file.
type Sources struct {
	Flags   *pflag.FlagSet // those named in flagKeys count when set
	Environ []string       // "KEY=VALUE"
}

// lookup finds a variable.
func (s Sources) lookup(name string) (string, bool) {
	for _, v := range s.Environ {
		if key, value, _ := strings.Cut(v, "="); key == name {
			return value, true
		}
	}
	return "", false
}

// delimiter stands between the levels of viper's keys. Not its usual dot, which
// the names of permissions contain.
const delimiter = "::"

// flagKeys are the keys that flags set.
var flagKeys = map[string]string{ //nolint:gochecknoglobals // a constant in all but syntax
	"port": "port", "host": "host", "data-dir": "data_dir", "ephemeral": "ephemeral", "token": "token",
	"base-path": "base_path", "demo": "demo", "sandbox": "sandbox", "sandbox-network": "sandbox_network", "copilot-path": "copilot_path", "agent-command": "agent_command", "debug": "debug",
	"callback": "sidecar::callback", "jobs": "jobs::book",
}

// defaults are those of all keys that a variable can set, too.
func defaults(lookup func(string) (string, bool)) map[string]any {
	return map[string]any{
		"port": 8888, "host": "localhost", "base_path": "", "allowed_hosts": []string{}, "allowed_origins": []string{}, "token": "",
		"data_dir": dataDir(lookup), "ephemeral": false, "debug": false, "sandbox": false, "sandbox_network": "shared", "sandbox_hosts": []string{},
		"copilot_path": "", "agent_command": "", "model": "", "demo": false,
		"permissions::rest": "allow", "permissions::headless": "deny", "permissions::operations": "allow",
		"permissions::jobs": "allow", "permissions::cli": "allow",
		"pool::size": 1, "pool::sessions_per_process": 50, "pool::linger": "10s", "pool::start_timeout": "10s",
		"pool::ping_every": "5s", "pool::silence_limit": "10s", "pool::memory_limit": 1024,
		"limits::sessions": 500, "limits::runs": 50, "limits::studio": 8, "limits::question": "0s", "limits::tool": "10m", "limits::idle": "30m",
		"retention::age": "0s", "retention::size": 4096,
		"sidecar::idle": "2h", "sidecar::callback": "", "sidecar::callback_remote": false, "sidecar::unattended": "2m",
		"operations::retention": "10m", "operations::connections": 100, "operations::compression": false,
		"jobs::book": "", "jobs::retention": "168h", "jobs::parallel": 30,
	}
}

// variable is the name of the environment variable for a key.
func variable(key string) string {
	return "PORTAL_" + strings.ToUpper(strings.ReplaceAll(key, delimiter, "_"))
}

// Load reads the configuration. An error names the faults that can be seen together.
func Load(s Sources) (Config, error) {
	v := viper.NewWithOptions(viper.KeyDelimiter(delimiter))
	c := Config{Origins: map[string]string{}, UsualFile: filepath.Join(configHome(s.lookup), "portal", "config.yaml")}
	var err error
	if c.File, err = readFile(v, s, c.UsualFile); err != nil {
		return Config{}, err
	}
	faults := c.fill(v, s)
	if err := errors.Join(faults, c.decode(v, s.lookup)); err != nil {
		return Config{}, invalid(c.File, err)
	}
	c.CopilotEnv, _ = s.lookup("COPILOT_CLI_PATH")
	return c, nil
}

// fill puts defaults under what the file says, and variables and flags over it.
func (c *Config) fill(v *viper.Viper, s Sources) error {
	faults := errors.Join(withoutValue(v), unknownVariables(s))
	for _, key := range v.AllKeys() {
		if v.Get(key) != nil {
			c.Origins[key] = "file"
		}
	}
	for key, value := range defaults(s.lookup) {
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

// invalid says in a line each what is wrong, and where it can come from.
func invalid(file string, err error) error {
	sources := "flags and PORTAL_* variables"
	if file != "" {
		sources = "flags, PORTAL_* variables and " + file
	}
	faults := strings.NewReplacer("decoding failed due to the following error(s):\n\n", "", "'' has invalid keys:", "unknown keys:").Replace(err.Error())
	return fmt.Errorf("the configuration (%s) is not valid:\n%s", sources, faults)
}

// decode takes the values over. Values that could be read are checked even if
// there are keys that nobody knows, so that all faults are told at once.
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

// decodeText reads what viper does not: durations, which need a unit, and lists
// from variables.
func decodeText(_, to reflect.Type, value any) (any, error) {
	switch {
	case to == reflect.TypeFor[time.Duration]():
		return parseDuration(fmt.Sprint(value))
	case to == reflect.TypeFor[[]string]():
		if text, ok := value.(string); ok {
			return strings.Split(text, ","), nil
		}
	}
	return value, nil
}

// parseDuration reads a duration, also one in days.
func parseDuration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil {
			return time.Duration(n * float64(24*time.Hour)), nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration: a number and a unit are needed, as in 10s or 30d", text)
	}
	return d, nil
}

// configVariable names the configuration file.
const configVariable = "PORTAL_CONFIG"

// readFile reads the file of --config or PORTAL_CONFIG, which must exist, or the
// one in the usual place if it exists.
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
	if _, err := os.Stat(path); !named && errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	v.SetConfigFile(path)
	if err := v.ReadInConfig(); err != nil {
		return "", fmt.Errorf("the configuration file %s could not be read: %w", path, err)
	}
	return path, nil
}

func configHome(lookup func(string) (string, bool)) string {
	if dir, _ := lookup("XDG_CONFIG_HOME"); dir != "" {
		return dir
	}
	home, _ := lookup("HOME")
	return filepath.Join(home, ".config")
}

func dataDir(lookup func(string) (string, bool)) string {
	if dir, _ := lookup("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "copilot-portal")
	}
	home, _ := lookup("HOME")
	return filepath.Join(home, ".local", "share", "copilot-portal")
}

// check finds what viper cannot, and fills in keys from the environment.
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
	origins(c.AllowedOrigins).check(fault)
	c.Permissions.check(fault)
	c.Pool.check(fault)
	c.checkAgent(fault)
	c.checkSandbox(fault)
	c.Limits.check(fault)
	c.Retention.check(fault)
	c.Sidecar.check(fault)
	c.Operations.check(fault)
	c.Jobs.check(fault)
	seen := map[string]bool{}
	for i := range c.Providers {
		p, at := &c.Providers[i], fmt.Sprintf("providers[%d].", i)
		p.check(lookup, func(format string, args ...any) { fault(at+format, args...) })
		if seen[p.Name] {
			fault(at+"name: %q is taken", p.Name)
		}
		seen[p.Name] = true
	}
	return errors.Join(faults...)
}

// check tells each fault of the permissions.
func (p *Permissions) check(fault func(format string, args ...any)) {
	read := func(key string, text *string) {
		d, err := permission.ParseDecision(*text)
		if err != nil {
			fault("permissions.%s: %w", key, err)
		}
		*text = string(d)
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
