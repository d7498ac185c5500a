package event

// Server is an MCP server.
type Server struct {
	Name   string      `json:"name,omitzero"`
	State  ServerState `json:"state,omitzero"`
	Source string      `json:"source,omitzero"` // where it is configured: user, workspace, plugin, builtin
	// Transport is stdio, http, sse or memory, or "" if unknown.
	Transport string `json:"transport,omitzero"`
	Error     string `json:"error,omitzero"` // reason of a failure
}

// ServerState is the state of an MCP server.
type ServerState string

// The states of an MCP server.
const (
	ServerConfigured ServerState = "configured" // not yet started by a session
	ServerConnected  ServerState = "connected"
	ServerPending    ServerState = "pending"
	ServerFailed     ServerState = "failed"
	ServerSignIn     ServerState = "needs-sign-in"
	ServerDisabled   ServerState = "disabled"
)
