package store

import (
	"context"
	"database/sql"
	"os"
	"time"
)

// openReadOnly lets what is stored be read where nothing can be written; the writer goes on trying to open the file. It
// returns the cause if the file cannot be read, or not without being changed.
func (w *writer) openReadOnly(ctx context.Context, cause error) error {
	if kind(cause) != ReadOnly {
		return cause
	}
	modes := []string{"mode=ro"}
	if info, err := os.Stat(w.options.file() + "-wal"); err != nil || info.Size() == 0 {
		modes = append(modes, "mode=ro&immutable=1") // SQLite makes files beside the file to read it, unless nobody writes
	}
	for _, mode := range modes {
		if db := w.options.openReading(ctx, mode); db != nil {
			w.read.Store(db)
			w.fail(cause)
			w.pause, w.retry = maxPause, time.Now().Add(maxPause)
			return nil
		}
	}
	return cause
}

// openReading opens a file of the present version in one of SQLite's modes; nil if that fails.
func (o Options) openReading(ctx context.Context, mode string) *sql.DB {
	d := &database{options: o}
	db, err := sql.Open("sqlite", d.source(o.Busy, "query_only(1)")+"&"+mode)
	if err != nil {
		return nil
	}
	db.SetMaxOpenConns(4)
	var version, mark int
	err = db.QueryRowContext(ctx, "SELECT user_version, application_id FROM pragma_user_version, pragma_application_id").Scan(&version, &mark)
	if err != nil || version != len(migrations()) || mark != application {
		_ = db.Close()
		return nil
	}
	return db
}
