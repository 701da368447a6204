#!/usr/bin/env bash
# Sets up what the demo runs on, then runs it: a cluster of our own as root, or the one of KUBECONFIG.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ -z ${KUBECONFIG:-} && $EUID != 0 ]]; then
	echo "demo: a cluster of our own needs root; or set KUBECONFIG to use one of yours" >&2
	exit 1
fi
make --no-print-directory cluster-up images deploy
if [[ -z ${KUBECONFIG:-} ]]; then
	KUBECONFIG=$(out/bin/cluster kubeconfig)
	# Of the cluster's own version; a person on a bare machine has none.
	KUBECTL=${KUBECTL:-$(out/bin/cluster up --print-env 2>/dev/null | sed -n 's/^KUBEBUILDER_ASSETS=//p')/kubectl}
	export KUBECONFIG KUBECTL
fi
(cd e2e && go run ./cmd/demo "$@")
# What the demo prints last are commands to look around with.
[[ -z ${KUBECTL:-} ]] || printf 'First:\n   $ export KUBECONFIG=%s\n' "$KUBECONFIG"
