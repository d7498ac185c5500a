package gallery

import "strings"

// Unified is unified.
func Unified(nameA, nameB, a, b string) string { return unified(nameA, nameB, a, b) }

// Apply gives both texts back from their difference.
func Apply(a, b []string) (before, after string) {
	var first, second strings.Builder
	for _, e := range compare(a, b) {
		if e.sign != '+' {
			first.WriteString(e.text)
		}
		if e.sign != '-' {
			second.WriteString(e.text)
		}
	}
	return first.String(), second.String()
}

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
