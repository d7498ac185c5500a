#!/bin/sh
# Builds what the page takes from npm into the given directory: React as one classic script for the frame that runs generated interfaces,
# because React no longer ships such a build, and xterm.js as one module and one style sheet for the terminal. package-lock.json contains
# the versions and their integrity.
set -eu
target=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/*.js* "$work"
(cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null)

bundle() { # name, options
	name=$1
	shift
	"${GO:-go}" run github.com/evanw/esbuild/cmd/esbuild "$work/$name.js" --bundle --minify --target=es2022 --legal-comments=inline \
		--log-level=warning --outfile="$work/built/$name.js" "$@"
}
bundle react --format=iife --charset=ascii '--define:process.env.NODE_ENV="production"'
bundle xterm --format=esm --charset=utf8

# The content policy of the page forbids style elements and attributes. The page's terminal makes them style sheets and properties
# (assets/views/terminal.js).
sed -i.raw -e 's/createElement("style")/createElement("portal-style")/g' -e 's/\.setAttribute("style",\(`[^`]*`\))/.style.cssText=\1/g' "$work/built/xterm.js"
if grep -qE 'createElement\(.style.\)|setAttribute\(.style.' "$work/built/xterm.js" || [ "$(grep -o portal-style "$work/built/xterm.js" | wc -l)" -ne 3 ]; then
	echo "xterm.js styles itself in another way than before: change .ci/vendor/build.sh." >&2
	exit 1
fi
mkdir -p "$target"
mv -f "$work/built/react.js" "$work/built/xterm.js" "$work/node_modules/@xterm/xterm/css/xterm.css" "$target"
