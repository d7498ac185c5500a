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

// database is an open file: one connection that writes, for the writer's goroutine alone, and some that read.
type database struct {
	options    Options
	file       fs.FileInfo // which file was opened; another may stand there later
	pool       *sql.DB
	conn       *sql.Conn
	statements map[string]*sql.Stmt
	read       *sql.DB
}

// connect opens the file, makes it if there is none, and brings it to the present version. It waits for others until a
// deadline; what takes its time otherwise does. Callers hold the lock.
func connect(ctx context.Context, o Options, deadline time.Time) (*database, error) {
	if err := prepare(o); err != nil {
		return nil, o.refused(err)
	}
	d := &database{options: o, statements: map[string]*sql.Stmt{}}
	if err := d.open(ctx, max(time.Until(deadline), time.Millisecond)); err != nil {
		d.close(true)
		return nil, o.failure(err)
	}
	return d, nil
}

// prepare makes the directory and an empty file, readable by this user alone. A file that exists must not be opened
// here: closing it would take SQLite's locks from other stores of this process.
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
	pragmas, err := d.writing()
	if err != nil {
		return err
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
	d.file, err = os.Stat(d.options.file())
	return err
}

// limit sets how long to wait from now on, and how large the file may become.
func (d *database) limit(ctx context.Context) error {
	query := fmt.Sprintf("PRAGMA busy_timeout = %d", d.options.Busy.Milliseconds())
	if _, err := d.conn.ExecContext(ctx, query); err != nil || d.options.MaxBytes <= 0 {
		return err
	}
	var pages int64
	query = fmt.Sprintf("PRAGMA max_page_count = %d", max(1, d.options.MaxBytes/pageSize))
	return d.conn.QueryRowContext(ctx, query).Scan(&pages)
}

// source names the file and how to open it, for the driver, and how long to wait for others. Connections that read set nothing that would need the lock
// of those who write.
func (d *database) source(busy time.Duration, pragmas ...string) string {
	query := url.Values{"_pragma": append([]string{
		fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()),
		"temp_store(memory)",
	}, pragmas...)}
	name := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(d.options.file()), RawQuery: query.Encode()}
	return name.String()
}

// writing is how the connection that writes is set up.
func (d *database) writing() ([]string, error) {
	pragmas := []string{
		"journal_mode(wal)",
		"synchronous(normal)", // a commit survives the process; only a loss of power may take the last ones
		"journal_size_limit(67108864)",
	}
	info, err := os.Stat(d.options.file())
	if err == nil && info.Size() == 0 {
		pragmas = append([]string{"auto_vacuum(incremental)"}, pragmas...) // before anything is written
	}
	return pragmas, err
}

// close closes the connection that writes, and those that read unless they are still in use until there are others.
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

// check looks for damage, which takes as long as reading the whole file.
func (d *database) check(ctx context.Context) error {
	var found string
	if err := d.row(ctx, "PRAGMA quick_check(1)", nil, &found); err != nil || found == "ok" {
		return err
	}
	return d.options.describe(Corrupt, errors.New(found))
}

// isSameFile tells whether the file that was opened still stands in its place.
func (d *database) isSameFile() bool {
	info, err := os.Stat(d.options.file())
	return err == nil && os.SameFile(info, d.file)
}

// moveAside moves the file out of the way and tells where it is now. Callers hold the lock and have closed it.
func moveAside(o Options) (string, error) {
	to := fmt.Sprintf("%s.damaged-%s", o.file(), time.Now().UTC().Format("20060102T150405.000"))
	for _, part := range []string{"-wal", "-shm", ""} { // the file last: a log must never be found beside another file
		if err := os.Rename(o.file()+part, to+part); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return to, nil
}

// transaction does something in one transaction of the writing connection.
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

// statement prepares a query once.
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

// exec runs a statement and tells how many rows it changed.
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

// row reads the first row of an answer.
func (d *database) row(ctx context.Context, query string, args []any, into ...any) error {
	s, err := d.statement(ctx, query)
	if err != nil {
		return err
	}
	return s.QueryRowContext(ctx, args...).Scan(into...)
}

// query reads the rows of an answer.
func (d *database) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := d.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}
