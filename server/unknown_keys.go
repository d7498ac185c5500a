package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/viper"
)

// unknownVariables returns an error for PORTAL_* variables that set nothing. They are most likely typos, and
// a typo in PORTAL_TOKEN or PORTAL_PERMISSIONS_REST would silently leave the portal open.
func unknownVariables(s Sources) error {
	known := []string{configVariable}
	for key := range defaults() {
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
	return fmt.Errorf("unknown variables: %s; known variables: %s", strings.Join(unknown, ", "), strings.Join(known, ", "))
}

// isRestrictive reports whether a value of the key can only be stricter than its default.
func isRestrictive(key string) bool {
	switch key {
	case "token", "permissions::rest", "permissions::operations", "permissions::jobs", "permissions::cli":
		return true
	}
	return strings.HasPrefix(key, "tls::") || strings.HasPrefix(key, "sandbox") || strings.HasPrefix(key, "permissions::rules::")
}

// withoutValue returns an error for restrictive keys that have no value (null) in the file. For other keys,
// null means the default; here, someone wanted a restriction. Call it when only the file has been read.
func withoutValue(v *viper.Viper) error {
	var faults []error
	for _, key := range v.AllKeys() {
		if isRestrictive(key) && v.Get(key) == nil {
			faults = append(faults, fmt.Errorf("%s has no value; add one or remove the line", strings.ReplaceAll(key, delimiter, ".")))
		}
	}
	return errors.Join(faults...)
}
