package portaltest

// BinaryIn returns the path of bin/portal in a checkout.
func BinaryIn(root string) (path string, err error) { return binaryIn(root) }
