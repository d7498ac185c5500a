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
