#!/usr/bin/env bash
# Lints modules with one shared configuration. golangci-lint works on one module at a time, so this is a loop; every
# module is looked at even when an earlier one has findings.
#
#     hack/lint.sh [--fmt] <module>…
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

root=$PWD verb=(run --allow-parallel-runners)
if [[ ${1:-} == --fmt ]]; then
	verb=(fmt)
	shift
fi
lint=$(hack/tool golangci-lint)
failed=()
for module in "$@"; do
	# A module with nothing but doc.go is fine; one without any Go file is not lintable at all.
	[[ -n $(find "$module" -name '*.go' -not -path '*/testdata/*' -print -quit) ]] || continue
	echo "lint  $module"
	args=(--config "$root/.golangci.yml")
	# Tests behind a tag are code as well. Of a pair (soak and not soak) the everyday half is looked at.
	if [[ ${verb[0]} == run ]]; then args+=(--build-tags e2e,interop,servers); fi
	(
		cd "$module"
		# Helpers are modules of their own outside the workspace.
		if [[ $module == hack/* ]]; then export GOWORK=off; fi
		"$lint" "${verb[@]}" "${args[@]}" ./...
	) || failed+=("$module")
done
if ((${#failed[@]})); then
	echo "lint: findings in ${failed[*]}" >&2
	exit 1
fi
