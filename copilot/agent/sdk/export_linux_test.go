package sdk

// NewQuickAck finds a connection by its peer.
func NewQuickAck(address string) *QuickAck { return newQuickAck(address) }

// QuickAck acknowledges what a peer has sent.
type QuickAck = quickAck

// Soon acknowledges what has come so far.
func (a *quickAck) Soon() { a.soon() }

// Close lets the connection go.
func (a *quickAck) Close() { a.close() }
