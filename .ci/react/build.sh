#!/bin/sh
# Builds the pinned React as one classic script for the frame that runs generated interfaces, at the given path, because React no
# longer ships such a build. package-lock.json contains the versions and their integrity. Does nothing if the script is up to date.
set -eu
target=$1
here=$(cd "$(dirname "$0")" && pwd)
go=${GO:-go}
want=$(cat "$here/package-lock.json" "$here/entry.js" "$here/build.sh" | cksum)
if [ -f "$target" ] && [ "$(cat "$target.version" 2>/dev/null)" = "$want" ]; then
	exit 0
fi
if ! command -v npm >/dev/null 2>&1; then
	echo "npm is missing, so React is not included and interfaces cannot be shown. Install Node.js (https://nodejs.org) and build again." >&2
	exit 0 # the rest of the portal works
fi
echo "getting React"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/package.json" "$here/package-lock.json" "$here/entry.js" "$work"
if ! (cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null); then
	echo "cannot get React, so interfaces cannot be shown. Build again when npm can reach its registry." >&2
	exit 0
fi
mkdir -p "$(dirname "$target")"
"$go" run github.com/evanw/esbuild/cmd/esbuild "$work/entry.js" --bundle --minify --format=iife --target=es2022 --charset=ascii \
	--legal-comments=inline --log-level=warning '--define:process.env.NODE_ENV="production"' --outfile="$work/react.js"
mv -f "$work/react.js" "$target"
echo "$want" >"$target.version"
