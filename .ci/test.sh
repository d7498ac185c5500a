#!/bin/sh
# Runs a test command, shows its output, and repeats the failures at the end, where they can be found.
set -u
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
{
	"$@" 2>&1
	echo $? >"$log/status"
} | tee "$log/output"
status=$(cat "$log/status")
if [ "$status" -ne 0 ]; then
	echo
	echo "The failures, with what each reported first:"
	grep -E -A 14 '^ *--- FAIL|^panic:|^WARNING: DATA RACE' "$log/output" | cut -c 1-200 | head -n 120
fi
exit "$status"
