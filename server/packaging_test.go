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
		documents := 0
		for decoder := yaml.NewDecoder(f); ; documents++ {
			var d any
			if decoder.Decode(&d) != nil {
				break
			}
			for _, env := range environments(d) {
				_, err := server.Load(server.Sources{Flags: flags(t), Environ: append(env, "HOME="+t.TempDir())})
				require.NoError(t, err, "%s: %s", file, env)
			}
		}
		assert.Positive(t, documents, file)
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
