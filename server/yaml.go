package server

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// YAML returns the configuration in the format of its file, each value with a comment that names its source.
// Secrets are replaced by comments unless secrets is true.
func (c Config) YAML(secrets bool) ([]byte, error) {
	w := yamlWriter{origins: c.Origins, secrets: secrets}
	var out bytes.Buffer
	fmt.Fprintf(&out, "# %s\n", c.source())
	if !secrets {
		out.WriteString("# Secrets are omitted; use --show-secrets to include them.\n")
	}
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(w.mapping(reflect.ValueOf(c), "")); err != nil {
		return nil, err
	}
	return out.Bytes(), e.Close()
}

// source says which configuration file is in use.
func (c Config) source() string {
	switch {
	case c.File == "" && c.UsualFile == "":
		return "There is no configuration file, and no default path, because the environment names no home directory (HOME)"
	case c.File == "":
		return "There is no configuration file; the default path is " + c.UsualFile
	}
	return "Configuration file: " + c.File
}

// yamlWriter writes a configuration as YAML, with keys from the tags of its types.
type yamlWriter struct {
	origins map[string]string
	secrets bool
}

// mapping writes the tagged fields of a struct. prefix is the path of the struct in the keys of origins.
func (w yamlWriter) mapping(v reflect.Value, prefix string) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode}
	var comments []string // waiting for the next key
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, value := field.Tag.Get("mapstructure"), v.Field(i)
		if name == "-" || w.isOmitted(v, name, value) {
			continue
		}
		if !w.secrets && isSecret(field, value) {
			comments = append(comments, fmt.Sprintf("%s: …  (%s; secret)", name, w.origin(prefix+name)))
			continue
		}
		key := &yaml.Node{Kind: yaml.ScalarNode, Value: name, HeadComment: strings.Join(comments, "\n")}
		comments = nil
		m.Content = append(m.Content, key, w.value(value, prefix+name))
	}
	if last := len(m.Content) - 2; len(comments) > 0 && last >= 0 {
		m.Content[last].FootComment = strings.Join(comments, "\n")
	}
	return m
}

// isSecret reports whether a value is a secret, or a list of addresses of which one contains a secret.
func isSecret(field reflect.StructField, value reflect.Value) bool {
	if addresses, ok := value.Interface().([]string); ok && field.Tag.Get("secret") == "addresses" {
		return slices.ContainsFunc(addresses, func(address string) bool { return WithoutSecrets(address) != address })
	}
	return field.Tag.Get("secret") != "" && !value.IsZero()
}

// isOmitted reports whether a key is left out: unset keys of agents and providers, and a key found by api_key_env.
func (w yamlWriter) isOmitted(v reflect.Value, name string, value reflect.Value) bool {
	switch owner := v.Interface().(type) {
	case Agent:
		return value.IsZero() || name == "protocol" && owner.Protocol == protocolACP
	case Provider:
		return owner.isUnset(name)
	}
	return false
}

func (p Provider) isUnset(name string) bool {
	return name == "type" && p.Type == defaultType || name == "models" && len(p.Models) == 0 || name == "api_key_env" && p.APIKeyEnv == "" ||
		name == "api_key" && (p.APIKey == "" || p.APIKeyEnv != "")
}

func (w yamlWriter) value(v reflect.Value, key string) *yaml.Node {
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		return w.scalar(fmt.Sprint(v.Interface()), key)
	case v.Kind() == reflect.Struct:
		return w.mapping(v, key+delimiter)
	case v.Kind() == reflect.Map:
		return w.names(v, key)
	case v.Kind() == reflect.Slice:
		return w.list(v, key)
	}
	return w.scalar(v.Interface(), key)
}

// names writes a map in the order of its keys.
func (w yamlWriter) names(v reflect.Value, key string) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, k := range keys {
		name := &yaml.Node{}
		name.SetString(k.String())
		m.Content = append(m.Content, name, w.value(v.MapIndex(k), key+delimiter+k.String()))
	}
	return w.originComment(m, key)
}

func (w yamlWriter) list(v reflect.Value, key string) *yaml.Node {
	s := &yaml.Node{Kind: yaml.SequenceNode}
	for i := range v.Len() {
		s.Content = append(s.Content, w.value(v.Index(i), key))
	}
	return w.originComment(s, key)
}

// originComment adds the origin of an empty collection as a comment.
func (w yamlWriter) originComment(n *yaml.Node, key string) *yaml.Node {
	if len(n.Content) == 0 {
		n.Style, n.LineComment = yaml.FlowStyle, w.origin(key)
	}
	return n
}

// scalar writes one value.
func (w yamlWriter) scalar(value any, key string) *yaml.Node {
	n := &yaml.Node{}
	_ = n.Encode(value) // encoding a string, number or boolean cannot fail
	n.LineComment = w.origin(key)
	return n
}

// origin returns the source of the value of a key, or of the list or map that contains it.
func (w yamlWriter) origin(key string) string {
	for {
		if from := w.origins[strings.ToLower(key)]; from != "" {
			return from
		}
		i := strings.LastIndex(key, delimiter)
		if i < 0 {
			return "default"
		}
		key = key[:i]
	}
}
