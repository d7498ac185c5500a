package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/viper"
)

// unknownVariables finds PORTAL_* variables that set nothing. They are most
// likely typos, and one in PORTAL_TOKEN or PORTAL_PERMISSIONS_REST would leave
// the portal open without a word.
func unknownVariables(s Sources) error {
	known := []string{configVariable}
	for key := range defaults(s.lookup) {
		known = append(known, variable(key))
	}
	var unknown []string
	for _, v := range s.Environ {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, variable("")) && !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(known)
	slices.Sort(unknown)
	return fmt.Errorf("unknown variables: %s; there are %s", strings.Join(unknown, ", "), strings.Join(known, ", "))
}

// isRestrictive says whether a value of the key can only shut something that its default
// leaves open.
func isRestrictive(key string) bool {
	return key == "token" || strings.HasPrefix(key, "sandbox") || key == "permissions::rest" || key == "permissions::operations" || strings.HasPrefix(key, "permissions::rules::")
}

// withoutValue finds keys of the file that were begun but have no value (null).
// Elsewhere that means the default; here somebody wanted to shut something.
// Called when only the file has been read.
func withoutValue(v *viper.Viper) error {
	var faults []error
	for _, key := range v.AllKeys() {
		if isRestrictive(key) && v.Get(key) == nil {
			faults = append(faults, fmt.Errorf("%s: there is no value; give one or remove the line", strings.ReplaceAll(key, delimiter, ".")))
		}
	}
	return errors.Join(faults...)
}
