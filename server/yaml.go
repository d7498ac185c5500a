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

// YAML writes the configuration as its file would have it, each value with a
// comment that says where it came from. Secrets are left out, with a comment in
// their place, unless they are asked for.
func (c Config) YAML(secrets bool) ([]byte, error) {
	w := yamlWriter{origins: c.Origins, secrets: secrets}
	var out bytes.Buffer
	fmt.Fprintf(&out, "# %s\n", c.source())
	if !secrets {
		out.WriteString("# Secrets are left out; --show-secrets writes them, too.\n")
	}
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(w.mapping(reflect.ValueOf(c), "")); err != nil {
		return nil, err
	}
	return out.Bytes(), e.Close()
}

// source says which file is in force.
func (c Config) source() string {
	if c.File == "" {
		return "There is no configuration file; it would be " + c.UsualFile
	}
	return "The file in force: " + c.File
}

// yamlWriter makes YAML of a configuration, whose keys it takes from its types.
type yamlWriter struct {
	origins map[string]string
	secrets bool
}

// mapping writes the fields of a struct that are keys. prefix stands before
// their names in the keys of origins.
func (w yamlWriter) mapping(v reflect.Value, prefix string) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode}
	var comments []string // that wait for a key to stand above
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, value := field.Tag.Get("mapstructure"), v.Field(i)
		if name == "-" || w.isOmitted(v, name) {
			continue
		}
		if field.Tag.Get("secret") != "" && value.String() != "" && !w.secrets {
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

// isOmitted says whether a key is not to be written: keys of providers that are
// not set, and what was found by api_key_env.
func (w yamlWriter) isOmitted(v reflect.Value, name string) bool {
	p, ok := v.Interface().(Provider)
	if !ok {
		return false
	}
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

// names writes a map by the order of its keys.
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

// originComment tells of the origin of a collection that has nothing to carry it.
func (w yamlWriter) originComment(n *yaml.Node, key string) *yaml.Node {
	if len(n.Content) == 0 {
		n.Style, n.LineComment = yaml.FlowStyle, w.origin(key)
	}
	return n
}

// scalar writes one value.
func (w yamlWriter) scalar(value any, key string) *yaml.Node {
	n := &yaml.Node{}
	_ = n.Encode(value) // a text, number or switch
	n.LineComment = w.origin(key)
	return n
}

// origin says where the value of a key came from: it, or the list or map that it
// is in.
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
