package sdk

import (
	"encoding/json"

	vendor "github.com/github/copilot-sdk/go"

	"github.com/copilot-portal/portal/copilot/agent"
)

// vendorServers are the MCP servers of a conversation, with all their tools.
func vendorServers(o agent.Opening) map[string]vendor.MCPServerConfig {
	servers := map[string]vendor.MCPServerConfig{}
	for _, s := range o.Servers {
		servers[s.Name] = vendorServer(s, o.Directory)
	}
	return servers
}

// vendorServer starts programs in the directory of the session.
func vendorServer(s agent.ServerConfig, directory string) vendor.MCPServerConfig {
	tools := []string{"*"}
	if s.Command != "" {
		return vendor.MCPStdioServerConfig{Tools: tools, Command: s.Command, Args: append([]string{}, s.Args...), Env: s.Env, WorkingDirectory: directory}
	}
	remote := vendor.MCPHTTPServerConfig{Tools: tools, URL: s.URL, Headers: s.Headers}
	if s.SSE {
		return sseServer{remote}
	}
	return remote
}

// sseServer is a server with the transport HTTP+SSE, which the CLI knows and the SDK does not.
type sseServer struct{ vendor.MCPHTTPServerConfig }

// MarshalJSON encodes the configuration with the type that the CLI expects.
func (s sseServer) MarshalJSON() ([]byte, error) {
	type plain vendor.MCPHTTPServerConfig // without its own encoding, which sets another type
	return json.Marshal(struct {
		Type string `json:"type"`
		plain
	}{"sse", plain(s.MCPHTTPServerConfig)})
}
