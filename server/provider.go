package server

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/demo"
	"github.com/copilot-portal/portal/copilot/permission"
)

// defaultType is the type of a provider that does not set one.
const defaultType = "openai"

// check validates a provider, reports each fault, and looks up the key.
func (p *Provider) check(lookup func(string) (string, bool), fault func(format string, args ...any)) {
	if p.Name == "" || strings.ContainsAny(p.Name, "/ \t\n") {
		fault("name: %q must be a word without %q", p.Name, "/")
	}
	if p.Name == demoProvider {
		fault("name: %q is reserved by the portal", p.Name)
	}
	if p.Type == "" {
		p.Type = defaultType
	}
	if !slices.Contains([]string{"openai", "azure", "anthropic"}, p.Type) {
		fault("type: %q is unknown; use openai, azure or anthropic", p.Type)
	}
	p.checkAddress(fault)
	if slices.Contains(p.Models, "") {
		fault("models: ids must not be empty")
	}
	p.findKey(lookup, fault)
}

// checkAddress rejects addresses that contain credentials, because logs and commands show addresses.
func (p *Provider) checkAddress(fault func(format string, args ...any)) {
	u, err := url.Parse(p.BaseURL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		fault("base_url: %q is not an http or https address", WithoutSecrets(p.BaseURL))
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		fault("base_url: %q must not contain a user, password or parameters; set the key with api_key or api_key_env", WithoutSecrets(p.BaseURL))
	}
}

// WithoutSecrets returns the part of an address that may be shown, even if the address is malformed.
func WithoutSecrets(address string) string {
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

// findKey reads the key from the variable that the configuration names. [Config.CheckKeys] reports one that is unset.
func (p *Provider) findKey(lookup func(string) (string, bool), fault func(format string, args ...any)) {
	if p.APIKeyEnv != "" && p.APIKey != "" {
		fault("api_key_env: set either api_key_env or api_key, not both")
		return
	}
	if p.APIKeyEnv != "" {
		p.APIKey, _ = lookup(p.APIKeyEnv)
	}
	p.APIKey = strings.TrimSpace(p.APIKey) // a secret often ends with a line break
}

// checkKey returns an error if the variable of the key is unset.
func (p *Provider) checkKey() error {
	if p.APIKeyEnv == "" || p.APIKey != "" {
		return nil
	}
	return fmt.Errorf("api_key_env: the variable %s is unset or empty", p.APIKeyEnv)
}

// CheckKeys returns an error if a provider lacks the key that it is configured to have. Only agents need the keys.
func (c *Config) CheckKeys() error {
	if err := c.missingKeys(); err != nil {
		return invalid(c.File, err)
	}
	return nil
}

// missingKeys names the keys that are unset; nil if there are none.
func (c *Config) missingKeys() error {
	var faults []error
	for i := range c.Providers {
		if err := c.Providers[i].checkKey(); err != nil {
			faults = append(faults, fmt.Errorf("providers[%d].%w", i, err))
		}
	}
	return errors.Join(faults...)
}

func (c *Config) sdkProviders() []sdk.Provider {
	list := make([]sdk.Provider, 0, len(c.Providers))
	for _, p := range c.Providers {
		list = append(list, sdk.Provider{Name: p.Name, Type: p.Type, BaseURL: p.BaseURL, APIKey: p.APIKey, Models: p.Models})
	}
	return list
}

// policy returns the policy of permissions.rules, which check has validated.
func (c *Config) policy() permission.Policy {
	policy := permission.Policy{}
	for rule, decision := range c.Permissions.Rules {
		if key, d, err := permission.ParseRule(rule, decision); err == nil {
			policy[key] = d
		}
	}
	return policy
}

// KnownModels returns the ids of the models that the configuration determines, without querying an agent or a
// provider.
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
