#!/bin/sh
# Builds what a release consists of into a directory: a program for each platform, the manual pages, the completions, a bill of materials
# and the checksums of all. The same commit gives the same bytes on every machine.
set -eu
dist=$1 version=$2
cd "$(dirname "$0")/.."
go=${GO:-go}
bill=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

rm -rf "$dist"
mkdir -p "$dist"
for platform in ${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64}; do
	system=${platform%/*} arch=${platform#*/}
	name=portal-$system-$arch
	[ "$system" != windows ] || name=$name.exe
	echo "building $name"
	CGO_ENABLED=0 GOOS=$system GOARCH=$arch "$go" build -tags nomsgpack -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$version" -o "$dist/$name" .
done

echo "writing the manual pages and the completions"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$go" build -tags nomsgpack -trimpath -buildvcs=false -ldflags "-X main.version=$version" -o "$work/portal" .
mkdir -p "$work/share/completions"
"$work/portal" man "$work/share/man1"
for shell in bash zsh fish powershell; do
	"$work/portal" completion $shell >"$work/share/completions/portal.$shell"
done
cp LICENSE README.md packaging/portal.service "$work/share"
tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -C "$work/share" -cf - . | gzip -n >"$dist/portal-share.tar.gz"

echo "writing the bill of materials"
GOFLAGS=-tags=nomsgpack "$go" run $bill app -json -licenses -noserial -output "$dist/portal.cdx.json" .
sed -i "s/\"timestamp\": \"[^\"]*\"/\"timestamp\": \"$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)\"/" "$dist/portal.cdx.json"

(cd "$dist" && sha256sum portal* >SHA256SUMS)
