#!/usr/bin/env bash
# Makes one image per program of out/release that runs in a cluster: from scratch, without root, the same digest from the same source.
#
#     VERSION=0.1.0 REGISTRY=registry.example.com/team PUSH=1 hack/images.sh
#
# REGISTRY defaults to localhost, which no cluster ever asks over the network. PUSH=1 pushes each image as well, with
# the credentials of your docker configuration. RCLONE=1 makes the mover's image once more with rclone in it, for
# repositories behind rclone: its tag ends in -rclone, and rclone takes some minutes to build the first time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=${VERSION:-dev} registry=${REGISTRY:-localhost}
mkdir -p out/bin out/images
(cd hack/image && GOWORK=off go build -o ../../out/bin/image .)

# What tests run beside Kopiur: an application to back up, servers to back up to. Never part of a release.
if compgen -G 'e2e/cmd/app/*.go' >/dev/null; then
	(cd e2e && CGO_ENABLED=0 go build -o ../out/bin/testapp ./cmd/app)
fi

# The S3 server and kopia's command line take minutes to build, so only the cluster tests ask for them.
servers=()
if [[ -n ${TEST_IMAGES:-} ]]; then servers+=("$(hack/tool versitygw)" "$(hack/tool kopia)"); fi

make_image() { # make_image <reference> <binary> <archive> <flags…>
	local reference=$1 binary=$2 archive=$3 digest
	shift 3
	digest=$(out/bin/image build --name "$reference" --binary "$binary" --entrypoint "/$(basename "$binary")" \
		--user 65532:65532 --label org.opencontainers.image.version="$version" --out "$archive" "$@")
	echo "$reference  $digest  $archive"
	if [[ -n ${PUSH:-} ]]; then out/bin/image push --out "$archive" "$reference"; fi
}

layer=$(mktemp -d) helper=$(mktemp -d)
trap 'rm -rf "$layer" "$helper"' EXIT
install -D -m 0755 out/release/stream "$helper/stream"
if [[ -n ${RCLONE:-} ]]; then
	# Where a container that has no PATH of its own looks for programs.
	install -D -m 0755 "$(hack/tool rclone)" "$layer/usr/bin/rclone"
	make_image "$registry/kopiur/mover:$version-rclone" out/release/mover out/images/mover-rclone.tar --layer-dir "$layer"
fi

# What a container of an application has: a shell and a few tools, here those of this machine, with the libraries that they
# are linked to.
tools=$(mktemp -d)
trap 'rm -rf "$layer" "$helper" "$tools"' EXIT
for tool in sh head cat tee sha256sum sleep sync; do
	program=$(readlink -f "$(command -v "$tool")")
	install -D -m 0755 "$program" "$tools/usr/bin/$tool"
	while read -r library; do
		install -D -m 0755 "$(readlink -f "$library")" "$tools$library"
	done < <(ldd "$program" 2>/dev/null | grep -oE '/[^ ]+\.so[^ ]*')
done

for binary in out/release/* out/bin/testapp ${servers[@]+"${servers[@]}"}; do
	[[ -e $binary ]] || continue
	name=$(basename "$binary")
	# The command line runs where people are, and the helper of streams is in the controller's image.
	[[ $name != kopiurctl && $name != stream ]] || continue
	extra=()
	if [[ $name == controller ]]; then extra=(--layer-dir "$helper"); fi
	if [[ $name == testapp ]]; then extra=(--layer-dir "$tools"); fi
	make_image "$registry/kopiur/$name:$version" "$binary" "out/images/$name.tar" ${extra[@]+"${extra[@]}"}
done
