package server

import (
	"net/url"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/demo"
	"github.com/copilot-portal/portal/copilot/permission"
)

// defaultType is that of a provider that names none.
const defaultType = "openai"

// check validates a provider, tells each fault, and looks the key up.
func (p *Provider) check(lookup func(string) (string, bool), fault func(format string, args ...any)) {
	if p.Name == "" || strings.ContainsAny(p.Name, "/ \t\n") {
		fault("name: %q must be a word without %q", p.Name, "/")
	}
	if p.Name == demoProvider {
		fault("name: %q is taken by the portal", p.Name)
	}
	if p.Type == "" {
		p.Type = defaultType
	}
	if !slices.Contains([]string{"openai", "azure", "anthropic"}, p.Type) {
		fault("type: %q is none of openai, azure, anthropic", p.Type)
	}
	p.checkAddress(fault)
	if slices.Contains(p.Models, "") {
		fault("models: an id is empty")
	}
	p.findKey(lookup, fault)
}

// checkAddress refuses what would show credentials: addresses are told in logs
// and by commands.
func (p *Provider) checkAddress(fault func(format string, args ...any)) {
	u, err := url.Parse(p.BaseURL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		fault("base_url: %q is no http or https address", withoutSecrets(p.BaseURL))
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		fault("base_url: %q must have no user, password or parameters; for a key there are api_key and api_key_env", withoutSecrets(p.BaseURL))
	}
}

// withoutSecrets is what may be shown of an address, even of a broken one.
func withoutSecrets(address string) string {
	address, _, _ = strings.Cut(address, "?")
	address, _, _ = strings.Cut(address, "#")
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		scheme, rest = "", address
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = "…@" + rest[at+1:]
	}
	if !ok {
		return rest
	}
	return scheme + "://" + rest
}

// findKey takes the key from the variable that the configuration names.
func (p *Provider) findKey(lookup func(string) (string, bool), fault func(format string, args ...any)) {
	if p.APIKeyEnv == "" {
		return
	}
	if p.APIKey != "" {
		fault("api_key_env: give it or api_key, not both")
		return
	}
	if p.APIKey, _ = lookup(p.APIKeyEnv); p.APIKey == "" {
		fault("api_key_env: the variable %s is not set or empty", p.APIKeyEnv)
	}
}

func (c *Config) sdkProviders() []sdk.Provider {
	list := make([]sdk.Provider, 0, len(c.Providers))
	for _, p := range c.Providers {
		list = append(list, sdk.Provider{Name: p.Name, Type: p.Type, BaseURL: p.BaseURL, APIKey: p.APIKey, Models: p.Models})
	}
	return list
}

// policy is that of permissions.rules; check has validated it.
func (c *Config) policy() permission.Policy {
	policy := permission.Policy{}
	for rule, decision := range c.Permissions.Rules {
		if key, d, err := permission.ParseRule(rule, decision); err == nil {
			policy[key] = d
		}
	}
	return policy
}

// restPolicy is that of sessions started by plain REST.
func (c *Config) restPolicy() permission.Policy {
	d, _ := permission.ParseDecision(c.Permissions.Rest) // check has validated it
	return permission.Everywhere(d)
}

// KnownModels are the ids of models that can be told without asking anybody.
func (c *Config) KnownModels() []string {
	var ids []string
	if c.Model != "" {
		ids = append(ids, c.Model)
	}
	for _, p := range c.Providers {
		for _, id := range p.Models {
			ids = append(ids, p.Name+"/"+id)
		}
	}
	if c.Demo || len(c.Providers) == 0 {
		ids = append(ids, demo.ModelID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
