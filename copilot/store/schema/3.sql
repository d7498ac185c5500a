-- The scopes of visitors; those admitted before may do everything.
ALTER TABLE visitor ADD COLUMN scopes TEXT NOT NULL DEFAULT 'operations:read operations:write';
