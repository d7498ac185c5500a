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

// Finding is what one check of [Examine] found.
type Finding struct {
	Check   string `json:"check"`
	Level   Level  `json:"level"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // what to do; commands stand in backticks
}

// Level says how bad a finding is.
type Level string

// The levels. A problem is what keeps sessions from being started.
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

// named gives the finding the name of its check.
func (f Finding) named(check string) Finding {
	f.Check = check
	return f
}

// check is one thing to look at. run may take seconds.
type check struct {
	name string
	run  func(context.Context) []Finding
}

// progressEvery is how long a person waits without being told for what.
const progressEvery = time.Second

// Examine looks at everything that sessions need, all of it at the same time,
// and tells the findings in an order of its own as soon as they are known.
// progress is called while that takes longer, with what is still looked at. Both
// are called on the caller's goroutine. Examine starts an agent process and stops
// it again. Its error is that of ctx.
func Examine(ctx context.Context, c Config, log *slog.Logger, tell func(Finding), progress func(left []string)) error {
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
				if ctx.Err() == nil { // else it tells of nothing but that
					tell(f)
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
	if box := c.box(); box != nil {
		list = append(list, one("sandbox", func(ctx context.Context) Finding { return examineSandbox(ctx, box.Network) }))
	}
	for _, p := range c.sdkProviders() {
		list = append(list, one("provider "+p.Name, func(ctx context.Context) Finding { return examineProvider(ctx, p) }))
	}
	return append(list, one("demo", func(ctx context.Context) Finding { return examineDemo(ctx, c) }))
}

// examineAgent starts the CLI and asks it for all that only it knows.
func examineAgent(ctx context.Context, c Config, log *slog.Logger) []Finding {
	var d demoModel
	defer d.close()
	driver := sdk.New(driverOptions(c, &d, log))
	path, _ := driver.Path() // a missing one is told by the driver's health
	var models []agent.Model
	err := withHost(ctx, newHost(c, driver, storage{}, log), func(h *copilot.Host) (err error) {
		models, err = h.Models(ctx)
		return err
	})
	health := driver.Health()
	if !works(health) {
		return []Finding{problemFinding(health.Hint, "%s", health.Message).named("Copilot CLI")}
	}
	findings := []Finding{
		okFinding("version %s at %s (%s or newer is needed)", health.Version, path, sdk.MinVersion).named("Copilot CLI"),
		signIn(health).named("sign-in"),
		listed(c, models, err).named("models"),
	}
	if skipped := c.SkippedCLI(); skipped != "" {
		findings = append(findings, warningFinding("Unset it, or let it name the Copilot CLI.", "%s", skipped).named("COPILOT_CLI_PATH"))
	}
	return findings
}

// examineProgram starts the program that takes the place of the CLI.
func examineProgram(ctx context.Context, c Config, log *slog.Logger) Finding {
	driver := newDriver(c, nil, "", log)
	_ = withHost(ctx, newHost(c, driver, storage{}, log), func(h *copilot.Host) error {
		_, err := h.Models(ctx)
		return err
	})
	health := driver.Health()
	if health.State != agent.HealthReady {
		return problemFinding(health.Hint, "%s", health.Message)
	}
	return okFinding("%s, version %s", c.AgentCommand, health.Version)
}

// works says whether the CLI itself could be started.
func works(h agent.Health) bool {
	switch h.State {
	case agent.HealthReady, agent.HealthSignedOut:
		return true
	case agent.HealthFailed:
		return h.Version != "" // its models could not be listed
	case agent.HealthUnknown, agent.HealthMissing, agent.HealthTooOld:
	}
	return false
}

func signIn(h agent.Health) Finding {
	if h.State == agent.HealthReady {
		return okFinding("signed in")
	}
	return warningFinding(h.Hint, "%s", h.Message)
}

// listed looks at the models that sessions can use.
func listed(c Config, models []agent.Model, err error) Finding {
	var ids []string
	for _, m := range models {
		ids = append(ids, m.ID)
	}
	switch {
	case err != nil:
		return problemFinding("Look at the providers below, sign in with `copilot login`, or use `--demo`.", "%v", err)
	case len(ids) == 0:
		return problemFinding("Sign in with `copilot login`, configure a provider, or use `--demo`.", "there is no model to choose")
	case c.Model != "" && !slices.Contains(ids, c.Model):
		return problemFinding("Change `model` in the configuration; `portal models` lists what there is.",
			"the configured model %q is not among %s", c.Model, listFew(ids))
	}
	return okFinding("%s; sessions that name none use %s", listFew(ids), ids[0])
}

// listFew lists the first few of many.
func listFew(ids []string) string {
	const few = 5
	if len(ids) <= few {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:few], ", "), len(ids)-few)
}

// examineProvider asks a provider for its models even if they are configured.
func examineProvider(ctx context.Context, p sdk.Provider) Finding {
	ids, err := p.Ask(ctx)
	switch {
	case err != nil && len(p.Models) > 0:
		return warningFinding("Those of its `models` can be chosen all the same, but may not answer: check `base_url` and the key.",
			"does not list its models: %v", err)
	case err != nil:
		return warningFinding("Does it run? Check `base_url` and the key, or name its `models` in the configuration.",
			"does not list its models: %v", err)
	case len(ids) == 0:
		return warningFinding("Load or deploy one there.", "answers, but has no models")
	}
	for _, id := range p.Models {
		if !slices.Contains(ids, id) && p.Type != "azure" { // which lists models, not what is deployed
			return warningFinding("Correct `models` of this provider in the configuration.",
				"answers, but %q of its `models` is not among %s", id, listFew(ids))
		}
	}
	return okFinding("answers; it has %s", listFew(ids))
}

// examineDemo starts the scripted model and asks it, as the CLI would.
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
	return okFinding("answers; it is listed while there is no other model, or with `--demo`")
}
