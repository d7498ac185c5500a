package server

import (
	"log/slog"
	"path/filepath"
	"time"

	"github.com/copilot-portal/portal/copilot/checkpoint"
	"github.com/copilot-portal/portal/jobs"
	"github.com/copilot-portal/portal/jobs/operation"
	"github.com/copilot-portal/portal/jobs/studio"
)

// Checkpoints contains the settings of checkpoints; see [checkpoint.Options].
type Checkpoints struct {
	Enabled  bool `mapstructure:"enabled"`
	FileSize int  `mapstructure:"file_size"` // in MiB; larger files are not stored
	Files    int  `mapstructure:"files"`     // a directory with more files gets none
	Size     int  `mapstructure:"size"`      // in MiB; nor one whose files have more
}

func (c *Checkpoints) check(fault func(format string, args ...any)) {
	if c.FileSize < 1 || c.Files < 1 || c.Size < 1 {
		fault("checkpoints: file_size, files and size must be positive; use enabled: false for no checkpoints")
	}
}

// newCheckpoints returns the stores of checkpoints in the data directory; nil if they are turned off.
func newCheckpoints(c Config, log *slog.Logger) *checkpoint.Stores {
	if !c.Checkpoints.Enabled {
		return nil
	}
	return checkpoint.New(checkpoint.Options{
		Root: filepath.Join(c.DataDir, "checkpoints"), Private: c.DataDir,
		File: int64(c.Checkpoints.FileSize) << 20, Files: c.Checkpoints.Files, Bytes: int64(c.Checkpoints.Size) << 20, Log: log,
		Missing: missingTime,
	})
}

// missingTime is how long checkpoints outlive their session if it is missing in the database, which may be restored.
const missingTime = 3 * 24 * time.Hour

// withoutCheckpoints returns the origins of sessions without checkpoints: those that work unattended, often several at the same
// time in one directory.
func withoutCheckpoints() []string { return []string{jobs.Origin, operation.Origin, studio.Origin} }
