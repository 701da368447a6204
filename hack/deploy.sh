#!/usr/bin/env bash
# Installs the chart with the images of out/images: on the cluster that `make cluster-up` started, or on KUBECONFIG.
#
#     VERSION=0.1.0 REGISTRY=localhost hack/deploy.sh [helm flags…]
#
# A cluster of yours must hold the images already, or be able to pull them from REGISTRY (PUSH=1 make images).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=${VERSION:-dev} registry=${REGISTRY:-localhost} namespace=kopiur-system
helm=$(hack/tool helm)

if [[ -n ${KUBECONFIG:-} ]]; then
	kubectl() { command kubectl "$@"; }
	command -v kubectl >/dev/null || { echo "deploy: kubectl is needed for a cluster of yours" >&2; exit 1; }
	echo "deploy  the cluster of $KUBECONFIG must hold, or be able to pull"
	printf '          %s\n' "$registry/kopiur/controller:$version" "$registry/kopiur/mover:$version" "$registry/kopiur/webhook:$version" "$registry/kopiur/ui:$version"
	[[ $registry != localhost ]] || echo "          from out/images (kind: kind load image-archive out/images/*.tar)"
else
	out/bin/cluster load-image out/images/*.tar
	kubectl() { out/bin/cluster exec -- kubectl "$@"; }
	KUBECONFIG=$(out/bin/cluster kubeconfig)
	# For helm alone: the harness takes a KUBECONFIG of its own for what it is.
	export KUBECONFIG
fi

# helm installs the CRDs of crds/ once and never again; a newer schema would be ignored on the second deploy.
kubectl apply --server-side --force-conflicts -f "charts/kopiur/crds" >/dev/null

before=$(kubectl -n "$namespace" get deployments -l app.kubernetes.io/instance=kopiur --ignore-not-found -o name 2>/dev/null || true)
"$helm" upgrade --install kopiur "charts/kopiur" --namespace "$namespace" --create-namespace \
	--set-string global.imageRegistry="$registry" --set-string image.tag="$version" \
	--set-string mover.image.tag="$version" --set-string webhook.image.tag="$version" \
	--set-string features.kopiaUi.image.tag="$version" "$@" >/dev/null
deployments=$(kubectl -n "$namespace" get deployments -l app.kubernetes.io/instance=kopiur -o name)
for d in $deployments; do
	# The same tag may name a newer image now, which a Deployment does not notice.
	if [[ $before == *"$d"* ]]; then kubectl -n "$namespace" rollout restart "$d" >/dev/null; fi
	kubectl -n "$namespace" rollout status "$d" --timeout=120s
done
# Helm made the configurations last, and until the webhook has told them what to trust they refuse everything.
if [[ $deployments == *kopiur-webhook* ]]; then
	kubectl wait --for=jsonpath='{.webhooks[0].clientConfig.caBundle}' validatingwebhookconfiguration/kopiur-webhook --timeout=60s >/dev/null
fi
