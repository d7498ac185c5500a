package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/demo"
	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/portaltest"
)

// examined is the JSON output of portal doctor.
type examined struct {
	OK      bool
	Version string
	Checks  []server.Finding
}

// find returns the findings of a check, as "level: message; hint".
func (e examined) find(check string) string {
	for _, f := range e.Checks {
		if f.Check == check {
			return fmt.Sprintf("%s: %s; %s", f.Level, f.Message, f.Hint)
		}
	}
	return ""
}

// examine runs portal doctor with a configuration file and variables.
func examine(t *testing.T, yaml string, env []string, args ...string) (code int, e examined, stderr string) {
	t.Helper()
	home := t.TempDir()
	config := filepath.Join(home, "config.yaml")
	require.NoError(t, os.WriteFile(config, []byte(yaml), 0o600))
	as := exec.Cmd{Env: append(portaltest.Environ(home), env...)}
	args = append([]string{"doctor", "--json", "--config", config}, args...)
	code, stdout, stderr := runCommand(t, 2*soon, as, args)
	require.NoError(t, json.Unmarshal([]byte(stdout), &e), "%s%s", stdout, stderr)
	assert.Equal(t, e.OK, code == 0)
	left, err := filepath.Glob(home + "/.portal-*")
	require.NoError(t, err)
	assert.Empty(t, left)
	return code, e, stderr
}

func TestDoctorFindsNoProblems(t *testing.T) {
	t.Parallel()
	code, e, stderr := examine(t, "", []string{portaltest.WithAccount}, "--port", "0")
	assert.Equal(t, 0, code, e)
	assert.NotEmpty(t, e.Version)
	var names []string
	for _, f := range e.Checks {
		names = append(names, f.Check)
		assert.NotEqual(t, server.LevelProblem, f.Level, f)
	}
	assert.Equal(t, []string{"configuration", "data directory", "port", "Copilot CLI", "sign-in", "models", "agent claude", "agent codex", "agent copilot-acp", "agent gemini", "agent opencode", "demo"}, names)
	assert.Contains(t, e.find("configuration"), "config.yaml")
	assert.Regexp(t, `^ok: version 1\.\S+ at /\S+/copilot \(requires 1\.0\.102 or newer\)`, e.find("Copilot CLI"))
	assert.Regexp(t, "^warning: .*not signed in.*; Sign in with `(/\\S+/)?copilot login`", e.find("sign-in"))
	assert.Equal(t, "ok: demo; the default is demo; ", e.find("models"))
	assert.Contains(t, e.find("demo"), "ok: answers; it is listed if there is no other model")
	assert.Contains(t, e.find("data directory"), "can be created")
	assert.NotContains(t, stderr, "level=")
}

func TestDoctorPrintsLines(t *testing.T) {
	t.Parallel()
	code, stdout, _ := inPipe(t, "", "doctor", "--port", "0")
	assert.Equal(t, 0, code)
	assert.Regexp(t, `(?m)^ok       Copilot CLI     version `, stdout)
	assert.Regexp(t, "(?m)^warning  sign-in         The .*\n {25}Sign in with `(/\\S+/)?copilot login`", stdout)
	assert.Regexp(t, `\n\nSessions can start\.\n$`, stdout)
	code, stdout, stderr := inPipe(t, "", "doctor", "--port", "0", "--copilot-path", noAgent)
	assert.Equal(t, 1, code)
	assert.Regexp(t, "(?m)^problem  Copilot CLI     .*"+noAgent, stdout)
	assert.Regexp(t, `Sessions cannot start`, stdout)
	assert.Empty(t, stderr, "everything is on standard output")
}

