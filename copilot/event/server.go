package event

// Server is an MCP server.
type Server struct {
	Name   string      `json:"name,omitzero"`
	State  ServerState `json:"state,omitzero"`
	Source string      `json:"source,omitzero"` // where it is configured: user, workspace, plugin, builtin
	// Transport is how it is spoken to: stdio, http, sse, memory; "" if not told.
	Transport string `json:"transport,omitzero"`
	Error     string `json:"error,omitzero"` // of a failed one
}

// ServerState says whether an MCP server can be used.
type ServerState string

// The states of an MCP server. Those of a session are connected, or not.
const (
	ServerConfigured ServerState = "configured" // no session has started it yet
	ServerConnected  ServerState = "connected"
	ServerPending    ServerState = "pending"
	ServerFailed     ServerState = "failed"
	ServerSignIn     ServerState = "needs-sign-in"
	ServerDisabled   ServerState = "disabled"
)
