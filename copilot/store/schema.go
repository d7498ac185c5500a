package store

import (
	"context"
	"embed"
	"fmt"
)

// application marks the file as the portal's, in its header.
const application = 0x504f5254

// migrations returns the scripts that each upgrade a file by one version. Released scripts never change. Nothing reads the column
// session.size any more.
func migrations() (steps []string) {
	for version := 1; ; version++ {
		script, err := schema.ReadFile(fmt.Sprintf("schema/%d.sql", version))
		if err != nil {
			return steps
		}
		steps = append(steps, string(script))
	}
}

//go:embed schema
var schema embed.FS

// migrate upgrades the file to the current version, each step in one transaction.
func (d *database) migrate(ctx context.Context) error {
	steps := migrations()
	for {
		version, err := d.version(ctx)
		switch {
		case err != nil:
			return err
		case version == len(steps):
			return nil
		case version > len(steps):
			return d.options.describe(Newer, fmt.Errorf("it has version %d, but this program supports up to %d", version, len(steps)))
		}
		if err := d.transaction(ctx, func() error { return d.step(ctx, steps, version) }); err != nil {
			return err
		}
	}
}

// step creates the next version, unless another process did so in the meantime.
func (d *database) step(ctx context.Context, steps []string, from int) error {
	if version, err := d.version(ctx); err != nil || version != from {
		return err
	}
	if from == 0 {
		var tables int
		if err := d.conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
			return err
		}
		if tables > 0 {
			return d.options.describe(Foreign, fmt.Errorf("it has no version, but %d tables and indexes", tables))
		}
	}
	_, err := d.conn.ExecContext(ctx, fmt.Sprintf("%s; PRAGMA application_id = %d; PRAGMA user_version = %d", steps[from], application, from+1))
	return err
}

func (d *database) version(ctx context.Context) (version int, err error) {
	err = d.conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	return version, err
}
