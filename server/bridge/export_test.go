package bridge

// For the tests of package bridge_test.

// Connection is what an address comes to: where a bridge connects to, how that is
// told, and the token in it.
func Connection(address, directory string) (url, told, token string, err error) {
	t, err := parse(address)
	if err != nil {
		return "", "", "", err
	}
	return t.withDirectory(directory), t.String(), t.token, nil
}
