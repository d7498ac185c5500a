package server

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// restoreCase restores the case of rules from the file: viper converts keys to lower case, but the patterns
// of rules are case-sensitive.
func (p *Permissions) restoreCase(path string) error {
	hasPattern := func(rule string) bool { return strings.Contains(rule, "(") }
	if path == "" || !slices.ContainsFunc(slices.Collect(maps.Keys(p.Rules)), hasPattern) {
		return nil
	}
	if !slices.Contains([]string{"yaml", "json"}, configType(path)) {
		return fmt.Errorf("permissions.rules: rules with patterns require a configuration file in YAML or JSON")
	}
	data, err := os.ReadFile(path) //nolint:gosec // viper has read the same file
	if err != nil {
		return fmt.Errorf("permissions.rules: %w", err)
	}
	var file map[string]any
	if err := yaml.Unmarshal(data, &file); err != nil {
		return fmt.Errorf("permissions.rules: %w", err)
	}
	for name, group := range file {
		if strings.EqualFold(name, "permissions") {
			p.replaceRules(group)
		}
	}
	return nil
}

// replaceRules replaces the rules by those of the file.
func (p *Permissions) replaceRules(group any) {
	members, _ := group.(map[string]any)
	for name, rules := range members {
		list, _ := rules.(map[string]any)
		if !strings.EqualFold(name, "rules") {
			continue
		}
		p.Rules = map[string]string{}
		for rule, decision := range list {
			p.Rules[rule] = fmt.Sprint(decision)
		}
	}
}
