package store

import (
	"context"
	"fmt"
)

// application marks the file as ours, in its header.
const application = 0x504f5254

// migrations returns the statements that create each version of the file from the previous one. Released ones
// never change.
func migrations() []string {
	return []string{version1, version2, version3}
}

const version1 = `
CREATE TABLE owner (
	key   INTEGER PRIMARY KEY,
	pid   INTEGER NOT NULL,
	start TEXT NOT NULL,    -- when the process started, as its kernel counts
	host  TEXT NOT NULL,    -- where its id means something; empty if that is not known
	beat  INTEGER NOT NULL  -- when it last said that it lives, in milliseconds
) STRICT;

CREATE TABLE session (
	key       INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again, so that a late writer finds nothing
	id        TEXT NOT NULL UNIQUE,
	origin    TEXT NOT NULL,
	title     TEXT NOT NULL,
	model     TEXT NOT NULL,
	directory TEXT NOT NULL,
	created   INTEGER NOT NULL, -- milliseconds
	changed   INTEGER NOT NULL, -- milliseconds
	epoch     INTEGER NOT NULL, -- goes up whenever an owner takes it
	closed    INTEGER NOT NULL,
	last      INTEGER NOT NULL, -- number of the last entry
	size      INTEGER NOT NULL, -- bytes of segments and payloads
	owner     INTEGER
) STRICT;
CREATE INDEX session_changed ON session (changed, id);
CREATE INDEX session_closed ON session (changed) WHERE closed;
CREATE INDEX session_owner ON session (owner) WHERE owner IS NOT NULL;

CREATE TABLE removed ( -- sessions that are deleted, but for what is large
	session INTEGER PRIMARY KEY
) STRICT;

CREATE TABLE meta (
	session INTEGER PRIMARY KEY,
	data    BLOB NOT NULL
) STRICT;

CREATE TABLE segment (
	session INTEGER NOT NULL,
	first   INTEGER NOT NULL,
	last    INTEGER NOT NULL,
	small   INTEGER NOT NULL, -- may be merged with its neighbours
	size    INTEGER NOT NULL, -- bytes of data when it is not compressed
	data    BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX segment_last ON segment (session, last);
CREATE INDEX segment_small ON segment (session, first) WHERE small;

CREATE TABLE payload (
	session INTEGER NOT NULL,
	hash    BLOB NOT NULL, -- SHA-256
	data    BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX payload_hash ON payload (session, hash);

CREATE TABLE position (
	session INTEGER NOT NULL,
	name    TEXT NOT NULL,
	number  INTEGER NOT NULL,
	PRIMARY KEY (session, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE text (
	key     INTEGER PRIMARY KEY,
	session INTEGER NOT NULL,
	number  INTEGER NOT NULL,
	kind    TEXT NOT NULL,
	body    TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX text_number ON text (session, number, kind);
CREATE VIRTUAL TABLE word USING fts5 (body, content = 'text', content_rowid = 'key', tokenize = 'unicode61 remove_diacritics 2');
CREATE TRIGGER text_insert AFTER INSERT ON text BEGIN
	INSERT INTO word (rowid, body) VALUES (new.key, new.body);
END;
CREATE TRIGGER text_delete AFTER DELETE ON text BEGIN
	INSERT INTO word (word, rowid, body) VALUES ('delete', old.key, old.body);
END;
`

const version2 = `
CREATE TABLE activity ( -- what is no session: operations, jobs
	key     INTEGER PRIMARY KEY AUTOINCREMENT,
	kind    TEXT NOT NULL,
	id      TEXT NOT NULL,
	created INTEGER NOT NULL, -- milliseconds
	changed INTEGER NOT NULL, -- milliseconds
	head    BLOB NOT NULL,
	done    INTEGER NOT NULL,
	last    INTEGER NOT NULL, -- number of the last line
	owner   INTEGER           -- who writes it; none once it is done
) STRICT;
CREATE UNIQUE INDEX activity_id ON activity (kind, id);
CREATE INDEX activity_created ON activity (kind, created, key);
CREATE INDEX activity_open ON activity (kind) WHERE NOT done;
CREATE INDEX activity_owner ON activity (owner) WHERE owner IS NOT NULL;

CREATE TABLE line (
	activity INTEGER NOT NULL,
	number   INTEGER NOT NULL, -- 1, 2, 3 ...
	data     BLOB NOT NULL,
	PRIMARY KEY (activity, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE visitor (
	hash    BLOB PRIMARY KEY, -- of what the visitor holds
	user    TEXT NOT NULL,
	expires INTEGER NOT NULL  -- milliseconds
) STRICT, WITHOUT ROWID;
CREATE INDEX visitor_expires ON visitor (expires);
`

// version3 stores what visitors may do; those admitted earlier may do everything.
const version3 = `
ALTER TABLE visitor ADD COLUMN scopes TEXT NOT NULL DEFAULT 'operations:read operations:write';
`

// migrate brings the file to the current version, each step in one transaction.
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

// step creates the next version, unless another process has just done so.
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
