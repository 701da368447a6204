#!/usr/bin/env bash
# Tests the chart without a cluster: lint, what it renders for each file in tests/values against a golden, and that
# each file in tests/refused is refused with the words of its first line (# want: …).
#
#     hack/chart-test.sh [--update]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

update=''
if [[ ${1:-} == --update ]]; then update=1; fi
helm=$(hack/tool helm)
chart=charts/kopiur failed=0
# No kubeconfig, no plugin and no repository of whoever runs this may change a result.
HELM_HOME_DIR=$(mktemp -d)
trap 'rm -rf "$HELM_HOME_DIR"' EXIT
export KUBECONFIG=/dev/null HELM_CONFIG_HOME=$HELM_HOME_DIR HELM_CACHE_HOME=$HELM_HOME_DIR HELM_DATA_HOME=$HELM_HOME_DIR

render() {
	"$helm" template kopiur "$chart" --namespace kopiur-system --kube-version 1.37.0 --values "$1"
}

if [[ -z $update ]]; then "$helm" lint --strict --quiet "$chart" || failed=1; fi

for values in "$chart"/tests/values/*.yaml; do
	golden=$chart/tests/golden/$(basename "$values")
	if [[ -n $update ]]; then
		render "$values" >"$golden"
	elif ! diff -u "$golden" <(render "$values" 2>&1); then
		echo "$golden is not what $values renders: run make generate and review the difference" >&2
		failed=1
	fi
done

for values in "$chart"/tests/refused/*.yaml; do
	want=$(sed -n '1s/^# want: //p' "$values")
	if got=$(render "$values" 2>&1); then
		echo "$values was accepted" >&2
		failed=1
	elif [[ $got != *"$want"* ]]; then
		printf '%s: want %s in the refusal, got:\n%s\n' "$values" "$want" "$got" >&2
		failed=1
	fi
done
# What depends on the kinds that a cluster has, which no values file says.
if ! "$helm" template kopiur "$chart" --kube-version 1.37.0 --api-versions populator.storage.k8s.io/v1beta1/VolumePopulator |
	grep -q '^kind: VolumePopulator$'; then
	echo "a cluster that checks data sources is not told about Restores" >&2
	failed=1
fi
exit $failed
