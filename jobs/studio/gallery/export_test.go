package gallery

// Unified is unified.
func Unified(nameA, nameB, a, b string) (string, error) { return unified(nameA, nameB, a, b) }

// Within is where a call goes.
func Within(base, target string) (string, error) {
	b, err := parseBase(base)
	if err != nil {
		return "", err
	}
	u, err := within(b, target)
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

// MayDial judges an address.
func (h *Host) MayDial(network, address string, private bool) error {
	return h.mayDial(network, address, private)
}
