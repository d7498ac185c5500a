package sandbox

// Allows says whether the gate lets a connection to an address through.
func Allows(g *Gate, address string) bool { return g.allows(address) }
