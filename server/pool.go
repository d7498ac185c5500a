package server

import (
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
)

// Pool are the limits of the CLI processes; see [agent.PoolOptions].
type Pool struct {
	Size         int           `mapstructure:"size"`
	PerProcess   int           `mapstructure:"sessions_per_process"`
	Linger       time.Duration `mapstructure:"linger"`
	StartTimeout time.Duration `mapstructure:"start_timeout"`
	PingEvery    time.Duration `mapstructure:"ping_every"`
	SilenceLimit time.Duration `mapstructure:"silence_limit"`
	MemoryLimit  int64         `mapstructure:"memory_limit"` // in MiB; 0: none
}

// Limits are those of sessions, runs and questions; see [copilot.Limits].
type Limits struct {
	Sessions int           `mapstructure:"sessions"`
	Runs     int           `mapstructure:"runs"`
	Studio   int           `mapstructure:"studio"`   // requests to the studio that are at work
	Question time.Duration `mapstructure:"question"` // 0: as long as the run
	Tool     time.Duration `mapstructure:"tool"`
	Idle     time.Duration `mapstructure:"idle"` // until a session that nobody uses is put at rest
}

// maxRuns bounds what may be configured for the studio, so that there is always room to read on.
const maxRuns = 100

func (l *Limits) check(fault func(format string, args ...any)) {
	if l.Sessions < 1 || l.Runs < 1 || l.Tool <= 0 || l.Idle <= 0 {
		fault("limits: sessions, runs, tool and idle must be positive")
	}
	if l.Studio < 1 || l.Studio > maxRuns {
		fault("limits.studio: %d is not between 1 and %d", l.Studio, maxRuns)
	}
	if l.Question < 0 {
		fault("limits.question: %v is negative; 0 lets questions wait as long as their run", l.Question)
	}
}

// Retention says when stored sessions that nobody uses are deleted.
type Retention struct {
	Age  time.Duration `mapstructure:"age"`  // since something happened in them; 0: never
	Size int           `mapstructure:"size"` // of the whole store, in MiB, the oldest first; 0: never
}

func (r *Retention) check(fault func(format string, args ...any)) {
	if r.Age < 0 || r.Size < 0 {
		fault("retention: age and size must not be negative; 0 keeps sessions for ever")
	}
}

// leastMemory is less than any CLI needs that has just started, in MiB: with it
// each would be replaced at once.
const leastMemory = 400

// leastSilence is a time in which a CLI that lives always answers.
const leastSilence = time.Second

func (p *Pool) check(fault func(format string, args ...any)) {
	if p.Size < 1 || p.PerProcess < 1 || p.StartTimeout <= 0 || p.PingEvery <= 0 {
		fault("pool: size, sessions_per_process, start_timeout and ping_every must be positive")
	}
	if p.SilenceLimit < leastSilence {
		fault("pool.silence_limit: %v is less than %v, which a busy CLI may need to answer", p.SilenceLimit, leastSilence)
	}
	if p.MemoryLimit != 0 && p.MemoryLimit < leastMemory {
		fault("pool.memory_limit: %d MiB is too little for a CLI; at least %d, or 0 for none", p.MemoryLimit, leastMemory)
	}
}

// options are those of the domain, which takes 0 for its default.
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
