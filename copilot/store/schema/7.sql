-- No query reads them: segment_last finds small segments as well, and nothing looks for closed sessions only. A fifth of the work
-- of writing a group was theirs.
DROP INDEX segment_small;
DROP INDEX session_closed;
