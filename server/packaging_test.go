package server_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/copilot-portal/portal/server"
)

func TestExamplesOfClustersAreValid(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../packaging/cluster/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 3)
	for _, file := range files {
		f, err := os.Open(file)
		require.NoError(t, err)
		defer f.Close()
		var all []any
		for decoder := yaml.NewDecoder(f); ; {
			var d any
			if decoder.Decode(&d) != nil {
				break
			}
			all = append(all, d)
		}
		for _, d := range all {
			for _, env := range environments(d) {
				env = append(env, serviceLinks(d, all)...)
				_, err := server.Load(server.Sources{Flags: flags(t), Environ: append(env, "HOME="+t.TempDir())})
				require.NoError(t, err, "%s: %s", file, env)
			}
		}
		assert.NotEmpty(t, all, file)
	}
	out, err := exec.Command("../.tools/nats-server", "-c", "../packaging/cluster/nats.conf", "--name", "nats-1", "-t").CombinedOutput()
	assert.NoError(t, err, string(out))
}

func TestHeadOfTheServiceCreatesItsDirectories(t *testing.T) {
	t.Parallel()
	unit, err := os.ReadFile("../packaging/portal.service")
	require.NoError(t, err)
	head, _, _ := strings.Cut(string(unit), "[Unit]")
	needed := regexp.MustCompile(`(?m)^(?:WorkingDirectory|ReadWritePaths)=(.+)`).FindAllStringSubmatch(string(unit), -1)
	require.NotEmpty(t, needed)
	for _, setting := range needed {
		for _, dir := range strings.Fields(setting[1]) {
			assert.Contains(t, head, "install -d -o portal -g portal "+dir+"\n", setting[0])
		}
	}
}

// serviceLinks returns the variables that Kubernetes sets in the pods of a document for the services of all documents.
func serviceLinks(d any, all []any) (env []string) {
	if at(d, "spec", "template", "spec") == nil || at(d, "spec", "template", "spec", "enableServiceLinks") == false {
		return nil
	}
	for _, other := range all {
		if at(other, "kind") != "Service" || at(other, "spec", "clusterIP") == "None" {
			continue
		}
		name := strings.ToUpper(strings.ReplaceAll(fmt.Sprint(at(other, "metadata", "name")), "-", "_"))
		env = append(env, name+"_SERVICE_HOST=10.0.0.1", name+"_SERVICE_PORT=80", name+"_PORT=tcp://10.0.0.1:80")
	}
	return env
}

// at returns a member of nested maps, or nil.
func at(d any, path ...string) any {
	for _, key := range path {
		m, _ := d.(map[string]any)
		d = m[key]
	}
	return d
}

// environments returns the environments of portals in a document: maps, or lists of names and values.
func environments(d any) (list [][]string) {
	var here []string
	each := func(d any) { list = append(list, environments(d)...) }
	note := func(name, value any) {
		if text, ok := name.(string); ok && strings.HasPrefix(text, "PORTAL_") {
			value := fmt.Sprint(value)
			if strings.HasPrefix(value, "$") || value == "<nil>" {
				value = "filled-in"
			}
			here = append(here, text+"="+value)
		}
	}
	switch d := d.(type) {
	case map[string]any:
		for k, v := range d {
			note(k, v)
			each(v)
		}
	case []any:
		for _, v := range d {
			if m, ok := v.(map[string]any); ok && m["name"] != nil {
				note(m["name"], m["value"])
			}
			each(v)
		}
	}
	if len(here) > 0 {
		list = append(list, here)
	}
	return list
}
