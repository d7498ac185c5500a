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
