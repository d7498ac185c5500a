package server_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/portaltest"
)

// repository returns the path of a repository with an uncommitted change.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "First"}} {
		c := exec.Command("git", args...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "new.txt"), []byte("new"), 0o600))
	return dir
}

// startJob starts a job and returns its path below /api/.
func startJob(t *testing.T, p *portaltest.Portal, name, body string) string {
	t.Helper()
	r := p.API("POST", "copilot/job/start/"+name, body)
	id := r.Text("jobId")
	require.NotEmpty(t, id, "%v", r)
	return "copilot/job/" + id
}

// jobsEnd is how long a job of some sessions may take on a busy machine, also with an agent that is not ours.
const jobsEnd = 10 * time.Minute

// jobUntil reads live of a job up to the response with a name, and returns the names of all responses.
func jobUntil(t *testing.T, p *portaltest.Portal, job, name string) (all []string) {
	t.Helper()
	for deadline := time.Now().Add(jobsEnd); time.Now().Before(deadline); {
		r := p.API("GET", job+"/live", "")
		if r["error"] == "HttpRequestTimeout" {
			continue
		}
		all = append(all, r.Name())
		if r.Name() == name {
			return all
		}
		require.NotEqual(t, "error", r.Name(), "%v; before: %v", r, all)
	}
	t.Fatalf("no %s but %v", name, all)
	return nil
}

// openSessions returns the sessions that are open.
func openSessions(t *testing.T, p *portaltest.Portal) (list []string) {
	t.Helper()
	_, text := p.Do("GET", "/api/copilot/session", "")
	var all struct {
		Sessions []struct{ SessionID, State string }
	}
	require.NoError(t, json.Unmarshal([]byte(text), &all))
	for _, s := range all.Sessions {
		if s.State != "closed" {
			list = append(list, s.SessionID+" "+s.State)
		}
	}
	return list
}

func TestBuiltInJobsSucceedAndCanBeStopped(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	dir := repository(t)

	understand, review, refine := startJob(t, p, "understand", dir), startJob(t, p, "review", dir), startJob(t, p, "refine", dir+"\na page about releases")
	for _, job := range []string{understand, review, refine} { // run concurrently
		jobUntil(t, p, job, "jobSucceeded")
	}
	assert.Equal(t, "JobClosed", p.API("GET", refine+"/live", "")["error"])
	assert.Equal(t, "JobNotFound", p.API("GET", refine+"/live", "")["error"])
	assert.Empty(t, openSessions(t, p))

	slow := startJob(t, p, "refine", dir+"\nrun `sleep 30`")
	jobUntil(t, p, slow, "workStarted")
	var statuses []any
	for _, job := range p.API("GET", "copilot/job/running", "")["jobs"].([]any) {
		statuses = append(statuses, job.(map[string]any)["status"])
	}
	assert.Equal(t, []any{"Succeeded", "Succeeded", "Succeeded", "Running"}, statuses, "including jobs that have just ended")
	assert.Equal(t, "Closed", p.API("POST", slow+"/stop", "")["result"])
	assert.Equal(t, "JobClosed", p.API("POST", slow+"/stop", "")["error"])
	jobUntil(t, p, slow, "jobCanceled")
	assert.Equal(t, "JobClosed", p.API("GET", slow+"/live", "")["error"], "there is one end")
	assert.Equal(t, "Canceled", p.API("GET", slow+"/status", "")["status"])
	assert.Empty(t, openSessions(t, p))
	status, text := p.Do("GET", "/api/copilot/job/start/refine", "")
	assert.Equal(t, http.StatusMethodNotAllowed, status, text)
}

func last(list []string) string { return list[len(list)-1] }

// parallel is a book whose job stays in a Par until a file exists.
const parallel = `
models: {driving: ""}
tasks:
  first: {prompt: [say something]}
  wait: {prompt: ["run ` + "`until test -e go; do sleep 0.1; done`" + `"]}
jobs:
  both: {work: {kind: Seq, works: [{kind: Ref, taskId: first}, {kind: Par, works: [{kind: Ref, taskId: wait}, {kind: Ref, taskId: wait}]}, {kind: Ref, taskId: first}]}}
`

