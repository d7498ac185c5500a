CREATE TABLE pinned ( -- sessions that lists show however old they are
	session INTEGER PRIMARY KEY
) STRICT;