func TestDoctorFindsProblems(t *testing.T) {
	t.Parallel()
	right := httptest.NewServer(demo.NewHandler("right"))
	t.Cleanup(right.Close)
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"data":[]}`) }))
	t.Cleanup(empty.Close)
	provider := func(name, url, rest string) string {
		return fmt.Sprintf("{name: %s, base_url: %s/v1, %s}", name, url, rest)
	}
	providers := func(list ...string) string { return "providers: [" + strings.Join(list, ", ") + "]" }
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	used := strings.TrimPrefix(empty.URL, "http://127.0.0.1:")
	const no = "copilot_path: " + noAgent // for checks other than that of the CLI
	for name, tc := range map[string]struct {
		yaml string
		args []string
		code int
		want [][]string // checks, with parts of their findings
	}{
		"an invalid configuration": {"prot: 1", nil, 1, [][]string{{"configuration", "problem: ", "unknown keys: prot"}}},
		"a program other than the CLI, and an existing data directory": {"", []string{"--copilot-path", "/bin/false", "--data-dir", filepath.Dir(file)}, 1, [][]string{
			{"Copilot CLI", "problem: ", "/bin/false did not start", "--version`"},
			{"data directory", "ok: ", "is usable", "no sessions yet"},
		}},
		"providers with models": {providers(provider("answers", right.URL, "api_key: right"), provider("dead", "http://127.0.0.1:1", "models: [a]"), provider("lacks", right.URL, "api_key: right, models: [lama]"), provider("azure", right.URL, "type: azure, models: [mine]")), nil, 0, [][]string{
			{"provider answers", "ok: answers; it has demo"},
			{"models", "ok: answers/demo, ", "the default is answers/demo"},
			{"provider dead", "warning: ", "connection refused", "are listed, but may not answer"},
			{"provider lacks", "warning: ", `"lama"`, "is not among demo"},
			{"provider azure", "warning: "}, // Azure does not list deployments
		}},
		"providers without models": {providers(provider("mine", right.URL, "api_key: s3cret"), provider("empty", empty.URL, "api_key: ''")), nil, 1, [][]string{
			{"provider mine", "warning: does not list its models", "401", "Check that it runs"},
			{"models", "problem: there is no model to choose"},
			{"provider empty", "warning: answers, but has no models"},
		}},
		"a key that is unset, and no certificate": {providers(provider("mine", right.URL, "api_key_env: ABSENT_KEY")) + "\ntls: {cert: /nowhere/cert.pem, key: /nowhere/key.pem}", []string{"--demo"}, 1, [][]string{
			{"provider mine", "problem: api_key_env: the variable ABSENT_KEY is unset or empty"},
			{"certificate", "problem: ", "/nowhere/cert.pem", "name a file that the portal can read"},
			{"Copilot CLI", "ok: version"},
			{"models", "ok: demo"},
		}},
		"nothing that prevents sessions": {"account: false\n" + providers(provider("mine", right.URL, "api_key: s3cret")), []string{"--demo", "--data-dir", file}, 0, [][]string{
			{"sign-in", "ok: no account of GitHub is used"},
			{"provider mine", "warning: ", "401"},
			{"models", "ok: demo"},
			{"data directory", "warning: ", "not a directory", "--data-dir", "in memory only"},
		}},
		"a missing default model": {"model: lama", nil, 1, [][]string{{"models", `problem: the configured model "lama" is not among demo`, "`portal models`"}}},
		"a data directory below a file, and a port in use": {no, []string{"--data-dir", file + "/x", "--port", used}, 1, [][]string{
			{"data directory", "warning: "},
			{"port", "problem: ", "is in use", "`portal 0`"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(strings.Join(tc.args, " "), "--port") {
				tc.args = append(tc.args, "--port", "0")
			}
			code, e, _ := examine(t, tc.yaml, nil, tc.args...)
			for again := 0; again < 3 && strings.Contains(fmt.Sprint(e), "deadline exceeded"); again++ { // on a busy machine, a provider may not answer in time
				code, e, _ = examine(t, tc.yaml, nil, tc.args...)
			}
			assert.Equal(t, tc.code, code, e)
			for _, check := range tc.want {
				for _, part := range check[1:] {
					assert.Contains(t, e.find(check[0]), part)
				}
			}
			assert.NotContains(t, fmt.Sprint(e), "s3cret")
		})
	}
}

func TestDoctorRecognizesARunningPortal(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--token", "hush", "--base-path", "/p"}})
	code, e, _ := examine(t, "base_path: /p", nil, p.Port)
	assert.Equal(t, 0, code)
	assert.Equal(t, fmt.Sprintf("ok: a portal that requires a token already listens on %s; ", p.Port), e.find("port"))
	p = portaltest.Start(t, portaltest.Options{})
	code, e, _ = examine(t, "", nil, p.Port)
	assert.Equal(t, 0, code)
	assert.Equal(t, fmt.Sprintf("ok: a portal already listens on %s, version %s; ", p.Port, e.Version), e.find("port"))
}

func TestDoctorGivesNobodyTheToken(t *testing.T) {
	t.Parallel()
	var got atomic.Pointer[string]
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all := fmt.Sprint(r.Header, r.URL)
		got.Store(&all)
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":"Unauthorized"}`) // the client reports a failure
	}))
	defer other.Close()
	_, e, _ := examine(t, "token: s3cret", nil, "--copilot-path", noAgent, "--port", strings.TrimPrefix(other.URL, "http://127.0.0.1:"))
	assert.Contains(t, e.find("port"), "problem: ")
	require.NotNil(t, got.Load())
	assert.NotContains(t, *got.Load(), "s3cret")
}

func TestInterruptedDoctorReportsNoProblem(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-r.Context().Done()
	}))
	defer slow.Close()
	home := t.TempDir()
	config := filepath.Join(home, "config.yaml")
	require.NoError(t, os.WriteFile(config, []byte("providers: [{name: slow, base_url: "+slow.URL+"}]"), 0o600))
	c := exec.Command(portaltest.Binary(t), "doctor", "--port", "0", "--config", config)
	c.Env = append(os.Environ(), "COPILOT_HOME="+home, "XDG_DATA_HOME="+home)
	var out strings.Builder
	c.Stdout = &out
	require.NoError(t, c.Start())
	<-asked
	require.NoError(t, c.Process.Signal(os.Interrupt))
	_ = c.Wait() // the exit code is checked instead
	assert.Equal(t, 130, c.ProcessState.ExitCode())
	assert.NotContains(t, out.String(), "problem")
	assert.NotContains(t, out.String(), "warning")
	assert.NotContains(t, out.String(), "Sessions can")
}

func TestDoctorChecksConcurrentlyAndShowsProgress(t *testing.T) {
	var asked atomic.Int32
	var together atomic.Bool
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 3 {
			together.Store(true)
		}
		<-r.Context().Done()
		asked.Add(-1)
	}))
	defer slow.Close()
	var yaml strings.Builder
	yaml.WriteString("providers:\n")
	for _, name := range []string{"one", "two", "three"} {
		fmt.Fprintf(&yaml, "  - {name: %s, base_url: %s}\n", name, slow.URL)
	}
	_, e, stderr := examine(t, yaml.String(), nil, "--port", "0", "--copilot-path", noAgent)
	assert.True(t, together.Load(), "all three are asked at the same time")
	assert.Contains(t, stderr, "… still checking: ")
	assert.Contains(t, stderr, "provider one, provider two, provider three")
	assert.Contains(t, e.find("provider two"), "deadline exceeded")
}
