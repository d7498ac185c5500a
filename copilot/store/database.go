package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// pageSize is SQLite's default, in bytes.
const pageSize = 4096

// database is an open file: one writing connection for the writer's goroutine and a pool of reading connections.
type database struct {
	options    Options
	file, log  fs.FileInfo // of the opened file and its write-ahead log; others may replace them later
	pool       *sql.DB
	conn       *sql.Conn
	statements map[string]*sql.Stmt
	read       *sql.DB
	failed     bool // it is to be opened again
}

// connect opens or creates the file and migrates it. It waits for other processes until the deadline. The caller holds
// the lock.
func connect(ctx context.Context, o Options, deadline time.Time) (*database, error) {
	if err := prepare(o); err != nil {
		return nil, o.systemFailure(err)
	}
	d := &database{options: o, statements: map[string]*sql.Stmt{}}
	if err := d.open(ctx, max(time.Until(deadline), time.Millisecond)); err != nil {
		d.close(true)
		return nil, o.failure(err)
	}
	return d, nil
}

// prepare creates the directory and an empty file that only this user can read. It must not open an existing file:
// closing it would release the SQLite locks of other stores of this process.
func prepare(o Options) error {
	if err := os.MkdirAll(o.Directory, 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(o.file(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		return file.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Stat(o.file())
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = os.Chmod(o.file(), 0o600)
	}
	return err
}

func (d *database) open(ctx context.Context, busy time.Duration) (err error) {
	pragmas := []string{
		"journal_mode(wal)",
		"synchronous(normal)", // a commit survives the end of the process; a power failure may lose the last ones
		"journal_size_limit(67108864)",
	}
	if d.file, err = os.Stat(d.options.file()); err != nil {
		return err
	}
	if d.file.Size() == 0 {
		pragmas = append([]string{"auto_vacuum(incremental)"}, pragmas...) // before anything is written
	}
	if d.pool, err = sql.Open("sqlite", d.source(busy, pragmas...)); err != nil {
		return err
	}
	if d.conn, err = d.pool.Conn(ctx); err != nil {
		return err
	}
	if err := d.migrate(ctx); err != nil {
		return err
	}
	if err := d.limit(ctx); err != nil {
		return err
	}
	if d.read, err = sql.Open("sqlite", d.source(d.options.Busy, "query_only(1)")); err != nil {
		return err
	}
	d.read.SetMaxOpenConns(4)
	d.read.SetMaxIdleConns(4)
	d.log, _ = os.Stat(d.options.file() + "-wal") // nil: there is none
	return nil
}

// limit sets the lock timeout and the maximum size of the file.
func (d *database) limit(ctx context.Context) error {
	query := fmt.Sprintf("PRAGMA busy_timeout = %d", d.options.Busy.Milliseconds())
	if _, err := d.conn.ExecContext(ctx, query); err != nil || d.options.MaxBytes <= 0 {
		return err
	}
	var pages int64
	query = fmt.Sprintf("PRAGMA max_page_count = %d", max(1, d.options.MaxBytes/pageSize))
	return d.conn.QueryRowContext(ctx, query).Scan(&pages)
}

// source returns the driver's name of the file, with the lock timeout. Reading connections set nothing that needs the
// lock of writing ones.
func (d *database) source(busy time.Duration, pragmas ...string) string {
	query := url.Values{"_pragma": append([]string{
		fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()),
		"temp_store(memory)",
	}, pragmas...)}
	name := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(d.options.file()), RawQuery: query.Encode()}
	return name.String()
}

// close closes the writing connection and, if readers is set, the reading ones.
func (d *database) close(readers bool) {
	for _, statement := range d.statements {
		_ = statement.Close()
	}
	if d.conn != nil {
		_ = d.conn.Close()
	}
	if d.pool != nil {
		_ = d.pool.Close()
	}
	if d.read != nil && readers {
		_ = d.read.Close()
	}
}

// check looks for damage. It reads the whole file.
func (d *database) check(ctx context.Context) error {
	var found string
	if err := d.row(ctx, "PRAGMA quick_check(1)", nil, &found); err != nil || found == "ok" {
		return err
	}
	return d.options.describe(Corrupt, errors.New(found))
}

// rebuildIndex rebuilds the index of texts from the texts.
func (d *database) rebuildIndex(ctx context.Context) error {
	d.options.Log.Warn("the index of texts is damaged; it is rebuilt")
	_, err := d.exec(ctx, "INSERT INTO word (word) VALUES ('rebuild')")
	return err
}

// isUsable reports whether there is an opened file that need not be opened again.
func (d *database) isUsable() bool { return d != nil && !d.failed && d.isSameFile() }

// isSameFile reports whether the opened file is still in its place. It must be open: a new file may get the inode of a closed one that was
// removed.
func (d *database) isSameFile() bool {
	info, err := os.Stat(d.options.file())
	return err == nil && os.SameFile(info, d.file)
}

// removeLog removes the log of a file that another one has replaced: SQLite would write its changes into that one. The caller holds the lock.
func (d *database) removeLog() error {
	if log, _ := os.Stat(d.options.file() + "-wal"); !os.SameFile(log, d.log) {
		return nil // another process has removed it
	}
	for _, part := range []string{"-wal", "-shm"} {
		if err := os.Remove(d.options.file() + part); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// moveAside renames the file and returns its new name. The caller holds the lock and has closed the file.
func moveAside(o Options) (string, error) {
	to := fmt.Sprintf("%s.damaged-%s", o.file(), time.Now().UTC().Format("20060102T150405.000"))
	for _, part := range []string{"-wal", "-shm", ""} { // the file last: its log must never stand beside another file
		if err := os.Rename(o.file()+part, to+part); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return to, nil
}

// transaction runs do in one transaction of the writing connection.
func (d *database) transaction(ctx context.Context, do func() error) error {
	if _, err := d.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := do()
	if err == nil {
		_, err = d.exec(ctx, "COMMIT")
	}
	if err != nil {
		_, _ = d.exec(ctx, "ROLLBACK") // SQLite may have done so itself
	}
	return err
}

// statement returns the prepared statement of a query, and prepares it at the first use.
func (d *database) statement(ctx context.Context, query string) (*sql.Stmt, error) {
	if s := d.statements[query]; s != nil {
		return s, nil
	}
	s, err := d.conn.PrepareContext(ctx, query)
	if err == nil {
		d.statements[query] = s
	}
	return s, err
}

// exec runs a statement and returns how many rows it changed.
func (d *database) exec(ctx context.Context, query string, args ...any) (int64, error) {
	s, err := d.statement(ctx, query)
	if err != nil {
		return 0, err
	}
	result, err := s.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// row reads the first row of a result.
func (d *database) row(ctx context.Context, query string, args []any, into ...any) error {
	s, err := d.statement(ctx, query)
	if err != nil {
		return err
	}
	return s.QueryRowContext(ctx, args...).Scan(into...)
}

// QueryContext runs a prepared query on the writing connection.
func (d *database) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := d.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

type scanner interface{ Scan(into ...any) error } // a row, or rows

// querier is a pool, a transaction or the writing connection.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// collect runs a query and returns the result of scan for each row.
func collect[T any](ctx context.Context, from querier, scan func(scanner) (T, error), query string, args ...any) (all []T, err error) {
	rows, err := from.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err reports it
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// column scans a row of one value.
func column[T any](row scanner) (v T, err error) {
	err = row.Scan(&v)
	return v, err
}
