package server

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/sdk"
)

// check validates a provider and looks its key up.
func (p *Provider) check(lookup func(string) (string, bool)) error {
	if p.Name == "" || strings.ContainsAny(p.Name, "/ \t\n") {
		return fmt.Errorf("name: %q must be a word without %q", p.Name, "/")
	}
	if p.Name == demoProvider {
		return fmt.Errorf("name: %q is taken by the portal", p.Name)
	}
	if p.Type == "" {
		p.Type = "openai"
	}
	if !slices.Contains([]string{"openai", "azure", "anthropic"}, p.Type) {
		return fmt.Errorf("type: %q is none of openai, azure, anthropic", p.Type)
	}
	if u, err := url.Parse(p.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("base_url: %q is no http or https address", p.BaseURL)
	}
	return p.findKey(lookup)
}

// findKey takes the key from the variable that the configuration names.
func (p *Provider) findKey(lookup func(string) (string, bool)) error {
	if p.APIKeyEnv == "" {
		return nil
	}
	if p.APIKey != "" {
		return errors.New("give api_key or api_key_env, not both")
	}
	key, ok := lookup(p.APIKeyEnv)
	if !ok {
		return fmt.Errorf("api_key_env: the variable %s is not set", p.APIKeyEnv)
	}
	p.APIKey = key
	return nil
}

func (c *Config) sdkProviders() []sdk.Provider {
	list := make([]sdk.Provider, 0, len(c.Providers))
	for _, p := range c.Providers {
		list = append(list, sdk.Provider{Name: p.Name, Type: p.Type, BaseURL: p.BaseURL, APIKey: p.APIKey, Models: p.Models})
	}
	return list
}

// policy is that of permissions.rules; check has validated it.
func (c *Config) policy() copilot.Policy {
	policy := copilot.Policy{}
	for name, d := range c.Permissions.Rules {
		policy[name], _ = copilot.ParseDecision(d)
	}
	return policy
}

// restPolicy is that of sessions started by plain REST.
func (c *Config) restPolicy() copilot.Policy {
	d, _ := copilot.ParseDecision(c.Permissions.Rest) // check has validated it
	return copilot.Everywhere(d)
}
