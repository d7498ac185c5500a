#!/bin/sh
# Puts the pinned Copilot CLI at the path given: the native executable of this
# platform's npm package, not the Node loader, so that it runs as a direct child
# of the portal. Does nothing where a copilot that is new enough is on PATH.
set -eu
target=$1
here=$(cd "$(dirname "$0")" && pwd)
want=$(sed -n 's/.*"@github\/copilot": "\([0-9.]*\)".*/\1/p' "$here/package.json")

newest() { printf '%s\n' "$@" | sort -V | tail -n 1; }

if [ -z "${CI:-}" ] && found=$(command -v copilot 2>/dev/null); then
	have=$(copilot --version 2>/dev/null </dev/null | sed -n 's/^GitHub Copilot CLI \([0-9.]*[0-9]\).*/\1/p' | head -n 1)
	if [ -n "$have" ] && [ "$(newest "$have" "$want")" = "$have" ]; then
		echo "copilot $have at $found will be used"
		rm -f "$target" "$target.version" # it would be found first
		exit 0
	fi
	echo "$found is no Copilot CLI of version $want or newer"
fi

if [ -x "$target" ] && [ "$(cat "$target.version" 2>/dev/null)" = "$want" ]; then
	exit 0
fi
if ! command -v npm >/dev/null 2>&1; then
	echo "npm is needed to get the Copilot CLI: install Node.js (https://nodejs.org), or put a copilot $want or newer on PATH." >&2
	exit 1
fi
echo "getting the Copilot CLI $want (about 190 MB)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/package.json" "$here/package-lock.json" "$work"
(cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
for native in "$work"/node_modules/@github/copilot-*/copilot; do
	[ -x "$native" ] || continue
	mkdir -p "$(dirname "$target")"
	mv -f "$native" "$target"
	echo "$want" >"$target.version"
	exit 0
done
echo "npm has no Copilot CLI for this platform; put a copilot $want or newer on PATH." >&2
exit 1
