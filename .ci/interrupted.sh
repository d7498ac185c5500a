#!/bin/sh
# Lists packages whose tests ended early or failed as a whole, from the JSON of `go test`, and fails if there are any. gotestsum repeats only single
# tests, so it would call such a package repaired.
set -u
awk '
	match($0, /"Package":"[^"]*"/) { package = substr($0, RSTART + 11, RLENGTH - 12) }
	/"Output":"(exit status |signal: |fatal error: |panic: )/ { interrupted[package] = 1 }
	/"Action":"fail"/ && /"Test":/ { failed[package] = 1; next }
	/"Action":"fail"/ { if (!(package in failed)) interrupted[package] = 1; delete failed[package] }
	END { for (package in interrupted) { print package " ended early, or failed without a failed test"; bad = 1 }; exit bad }
' "$1"
