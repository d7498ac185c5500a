package server

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
)

// Finding is the result of one check of [Examine].
type Finding struct {
	Check   string `json:"check"`
	Level   Level  `json:"level"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // what to do, with commands in backticks
}

// Level is the severity of a finding.
type Level string

// The levels. With a problem, no session can start.
const (
	LevelOK      Level = "ok"
	LevelWarning Level = "warning"
	LevelProblem Level = "problem"
)

func okFinding(format string, args ...any) Finding {
	return Finding{Level: LevelOK, Message: fmt.Sprintf(format, args...)}
}

func warningFinding(hint, format string, args ...any) Finding {
	return Finding{Level: LevelWarning, Message: fmt.Sprintf(format, args...), Hint: hint}
}

func problemFinding(hint, format string, args ...any) Finding {
	return Finding{Level: LevelProblem, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// named returns the finding with the name of its check.
func (f Finding) named(check string) Finding {
	f.Check = check
	return f
}

// check is one check. run may take seconds.
type check struct {
	name string
	run  func(context.Context) []Finding
}

// progressEvery is the interval at which doctor names the checks that are still running.
const progressEvery = time.Second

// Examine checks everything that sessions need. The checks run concurrently, but report gets their findings in
// a fixed order, as soon as possible. If that takes long, progress gets the names of the remaining checks
// once a second. Both are called on the caller's goroutine. Examine starts an agent process and stops it
// again. Its only error is that of ctx.
func Examine(ctx context.Context, c Config, log *slog.Logger, report func(Finding), progress func(left []string)) error {
	checks := checksOf(c, log)
	results := make([]chan []Finding, len(checks))
	for i, check := range checks {
		results[i] = make(chan []Finding, 1)
		go func() { results[i] <- check.run(ctx) }()
	}
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for i := 0; i < len(checks); {
		select {
		case findings := <-results[i]:
			for _, f := range findings {
				if ctx.Err() == nil { // otherwise the finding only reports that
					report(f)
				}
			}
			i++
		case <-ticker.C:
			progress(unfinished(checks, results, i))
		}
	}
	return ctx.Err()
}

func unfinished(checks []check, results []chan []Finding, from int) []string {
	var names []string
	for i := from; i < len(checks); i++ {
		if len(results[i]) == 0 {
			names = append(names, checks[i].name)
		}
	}
	return names
}

func checksOf(c Config, log *slog.Logger) []check {
	one := func(name string, run func(context.Context) Finding) check {
		return check{name, func(ctx context.Context) []Finding { return []Finding{run(ctx).named(name)} }}
	}
	list := []check{
		one("configuration", func(context.Context) Finding { return okFinding("%s", c.source()) }),
		one("data directory", func(ctx context.Context) Finding { return examineStorage(ctx, c, log) }),
		one("port", func(ctx context.Context) Finding { return examinePort(ctx, c) }),
		{"Copilot CLI", func(ctx context.Context) []Finding { return examineAgent(ctx, c, log) }},
	}
	if c.AgentCommand != "" {
		list[len(list)-1] = one("agent", func(ctx context.Context) Finding { return examineProgram(ctx, c, log) })
	}
	for _, name := range c.agentNames() {
		list = append(list, one("agent "+name, func(ctx context.Context) Finding { return examineOther(ctx, c, name, log) }))
	}
	if c.TLS.isOn() {
		list = append(list, one("certificate", func(context.Context) Finding { return examineCertificate(c.TLS) }))
	}
	if c.Cluster.isOn() {
		list = append(list, one("cluster", func(ctx context.Context) Finding { return examineCluster(ctx, c) }))
	}
	if c.Token != "" {
		list = append(list, one("token", func(context.Context) Finding { return examineToken(c) }))
	}
	if c.Terminal {
		list = append(list, one("terminal", func(context.Context) Finding { return examineTerminal(c) }))
	}
	if box := c.newSandbox(); box != nil {
		list = append(list, one("sandbox", func(ctx context.Context) Finding { return examineSandbox(ctx, box.Network) }))
	}
	for i, p := range c.sdkProviders() {
		list = append(list, one("provider "+p.Name, func(ctx context.Context) Finding {
			if err := c.Providers[i].checkKey(); err != nil {
				return problemFinding("Set it where the portal starts, or set `api_key`: agents do not start without the key.", "%v", err)
			}
			return examineProvider(ctx, p)
		}))
	}
	return append(list, one("demo", func(ctx context.Context) Finding { return examineDemo(ctx, c) }))
}

// examineAgent starts the CLI and queries its version, sign-in and models.
func examineAgent(ctx context.Context, c Config, log *slog.Logger) []Finding {
	var d demoModel
	defer d.close()
	o := driverOptions(c, &d, log)
	o.Fault = nil // the checks of providers report it
	driver := sdk.New(o)
	path, _ := driver.Path() // the driver's health reports a missing CLI
	var models []agent.Model
	agents := newDrivers(c, driver, "", log)
	defer agents.remove()
	err := withHost(ctx, newHost(c, agents, storage{}, log), func(h *copilot.Host) (err error) {
		models, err = h.Models(ctx)
		return err
	})
	health := driver.Health()
	if !works(health) {
		return []Finding{agents.withoutFirst(problemFinding(health.Hint, "%s", health.Message)).named("Copilot CLI")}
	}
	findings := []Finding{
		okFinding("version %s at %s (requires %s or newer)", health.Version, path, sdk.MinVersion).named("Copilot CLI"),
		signIn(c, health).named("sign-in"),
		listed(c, models, err).named("models"),
	}
	if skipped := c.SkippedCLI(); skipped != "" {
		findings = append(findings, warningFinding("Unset it, or set it to the path of the Copilot CLI.", "%s", skipped).named("COPILOT_CLI_PATH"))
	}
	return findings
}

// examineProgram starts the program that replaces the CLI.
func examineProgram(ctx context.Context, c Config, log *slog.Logger) Finding {
	driver := newDriver(c, nil, "", log)
	_ = withHost(ctx, newHost(c, drivers{first: driver}, storage{}, log), func(h *copilot.Host) error {
		_, err := h.Models(ctx)
		return err
	})
	health := driver.Health()
	if health.State != agent.HealthReady {
		return problemFinding(health.Hint, "%s", health.Message)
	}
	return okFinding("%s, version %s", c.AgentCommand, health.Version)
}

// works reports whether the CLI itself could be started.
func works(h agent.Health) bool {
	switch h.State {
	case agent.HealthReady, agent.HealthSignedOut:
		return true
	case agent.HealthFailed:
		return h.Version != "" // only listing its models failed
	case agent.HealthUnknown, agent.HealthStarting, agent.HealthMissing, agent.HealthTooOld:
	}
	return false
}

func signIn(c Config, h agent.Health) Finding {
	switch {
	case !c.Account:
		return okFinding("no account of GitHub is used (account: false)")
	case h.State == agent.HealthReady:
		return okFinding("signed in")
	}
	return warningFinding(h.Hint, "%s", h.Message)
}

// listed checks the models that sessions can use.
func listed(c Config, models []agent.Model, err error) Finding {
	var ids []string
	for _, m := range models {
		ids = append(ids, m.ID)
	}
	switch {
	case err != nil:
		return problemFinding("Check the providers below, sign in, or use `--demo`.", "%v", err)
	case len(ids) == 0:
		return problemFinding("Sign in, configure a provider, or use `--demo`.", "no models are available")
	case c.Model != "" && !slices.Contains(ids, c.Model) && !c.isOfOther(c.Model):
		return problemFinding("Change `model` in the configuration; `portal models` lists the available models.",
			"the configured model %q is not among %s", c.Model, listFew(ids))
	}
	return okFinding("%s; the default is %s", listFew(ids), ids[0])
}

// listFew lists the first few ids and the number of the others.
func listFew(ids []string) string {
	const few = 5
	if len(ids) <= few {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:few], ", "), len(ids)-few)
}

// examineProvider queries the models of a provider, even if the configuration names them.
func examineProvider(ctx context.Context, p sdk.Provider) Finding {
	ids, err := p.Ask(ctx)
	switch {
	case err != nil && len(p.Models) > 0:
		return warningFinding("The models in its `models` are listed, but may not answer: check `base_url` and the key.",
			"does not list its models: %v", err)
	case err != nil:
		return warningFinding("Check that it runs, check `base_url` and the key, or list its `models` in the configuration.",
			"does not list its models: %v", err)
	case len(ids) == 0:
		return warningFinding("Load or deploy a model there.", "answers, but has no models")
	}
	for _, id := range p.Models {
		if !slices.Contains(ids, id) && p.Type != "azure" { // Azure lists models, not deployments
			return warningFinding("Correct `models` of this provider in the configuration.",
				"answers, but %q of its `models` is not among %s", id, listFew(ids))
		}
	}
	return okFinding("answers; it has %s", listFew(ids))
}

// examineDemo starts the scripted model and queries it as the CLI would.
func examineDemo(ctx context.Context, c Config) Finding {
	var d demoModel
	defer d.close()
	p, err := d.start()
	if err == nil {
		_, err = p.Ask(ctx)
	}
	switch {
	case err != nil:
		return warningFinding("It needs a free port on 127.0.0.1.", "does not answer: %v", err)
	case c.Demo:
		return okFinding("answers; it is always listed")
	}
	return okFinding("answers; it is listed if there is no other model, or with `--demo`")
}
