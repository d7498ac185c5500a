package server

import (
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
)

// Pool contains the limits of agent processes; see [agent.PoolOptions].
type Pool struct {
	Size         int           `mapstructure:"size"`
	PerProcess   int           `mapstructure:"sessions_per_process"`
	Linger       time.Duration `mapstructure:"linger"`
	Warm         string        `mapstructure:"warm"` // whether a process runs without sessions: warmAlways, warmNever or warmAuto
	StartTimeout time.Duration `mapstructure:"start_timeout"`
	PingEvery    time.Duration `mapstructure:"ping_every"`
	SilenceLimit time.Duration `mapstructure:"silence_limit"`
	MemoryLimit  int64         `mapstructure:"memory_limit"` // in MiB; 0 means none
}

// Limits contains the limits of sessions, runs and questions; see [copilot.Limits].
type Limits struct {
	Sessions int           `mapstructure:"sessions"`
	Runs     int           `mapstructure:"runs"`
	Studio   int           `mapstructure:"studio"`   // maximum number of requests to the studio in progress
	Question time.Duration `mapstructure:"question"` // 0 means as long as the run
	Tool     time.Duration `mapstructure:"tool"`
	Idle     time.Duration `mapstructure:"idle"`  // time after which an unused session is suspended
	Depth    int           `mapstructure:"depth"` // maximum number of agents in a chain in which each starts the next
}

// maxRuns bounds the configured studio limit, so that the portal can always read further requests.
const maxRuns = 100

func (l *Limits) check(fault func(format string, args ...any)) {
	if l.Sessions < 1 || l.Runs < 1 || l.Tool <= 0 || l.Idle <= 0 || l.Depth < 1 {
		fault("limits: sessions, runs, tool, idle and depth must be positive")
	}
	if l.Studio < 1 || l.Studio > maxRuns {
		fault("limits.studio: %d is not between 1 and %d", l.Studio, maxRuns)
	}
	if l.Question < 0 {
		fault("limits.question: %v is negative; use 0 to let questions wait as long as their run", l.Question)
	}
}

// Retention decides when unused stored sessions are deleted.
type Retention struct {
	Age  time.Duration `mapstructure:"age"`  // time since the last change; 0 means never
	Size int           `mapstructure:"size"` // of the whole store, in MiB; the oldest sessions are deleted first; 0 means never
}

func (r *Retention) check(fault func(format string, args ...any)) {
	if r.Age < 0 || r.Size < 0 {
		fault("retention: age and size must not be negative; use 0 to keep sessions for ever")
	}
}

// leastMemory is the memory, in MiB, that every new CLI process exceeds. A lower limit would replace each
// process at once.
const leastMemory = 400

// leastSilence is a time within which every live CLI answers.
const leastSilence = time.Second

// The values of pool.warm.
const (
	warmAlways = "always"
	warmNever  = "never"
	warmAuto   = "auto" // unless the port is chosen by the system, as for an IDE that starts its own portal
)

// keepsWarm reports whether a portal that serves keeps an agent running without sessions.
func (c *Config) keepsWarm() bool {
	return c.Pool.Warm == warmAlways || c.Pool.Warm == warmAuto && c.Port != 0
}

func (p *Pool) check(fault func(format string, args ...any)) {
	if p.Size < 1 || p.PerProcess < 1 || p.StartTimeout <= 0 || p.PingEvery <= 0 {
		fault("pool: size, sessions_per_process, start_timeout and ping_every must be positive")
	}
	if p.Warm != warmAlways && p.Warm != warmNever && p.Warm != warmAuto {
		fault("pool.warm: %q is not always, never or auto", p.Warm)
	}
	if p.SilenceLimit < leastSilence {
		fault("pool.silence_limit: %v is less than %v, which a busy CLI may need to answer", p.SilenceLimit, leastSilence)
	}
	if p.MemoryLimit != 0 && p.MemoryLimit < leastMemory {
		fault("pool.memory_limit: %d MiB is too little for a CLI; use at least %d, or 0 for no limit", p.MemoryLimit, leastMemory)
	}
}

// options converts the limits for the domain, where 0 means the default.
func (p *Pool) options() agent.PoolOptions {
	o := agent.PoolOptions{
		Size: p.Size, PerProcess: p.PerProcess, Linger: p.Linger, StartTimeout: p.StartTimeout,
		PingEvery: p.PingEvery, SilenceLimit: p.SilenceLimit, MemoryLimit: p.MemoryLimit << 20,
	}
	if o.Linger <= 0 {
		o.Linger = -1
	}
	if o.MemoryLimit == 0 {
		o.MemoryLimit = -1
	}
	return o
}
