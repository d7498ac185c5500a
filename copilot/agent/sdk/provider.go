package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	vendor "github.com/github/copilot-sdk/go"
)

// Provider is a source of further models: Ollama, vLLM, OpenAI, Azure, Anthropic, or anything compatible.
type Provider struct {
	Name    string // prefix of its models' ids; without "/"
	Title   string // name of its only model, for the demo; other models are named by their ids
	Type    string // openai, azure or anthropic
	BaseURL string
	APIKey  string   // "" for servers without keys
	Models  []string // empty means those that the provider lists
}

func (p *Provider) config() vendor.NamedProviderConfig {
	return vendor.NamedProviderConfig{Name: p.Name, Type: p.Type, BaseURL: p.base(), APIKey: p.APIKey}
}

// root returns what the CLI appends to the address for each type; for openai, the address contains it.
func (p *Provider) root() string {
	switch p.Type {
	case "anthropic":
		return "/v1"
	case "azure":
		return "/openai/v1"
	}
	return ""
}

// base returns the address in the form of the CLI. Users often write it with the root.
func (p *Provider) base() string {
	return strings.TrimSuffix(strings.TrimRight(p.BaseURL, "/"), p.root())
}

// listTimeout limits the request for a provider's models: a list without them is better than none.
const listTimeout = 5 * time.Second

// Ask requests the ids of the provider's models, even if some are configured.
func (p *Provider) Ask(ctx context.Context) ([]string, error) {
	asked := *p
	asked.Models = nil
	return asked.models(ctx)
}

// models returns the ids of the provider's models.
func (p *Provider) models(ctx context.Context) ([]string, error) {
	if len(p.Models) > 0 {
		return p.Models, nil
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base()+p.root()+"/models", nil)
	if err != nil {
		return nil, err
	}
	p.address(req)
	// A redirect could send the key to another host.
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", req.URL.Redacted(), resp.Status)
	}
	return decodeModels(io.LimitReader(resp.Body, 4<<20))
}

// address adds the path and the key to a request, depending on the provider's type.
func (p *Provider) address(req *http.Request) {
	if p.Type == "anthropic" {
		req.Header.Set("Anthropic-Version", "2023-06-01")
		req.URL.RawQuery = "limit=1000" // the default is 20
	}
	switch {
	case p.APIKey == "":
	case p.Type == "anthropic":
		req.Header.Set("X-Api-Key", p.APIKey)
	case p.Type == "azure":
		req.Header.Set("Api-Key", p.APIKey)
	default:
		req.Header.Set("Authorization", "Bearer "+p.APIKey)
	}
}

// decodeModels decodes {"data": [{"id": …}]}, the response of all known types.
func decodeModels(r io.Reader) ([]string, error) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(r).Decode(&list); err != nil {
		return nil, fmt.Errorf("the list of models is not JSON of the expected form: %w", err)
	}
	ids, seen := make([]string, 0, len(list.Data)), map[string]bool{"": true}
	for _, m := range list.Data {
		if !seen[m.ID] {
			seen[m.ID] = true
			ids = append(ids, m.ID)
		}
	}
	return ids, nil
}
