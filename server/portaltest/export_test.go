package portaltest

// BinaryIn is bin/portal of a checkout.
func BinaryIn(root string) (path string, err error) { return binaryIn(root) }
