CREATE TABLE share ( -- links that open one session
	id      TEXT PRIMARY KEY,
	session TEXT NOT NULL,    -- its id: it may not be stored yet
	hash    BLOB NOT NULL,    -- of the token
	rights  TEXT NOT NULL,
	label   TEXT NOT NULL,
	created INTEGER NOT NULL, -- milliseconds
	expires INTEGER NOT NULL, -- milliseconds
	used    INTEGER NOT NULL  -- milliseconds; 0: never
) STRICT, WITHOUT ROWID;
CREATE INDEX share_session ON share (session);
