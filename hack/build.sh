#!/usr/bin/env bash
# Builds the programs that are released: static, stripped, the same bytes from any checkout. Prints nothing.
#
#     VERSION=0.1.0 hack/build.sh     into out/release/
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

root=$PWD
export CGO_ENABLED=0 GOFLAGS="-buildvcs=false -trimpath"
mkdir -p out/release
build() { # build <module> <program>
	(cd "$1" && go build -ldflags "-s -w -X main.version=${VERSION:-dev}" -o "$root/out/release/$2" "./cmd/$2")
}
for module in controller mover webhook; do
	# A module's program is cmd/<module>; what has none yet is skipped.
	[[ -d $module/cmd/$module ]] || continue
	build "$module" "$module"
done
# What streams run commands with. It goes into the controller's image.
build controller stream
# The command line: no image, a program that people download.
if [[ -d kopiurctl ]]; then
	(cd kopiurctl && go build -ldflags "-s -w -X main.version=${VERSION:-dev}" -o "$root/out/release/kopiurctl" .)
fi
# Kopia's web interface needs kopia's command line: twice the mover's size, so it is a program of its own.
build mover ui
