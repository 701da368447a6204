#!/usr/bin/env bash
# Builds the programs that go into images: static, stripped, the same bytes from any checkout. Prints nothing.
#
#     VERSION=0.1.0 hack/build.sh     into out/release/
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

root=$PWD
export CGO_ENABLED=0 GOFLAGS="-buildvcs=false -trimpath"
mkdir -p out/release
for module in controller mover webhook; do
	# A module's program is cmd/<module>; what has none yet is skipped.
	[[ -d $module/cmd/$module ]] || continue
	(cd "$module" && go build -ldflags "-s -w -X main.version=${VERSION:-dev}" -o "$root/out/release/$module" "./cmd/$module")
done
