package sandbox

// Allows reports whether the gate allows connections to an address.
func Allows(g *Gate, address string) bool { return g.allows(address) }
