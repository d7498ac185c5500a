package bridge

// For the tests of package bridge_test.

// Connection returns the WebSocket's URL for an address, the address as errors show it, and its token.
func Connection(address, directory string) (url, shown, token string, err error) {
	t, err := parse(address, "ui")
	if err != nil {
		return "", "", "", err
	}
	return t.withDirectory(directory), t.String(), t.token, nil
}
