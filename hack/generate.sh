#!/usr/bin/env bash
# Generates everything that is derived from Go code: deepcopy methods, CRDs and their reference, permissions, the page
# about the command line.
#
#     hack/generate.sh           into the tree
#     hack/generate.sh --check   into a temporary folder, and fails with the difference if the tree is stale
#
# A part whose package has not been written yet is skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

root=$PWD dest=$PWD check=
if [[ ${1:-} == --check ]]; then
	check=1
	dest=$(mktemp -d)
	trap 'rm -rf "$dest"' EXIT
fi

controller_gen=$(hack/tool controller-gen)
chartgen=$(hack/tool controller-gen chartgen)

# What is generated, for the comparison below: no more and no less.
outputs=()

if compgen -G 'apis/v1alpha1/*_types.go' >/dev/null; then
	deepcopy=apis/v1alpha1/zz_generated.deepcopy.go
	mkdir -p "$dest/apis/v1alpha1"
	(cd apis && "$controller_gen" object:headerFile="$root/hack/boilerplate.go.txt" paths=./v1alpha1 \
		output:object:dir="$dest/apis/v1alpha1")

	crds=charts/kopiur/crds
	fresh=$(mktemp -d)
	(cd apis && "$chartgen" crds -out "$fresh" ./v1alpha1)
	# Replaced as a whole, so that the CRD of a kind that went away goes too.
	rm -rf "${dest:?}/$crds" && mkdir -p "$dest/charts/kopiur"
	mv "$fresh" "$dest/$crds" && chmod 0755 "$dest/$crds"
	outputs+=("$deepcopy" "$crds")

	reference=docs/reference/api
	fresh=$(mktemp -d)
	"$chartgen" reference -out "$fresh" "$dest/$crds"
	rm -rf "${dest:?}/$reference" && mkdir -p "$dest/docs/reference"
	mv "$fresh" "$dest/$reference" && chmod 0755 "$dest/$reference"
	"$chartgen" conditions -out "$dest/docs/reference/conditions.md" apis/v1alpha1
	outputs+=("$reference" docs/reference/conditions.md)
fi

if grep -rqs '+kubebuilder:rbac' controller --include='*.go'; then
	rbac=charts/kopiur/files/rbac.yaml
	# What copies credentials and what serves web UIs is granted only where that is switched on.
	(cd controller && "$chartgen" rbac -out "$dest/$rbac" $(go list ./... | grep -v -e /internal/projection -e /internal/server$) &&
		"$chartgen" rbac -out "$dest/charts/kopiur/files/projection-rbac.yaml" ./internal/projection &&
		"$chartgen" rbac -out "$dest/charts/kopiur/files/server-rbac.yaml" ./internal/server)
	outputs+=("$rbac" charts/kopiur/files/projection-rbac.yaml charts/kopiur/files/server-rbac.yaml)
fi

if grep -rqs '+kubebuilder:rbac' webhook --include='*.go'; then
	# What keeps a certificate of its own is granted only where the webhook does that.
	(cd webhook && "$chartgen" rbac -out "$dest/charts/kopiur/files/webhook-rbac.yaml" ./internal/lookup &&
		"$chartgen" rbac -out "$dest/charts/kopiur/files/webhook-tls-rbac.yaml" ./internal/certs)
	outputs+=(charts/kopiur/files/webhook-rbac.yaml charts/kopiur/files/webhook-tls-rbac.yaml)
fi

if [[ -d kopiurctl ]]; then
	mkdir -p "$dest/docs/reference"
	(cd kopiurctl && go run ./cmd/reference) >"$dest/docs/reference/kopiurctl.md"
	outputs+=(docs/reference/kopiurctl.md)
fi

if [[ -n $check ]]; then
	stale=0
	for path in "${outputs[@]}"; do
		diff -ruN "$path" "$dest/$path" || stale=1
	done
	if ((stale)); then
		echo "generated files are stale: run make generate and commit the result" >&2
		exit 1
	fi
fi
