CREATE TABLE shared ( -- what the log of a cluster has
	subject  TEXT PRIMARY KEY,
	sequence INTEGER NOT NULL, -- in the log, of the newest message about it that is applied here
	number   INTEGER NOT NULL, -- of the newest entry or line that these messages have
	version  INTEGER NOT NULL, -- goes up with each change made here
	shipped  INTEGER NOT NULL  -- version that these messages have
) STRICT, WITHOUT ROWID;
CREATE INDEX shared_changed ON shared (subject) WHERE version > shipped;

CREATE TABLE cluster ( -- one row, once the file belongs to a cluster
	name    TEXT NOT NULL,
	node    TEXT NOT NULL,
	applied INTEGER NOT NULL -- newest sequence of the log that is applied here
) STRICT;