// ownBook returns the path of a file with a book.
func ownBook(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "jobs.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestJobIsStoppedInAParAndContinuedAfterAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--jobs", ownBook(t, parallel)}})
	atPar := func(job string) {
		t.Helper()
		for range 3 {
			jobUntil(t, p, job, "workStarted")
		}
	}
	stopped := startJob(t, p, "both", dir)
	atPar(stopped)
	assert.Equal(t, "Closed", p.API("POST", stopped+"/stop", "")["result"])
	assert.Equal(t, []string{"workStopped", "workStopped", "jobCanceled"}, jobUntil(t, p, stopped, "jobCanceled"))
	assert.Equal(t, "JobClosed", p.API("GET", stopped+"/live", "")["error"])
	assert.Empty(t, openSessions(t, p))

	killed := startJob(t, p, "both", dir)
	atPar(killed)
	settle()
	p.Kill()
	p = p.Restart()
	require.Eventually(t, func() bool { return p.API("GET", killed+"/status", "")["status"] == "Interrupted" }, soon, 100*time.Millisecond)
	var ends []any
	for r := p.API("GET", killed+"/live", ""); r["error"] == nil; r = p.API("GET", killed+"/live", "") {
		if r["callback"] == nil || strings.HasPrefix(r.Text("callback"), "job") {
			ends = append(ends, r["jobError"])
		}
	}
	require.Len(t, ends, 1)
	assert.NotEmpty(t, ends[0])
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	r := p.API("POST", killed+"/continue", "")
	next := "copilot/job/" + r.Text("jobId")
	jobUntil(t, p, next, "jobSucceeded")
	assert.EqualValues(t, 3, p.API("GET", next+"/status", "")["sessions"], "the first work is not repeated")
}

const faulty = "models: {}\ntasks: {t: {promt: [x]}}\n"

func TestFaultyConfiguredBookPreventsStart(t *testing.T) {
	code, stdout, stderr := command(t, nil, "0", "--jobs", ownBook(t, faulty))
	assert.Equal(t, 1, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "jobs.yaml:1: models.driving")
	assert.Contains(t, stderr, "jobs.yaml:2: tasks.t.promt")
	code, _, stderr = command(t, nil, "0", "--jobs", "/no/where.yaml")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "/no/where.yaml")
}

func TestFaultyRepositoryBookIsReportedWithoutFallback(t *testing.T) {
	dir := repository(t)
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".portal"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".portal", "jobs.yaml"), []byte(faulty), 0o600))
	t.Chdir(dir)
	h := inside(t, nil).Handler(8888)
	for _, call := range [][2]string{{"GET", "/api/copilot/job"}, {"POST", "/api/copilot/job/start/understand"}, {"GET", "/api/copilot/task"}} {
		w := ask(h, call[0], call[1])
		assert.Equal(t, http.StatusServiceUnavailable, w.Code)
		assert.Contains(t, w.Body.String(), "jobs.yaml:2: tasks.t.promt")
	}
	health := ask(h, "GET", "/health").Body.String()
	assert.Contains(t, health, `"state":"faulty"`)
	assert.Contains(t, health, "models.driving")
	assert.JSONEq(t, `{"jobs":[]}`, ask(h, "GET", "/api/copilot/job/history").Body.String())
	require.NoError(t, os.Remove(filepath.Join(dir, ".portal", "jobs.yaml")))
	assert.Equal(t, 200, ask(inside(t, nil).Handler(8888), "GET", "/api/copilot/job").Code)
}

func TestJobSettings(t *testing.T) {
	c, err := load(t, "", nil)
	require.NoError(t, err)
	assert.Equal(t, server.Jobs{Retention: 7 * 24 * time.Hour, Parallel: 30}, c.Jobs)
	assert.Equal(t, permission.Allow, c.Permissions.Jobs)
	c, err = load(t, "jobs: {book: a.yaml, retention: 1d}", []string{"PORTAL_JOBS_PARALLEL=3"}, "--jobs", "b.yaml")
	require.NoError(t, err)
	assert.Equal(t, server.Jobs{Book: "b.yaml", Retention: 24 * time.Hour, Parallel: 3}, c.Jobs)
	_, err = load(t, "jobs: {retention: 0s, parallel: 0}\npermissions: {jobs: perhaps}", nil)
	for _, part := range []string{"jobs.retention", "jobs.parallel", "permissions.jobs"} {
		assert.ErrorContains(t, err, part)
	}
}

