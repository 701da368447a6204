#!/usr/bin/env bash
# Checks what must hold between files and is nobody's unit test. Every check runs, then the failed ones are named.
#
#     hack/verify.sh <module>…
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

modules=("$@") failed=()

check() {
	local name=$1 log rc
	shift
	log=$(mktemp)
	# Not `if "$@"`: bash drops -e inside a condition, and a check would go on past its first error.
	set +e
	(set -e; "$@") >"$log" 2>&1
	rc=$?
	set -e
	if ((rc == 0)); then
		echo "ok    $name"
		# Some checks have numbers worth a look.
		if [[ -n ${SHOW:-} ]]; then sed 's/^/      /' "$log"; fi
	else
		echo "FAIL  $name"
		sed 's/^/      /' "$log"
		failed+=("$name")
	fi
	rm -f "$log"
}

tidy() {
	local m rc=0
	for m in "${modules[@]}"; do
		(cd "$m" && GOWORK=off go mod tidy -diff) || { echo "$m/go.mod is not tidy: run make sync"; rc=1; }
	done
	return $rc
}

# Others import apis and controller/setup: they build them by their own go.mod, not in our workspace.
build_as_importers_do() {
	local m
	# -e of check stops at the first that does not build.
	for m in apis controller; do (cd "$m" && GOWORK=off go build ./...); done
}

# wall <module> <reason> <regular expression>: nothing the module links, at any depth, may match.
wall() {
	local module=$1 reason=$2 pattern=$3 hits
	[[ -f $module/go.mod ]] || return 0
	hits=$(cd "$module" && go list -deps ./... | grep -E "$pattern" | head -5) || true
	[[ -z $hits ]] && return 0
	echo "$module must not link these ($reason):"
	echo "$hits"
	return 1
}

kopia='^github\.com/kopia/'
kubernetes_client='^(k8s\.io/client-go|sigs\.k8s\.io/controller-runtime)(/|$)'
# Of controller-runtime the command line takes the client; the rest would double its size.
beyond_the_client='^sigs\.k8s\.io/(controller-runtime/pkg/(manager|controller|reconcile|webhook|cache$)|kustomize/)'
ours='^github\.com/kopiur/kopiur'
walls() {
	local rc=0
	wall apis "the contract does no I/O" "$kopia|$kubernetes_client|$ours/(controller|mover|webhook|kopiurctl|e2e)" || rc=1
	wall controller "repositories are touched by movers only" "$kopia|$ours/(mover|webhook|kopiurctl|e2e)" || rc=1
	wall mover "the mover does not speak Kubernetes" "$kubernetes_client|$ours/(controller|webhook|kopiurctl|e2e)" || rc=1
	wall webhook "admission is an adapter over apis" "$kopia|$ours/(controller|mover|kopiurctl|e2e)" || rc=1
	wall kopiurctl "the CLI writes objects and nothing else" "$kopia|$ours/(controller|mover|webhook|e2e)|$beyond_the_client" || rc=1
	return $rc
}

# Fault switches are compiled in by `-tags testing` alone; a release that carried them could be told to lose data.
release_builds() {
	hack/build.sh
	local bin tags
	for bin in out/release/*; do
		[[ -e $bin ]] || continue
		tags=$(go version -m "$bin" | awk '$1 == "build" && $2 ~ /^-tags=/ { print $2 }')
		if [[ -n $tags ]]; then
			echo "$bin was built with $tags"
			return 1
		fi
		go version -m "$bin" | grep -q 'CGO_ENABLED=0' || { echo "$bin was built with cgo"; return 1; }
	done
}

# From another folder the same source must give the same bytes, or nobody can check what a release was made from.
reproducible() {
	local copy rc=0
	copy=$(mktemp -d)
	cp -r go.work hack apis controller mover webhook kopiurctl e2e "$copy"
	if [[ -e go.work.sum ]]; then cp go.work.sum "$copy"; fi
	"$copy/hack/build.sh"
	(cd out/release && sha256sum -- *) >"$copy/here"
	(cd "$copy/out/release" && sha256sum -- *) >"$copy/there"
	diff "$copy/here" "$copy/there" || rc=1
	rm -rf "$copy"
	return $rc
}

# Budgets A4 and M10; a from-scratch image is its binary plus a few hundred bytes.
binary_sizes() {
	local bin size rc=0
	for bin in out/release/*; do
		[[ -e $bin ]] || continue
		size=$(stat -c %s "$bin")
		echo "$((size / 1048576)) MiB  $bin"
		if ((size > 60 * 1048576)); then
			echo "$bin is larger than 60 MiB"
			rc=1
		fi
	done
	return $rc
}

crd_sizes() { "$(hack/tool controller-gen chartgen)" sizes charts/kopiur/crds; }

# Budgets A2 and A3 need an API server; the package starts one, as any user, and builds it on the first run.
apply_budgets() {
	local log rc=0
	log=$(mktemp)
	(cd e2e && go test -count=1 -v -run 'E12|I7' ./install) >"$log" 2>&1 || rc=$?
	if ((rc)); then cat "$log"; else grep -oE '(A2|A3)  .*' "$log"; fi
	rm -f "$log"
	return $rc
}

# A field that does nothing is worse than one that is missing.
fields_are_read() { "$(hack/tool controller-gen chartgen)" unread github.com/kopiur/kopiur/controller/...; }

shell_scripts() {
	local f
	for f in hack/*.sh hack/tool .ci/run; do bash -n "$f"; done
}

# A row that names a test which was renamed, or never was, proves nothing.
acceptance_tests_exist() {
	local missing
	missing=$(comm -23 \
		<(grep -oE '\b(Test|Fuzz|Benchmark)[A-Z][A-Za-z0-9]*' docs/acceptance.md | sort -u) \
		<(grep -rhoE --include='*_test.go' '^func (Test|Fuzz|Benchmark)[A-Za-z0-9]+' apis controller webhook mover kopiurctl e2e hack | sed 's/^func //' | sort -u))
	[[ -z $missing ]] && return 0
	echo "docs/acceptance.md names tests that do not exist:"
	echo "$missing"
	return 1
}

check "generated files are fresh" hack/generate.sh --check
check "go.mod files are tidy" tidy
check "apis and controller build outside the workspace" build_as_importers_do
check "import walls" walls
SHOW=1 check "CRD sizes (A1)" crd_sizes
SHOW=1 check "every field of a spec is read or listed" fields_are_read
SHOW=1 check "client-side apply and empty differences (A2, A3)" apply_budgets
check "chart: lint, schema, goldens" hack/chart-test.sh
check "release builds carry no test switches" release_builds
check "release builds are reproducible" reproducible
SHOW=1 check "binary sizes (A4, M10)" binary_sizes
check "shell scripts parse" shell_scripts
check "acceptance.md names tests that exist" acceptance_tests_exist

if ((${#failed[@]})); then
	echo "verify: ${#failed[@]} failed" >&2
	exit 1
fi
