package agent

import (
	"cmp"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/secret"
)

// ServerConfig is the configuration of an MCP server: of a program that speaks on its standard streams if Command is set, otherwise of a
// server at a URL.
type ServerConfig struct {
	Name    string
	Command string // a path, or a name that is looked up
	Args    []string
	Env     map[string]string // variables of the program
	URL     string            // http or https
	Headers map[string]string // of each request to the URL
	SSE     bool              // the URL has the older transport, HTTP+SSE; only in [Opening.Servers]
}

// Equal reports whether two configurations are the same.
func (c ServerConfig) Equal(d ServerConfig) bool {
	return c.Name == d.Name && c.Command == d.Command && c.URL == d.URL && c.SSE == d.SSE &&
		slices.Equal(c.Args, d.Args) && maps.Equal(c.Env, d.Env) && maps.Equal(c.Headers, d.Headers)
}

// maxServerName is the greatest length of a server's name, in bytes.
const maxServerName = 100

// Check checks what agents do not, and what they refuse only when they start the server. Errors: kind [fault.Invalid].
func (c ServerConfig) Check() error {
	if strings.TrimSpace(c.Name) == "" || len(c.Name) > maxServerName || strings.ContainsFunc(c.Name, unicode.IsControl) {
		return fault.Errorf(fault.Invalid, "the server needs a name of at most %d characters in one line", maxServerName)
	}
	if (c.Command == "") == (c.URL == "") {
		return fault.Errorf(fault.Invalid, "the server needs either a command or a URL")
	}
	if c.URL != "" {
		return cmp.Or(c.checkURL(), checkNames("header", c.Headers))
	}
	return cmp.Or(c.checkCommand(), checkNames("variable", c.Env))
}

func (c ServerConfig) checkURL() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		return fault.Errorf(fault.Invalid, "the URL must begin with https:// or http:// and name a host")
	case len(c.Args)+len(c.Env) > 0:
		return fault.Errorf(fault.Invalid, "arguments and variables belong to a command, not to a URL")
	}
	return nil
}

func (c ServerConfig) checkCommand() error {
	if len(c.Headers) > 0 || c.SSE {
		return fault.Errorf(fault.Invalid, "headers and the transport SSE belong to a URL, not to a command")
	}
	if strings.Contains(strings.Join(append([]string{c.Command}, c.Args...), " "), "\x00") {
		return fault.Errorf(fault.Invalid, "the command and its arguments must not contain a null character")
	}
	return nil
}

// checkNames checks the names and values of variables or headers.
func checkNames(what string, m map[string]string) error {
	for name, value := range m {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r == '=' || r == ':' || unicode.IsSpace(r) || unicode.IsControl(r) }) {
			return fault.Errorf(fault.Invalid, "%q is not the name of a %s", name, what)
		}
		if strings.ContainsAny(value, "\x00\r\n") && what == "header" || strings.ContainsRune(value, 0) {
			return fault.Errorf(fault.Invalid, "the value of the %s %s contains a character that is not allowed", what, name)
		}
	}
	return nil
}

// Masked returns the configuration without credentials in arguments and addresses. [ExtensionStore.Servers] has left out the values of
// variables and headers.
func (c ServerConfig) Masked() ServerConfig {
	args := make([]string, len(c.Args))
	for i, arg := range c.Args {
		args[i] = secret.Mask(arg)
		if i > 0 && secretOption.MatchString(c.Args[i-1]) {
			args[i] = "***"
		}
		if name, value, ok := strings.Cut(arg, "="); ok && value != "" && secretOption.MatchString(name) {
			args[i] = name + "=***"
		}
	}
	c.Args, c.Command, c.URL = args, secret.Mask(c.Command), maskQuery(secret.Mask(c.URL))
	return c
}

// secretOption matches options whose value is a credential.
var secretOption = regexp.MustCompile(`(?i)^-{1,2}[a-z-]*(token|secret|password|passwd|api-?key|credential)s?$`)

// maskQuery removes the values of an address' query, which often has a key.
func maskQuery(address string) string {
	path, query, ok := strings.Cut(address, "?")
	if !ok {
		return address
	}
	parts := strings.Split(query, "&")
	for i, part := range parts {
		if name, _, ok := strings.Cut(part, "="); ok {
			parts[i] = name + "=***"
		}
	}
	return path + "?" + strings.Join(parts, "&")
}
