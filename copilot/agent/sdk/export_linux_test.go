package sdk

// NewQuickAck finds a connection by its peer.
func NewQuickAck(address string) *QuickAck { return newQuickAck(address) }

// QuickAck acknowledges data from a peer.
type QuickAck = quickAck

// Soon acknowledges the data received so far.
func (a *quickAck) Soon() { a.soon() }

// Await acknowledges a reply until done is called.
func (a *quickAck) Await() (done func()) { return a.await() }

// Close closes the descriptor.
func (a *quickAck) Close() { a.close() }