func TestJobsCommands(t *testing.T) {
	t.Parallel()
	bad, own := ownBook(t, faulty), ownBook(t, "models: {driving: \"\"}\ntasks: {t: {prompt: [say `hello`]}}\njobs: {only: {work: {kind: Ref, taskId: t}}}\n")
	for name, tc := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"the jobs of the built-in book": {[]string{"list"}, 0, "refine      needs input  Draft the text", ""},
		"the jobs of another book":      {[]string{"list", "--jobs", own}, 0, "only    say `hello`\n", ""},
		"as JSON":                       {[]string{"list", "--json"}, 0, `"requireUserInput": true`, ""},
		"a book without faults":         {[]string{"check", own}, 0, "", own + " is fine: 1 jobs, 1 tasks.\n"},
		"no book":                       {[]string{"check"}, 0, "", "the built-in book is used"},
		"a book with faults":            {[]string{"check", bad}, 1, bad + ":1: models.driving: ", ""},
		"the same, named by the flag":   {[]string{"check", "--jobs", bad}, 1, bad + ":2: tasks.t.promt: ", ""},
		"a missing book":                {[]string{"check", "/no/where"}, 1, "", "/no/where"},
		"the built-in book as text":     {[]string{"book"}, 0, "drivingSessionRetries:", ""},
		"no jobs":                       {[]string{"status"}, 0, "", "No jobs are stored."},
		"the status of an unknown job":  {[]string{"status", "x"}, 1, "", `no job id begins with "x"`},
		"cancelling an unknown job":     {[]string{"cancel", "x"}, 1, "", `no job id begins with "x"`},
		"continuing an unknown job":     {[]string{"continue", "x"}, 1, "", `no job id begins with "x"`},
		"no subcommand":                 {nil, 2, "", "name a subcommand"},
		"no name":                       {[]string{"run"}, 2, "", "requires at least 1 arg"},
		"an unknown name":               {[]string{"run", "none"}, 1, "", "see portal jobs list"},
		"no input":                      {[]string{"run", "refine"}, 1, "", "user input is required"},
		"a missing directory":           {[]string{"run", "understand", "--directory", "/no/where"}, 2, "", "/no/where"},
		"running with an invalid book":  {[]string{"run", "t", "--jobs", bad}, 1, "", "tasks.t.promt"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := inPipe(t, "", append([]string{"jobs"}, tc.args...)...)
			assert.Equal(t, tc.code, code, stderr)
			assert.Contains(t, stdout, tc.stdout)
			assert.Contains(t, stderr, tc.stderr)
			if tc.stderr == "" {
				assert.Empty(t, stderr)
			}
		})
	}
}

func TestJobsOfUnusableDataDirectoryAreAnError(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, args := range [][]string{{"status"}, {"status", "--json"}, {"status", "x"}, {"cancel", "x"}, {"continue", "x"}} {
		code, stdout, stderr := command(t, []string{"PORTAL_DATA_DIR=" + file}, append([]string{"jobs"}, args...)...)
		assert.Equal(t, 1, code, args)
		assert.Empty(t, stdout, args)
		assert.Contains(t, stderr, "cannot read the jobs: ", args)
		assert.Contains(t, stderr, file, args)
	}
}

func TestPipedJobPrintsALinePerEvent(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	as := exec.Cmd{Env: portaltest.Environ(home), Dir: repository(t)}
	jobsCommand := func(input string, args ...string) (int, string, string) {
		as.Stdin = strings.NewReader(input)
		return runCommand(t, 2*time.Minute, as, append([]string{"jobs"}, args...))
	}
	code, stdout, stderr := jobsCommand("", "run", "understand")
	assert.Equal(t, 0, code, stderr)
	assert.Empty(t, stderr)
	assert.Regexp(t, `^job [0-9a-f-]{36}: understand\n\d\d:\d\d:\d\d  1 overview started\n`, stdout)
	assert.Regexp(t, `understand succeeded after (\d+m)?\d+s, with 2 sessions\.\n$`, stdout)
	assert.NotContains(t, stdout, "\x1b")

	own := ownBook(t, "models: {driving: \"\"}\ntasks: {t: {prompt: [$user-input], requireUserInput: true, criteria: {toolExecuted: [job_prepare_document], failureAction: {retryTimes: 0}}}}\njobs: {only: {work: {kind: Ref, taskId: t}}}\n")
	code, stdout, _ = jobsCommand("say `hello`\n", "run", "only", "-", "--jobs", own, "--json")
	assert.Equal(t, 1, code)
	var callbacks []string
	for line := range strings.Lines(stdout) {
		var e map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		assert.NotEmpty(t, e["jobId"])
		name, _ := e["callback"].(string)
		callbacks = append(callbacks, name)
	}
	assert.Equal(t, "jobFailed", last(callbacks))
	assert.Contains(t, callbacks, "taskSessionStarted")

	code, stdout, _ = jobsCommand("", "status")
	assert.Equal(t, 0, code)
	assert.Regexp(t, `^[0-9a-f]{8} .* Failed +only .* say .hello.\n[0-9a-f]{8} .* Succeeded +understand .*\n$`, stdout)
	id := regexp.MustCompile(`(?m)^([0-9a-f]{8}) .* understand`).FindStringSubmatch(stdout)[1]
	code, stdout, _ = jobsCommand("", "status", id)
	assert.Equal(t, 0, code)
	assert.Regexp(t, `\n1  overview  Succeeded  ×1  [0-9a-f]{8}, [0-9a-f]{8} \(checks\)\n$`, stdout)
	code, _, stderr = jobsCommand("", "continue", id)
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "nothing is left to do")
}
