#!/usr/bin/env bash
# Runs tests with everything they need, takes it all down again, and ends with one line of counts.
#
#     hack/test.sh [--short] [--soak] [--cluster] <module>…
#
#   --short    no set-up: pure and step tests only, without the race detector
#   --soak     with the long forms (-tags soak)
#   --cluster  after the modules, the cluster tests: on $KUBECONFIG, or as root on a cluster of our own
#
# Layers are explained in docs/testing/layers.md.
{ # Read as a whole before it runs: bash reads on as it goes, and a rebase may replace this file meanwhile.
set -euo pipefail
unset MAKEFLAGS # of the make that called: its M= is not for the makes below
cd "$(dirname "${BASH_SOURCE[0]}")/.."

short='' cluster='' tags='' timeout=30m
while [[ ${1:-} == --* ]]; do
	case $1 in
	--short) short=1 ;;
	--soak) tags=soak timeout=8h ;;
	--cluster) cluster=1 ;;
	*) echo "hack/test.sh: unknown option $1" >&2; exit 2 ;;
	esac
	shift
done
modules=("$@")

root=$PWD out=$PWD/out/test status=0
# Counts of an earlier run must not add to this one's.
rm -rf "$out"
mkdir -p "$out" out/bin
(cd hack/testsum && GOWORK=off go build -o "$root/out/bin/testsum" .)

left_out=()
# Named after this checkout: two checkouts can test at the same time, and nobody's running cluster is deployed over.
own=test-$(printf %s "$PWD" | cksum | cut -d' ' -f1)
export KOPIUR_CLUSTER=${KOPIUR_CLUSTER:-$own}
plane=(--control-plane-only --name "$own")
control_plane='' box='' soak_temp=''
take_down() {
	trap - EXIT INT TERM
	if [[ -n $soak_temp ]]; then rm -rf "$soak_temp"; fi
	if [[ -n $box && -z ${KEEP:-} ]]; then out/bin/cluster down || true; fi
	if [[ -n $control_plane ]]; then out/bin/cluster down "${plane[@]}" || true; fi
}
trap take_down EXIT
trap 'exit 130' INT TERM

# set_up_failed <label> <what>: a test that could not start has not passed.
set_up_failed() {
	echo "FAIL  $2"
	printf '%s\n' "0 passed, 1 failed, 0 skipped" "FAIL  $2" >"$out/$1-setup.count"
	status=1
}

# run_go <label> <directory> <go test arguments…>: one `go test` whose failure does not stop the rest.
run_go() {
	local label=$1 dir=$2
	shift 2
	(
		cd "$dir"
		if [[ $dir == hack/* || $dir == e2e/cluster/binaries ]]; then export GOWORK=off; fi
		go test -json -timeout "$timeout" "$@" 2>&1
	) | tee "$out/${label//\//-}.json" | out/bin/testsum ${VERBOSE:+-v} -out "$out/${label//\//-}.count" || status=1
}

has_harness() { [[ -d e2e/cmd/cluster ]]; }

# environment <file of NAME=VALUE lines>: takes over what is ours, whatever else is printed.
environment() {
	local name value
	while IFS='=' read -r name value; do
		if [[ $name =~ ^(KOPIUR_[A-Z_]+|KUBEBUILDER_ASSETS|KUBECONFIG)$ ]]; then export "$name=$value"; fi
	done <"$1"
}

# asks_api_server <module…>: one of them has tests that do.
asks_api_server() { [[ -z $short ]] && grep -rqs KOPIUR_TEST_KUBECONFIG --include='*.go' --exclude-dir=cmd "$@"; }

if [[ -z $short ]] && has_harness; then
	(cd e2e && go build -o "$root/out/bin/cluster" ./cmd/cluster)
fi
if has_harness && [[ -z ${KOPIUR_TEST_KUBECONFIG:-} ]] && asks_api_server "${modules[@]}"; then
	echo "test  starting etcd and kube-apiserver for the API tests"
	control_plane=1
	if out/bin/cluster up "${plane[@]}" --print-env >"$out/plane.env"; then
		environment "$out/plane.env"
	else
		set_up_failed plane "etcd and kube-apiserver did not start"
	fi
fi

for module in "${modules[@]}"; do
	module_tags=$tags
	# Kopia's own tag for tests: a key derivation that is not slow on purpose. Under the race detector every open of a
	# repository would take seconds. The interop tests below use a binary without it, and check that.
	if [[ $module == mover ]]; then module_tags=${tags:+$tags,}testing; fi
	if [[ $module == mover && -n $tags ]]; then
		# Thousands of processes and of kills: the race detector, which the everyday run has, would make hours of them. More
		# tests at a time than there are processors, because much of it waits.
		soak_temp=$(mktemp -d /tmp/soak.XXXX)
		chmod 1777 "$soak_temp" # some tests run as other users
		TMPDIR=$soak_temp run_go "$module" "$module" -parallel 4 -tags "$module_tags" ./...
		rm -rf "$soak_temp"
	elif asks_api_server "$module"; then
		# -count=1: Go does not know that the API server is another one, and would take an earlier run's results for this
		# one's. What was asked of the server is looked at afterwards.
		CGO_ENABLED=1 run_go "$module" "$module" -race -count=1 ${module_tags:+-tags "$module_tags"} ./...
	elif [[ -n $short ]]; then
		run_go "$module" "$module" -short ${module_tags:+-tags "$module_tags"} ./...
	else
		CGO_ENABLED=1 run_go "$module" "$module" -race ${module_tags:+-tags "$module_tags"} ./...
	fi
	if [[ $module == mover && -z $short ]]; then
		KOPIUR_KOPIA_CLI=$(hack/tool kopia) KOPIUR_VERSITYGW=$(hack/tool versitygw) run_go mover-interop mover -tags interop ./internal/interop
		# Kopia itself has a race there, which is not ours to fail for: see the file.
		run_go mover-rclone mover -tags "${tags:+$tags,}testing" -run '^TestRcloneStartsInTime$' ./internal/engine
		if command -v node >/dev/null && command -v npm >/dev/null && [[ -x /usr/sbin/sshd ]]; then
			# Built before they are timed, and not by six tests at once.
			for server in versitygw fake-gcs-server rclone azurite; do
				hack/tool "$server" >/dev/null || set_up_failed "$server" "$server could not be built or installed"
			done
			# They wait for servers most of the time.
			run_go mover-backends mover -parallel 8 -tags "${tags:+$tags,}testing,servers" ./internal/backends
		else
			left_out+=("backends: their servers need node, npm and OpenSSH's sshd (Debian: nodejs npm openssh-server)")
		fi
	fi
done

# What no API test has asked for is a right that the roles need not grant.
audited=()
for module in controller webhook; do
	if [[ -z $short && " ${modules[*]} " == *" $module "* ]]; then audited+=("$module"); fi
done
if [[ ${#audited[@]} -gt 0 && -z ${KOPIUR_TEST_AUDIT_LOG:-} ]]; then
	left_out+=("unused permissions: they are found in the audit log of the API server (KOPIUR_TEST_AUDIT_LOG)")
elif [[ ${#audited[@]} -gt 0 ]]; then
	run_go permissions controller -count=1 -tags permissions -run "^TestEveryPermissionIsUsed\$/^($(IFS='|'; echo "${audited[*]}"))\$" ./internal/apitest/permissions
fi

if [[ -n $cluster ]]; then
	if [[ ! -d e2e/specs ]]; then
		left_out+=("cluster tests: none in the tree yet")
	elif [[ -z ${KUBECONFIG:-} && $EUID != 0 ]]; then
		left_out+=("cluster tests: they need root for a cluster of our own, or KUBECONFIG for one of yours")
	else
		: >"$out/cluster.env"
		if [[ -z ${KUBECONFIG:-} ]]; then
			# The storage that every cluster test trusts.
			run_go driver e2e/cluster/binaries ./cmd/csi-hostpath
			echo "test  starting a cluster"
			# One that ran before stays, whoever started it.
			out/bin/cluster kubeconfig >/dev/null 2>&1 || box=1
		fi
		if [[ -z ${KUBECONFIG:-} ]] && ! out/bin/cluster up --print-env >"$out/cluster.env"; then
			set_up_failed cluster "the cluster did not start"
		elif ! TEST_IMAGES=1 RCLONE=1 make --no-print-directory images deploy DEPLOY_FLAGS='--set features.credentialProjection.enabled=true --set features.kopiaUi.enabled=true'; then
			set_up_failed cluster "the images or the chart could not be installed"
		else
			# Only now: with KUBECONFIG set, deploy would take our cluster for one of yours.
			environment "$out/cluster.env"
			if ! command -v chromium-headless-shell chromium >/dev/null; then
				left_out+=("the web interface in a browser: it needs one (Debian: chromium-headless-shell)")
			fi
			# What a failed test saw goes into files: thousands of lines of it would bury the failure itself.
			export ARTIFACTS=${ARTIFACTS:-$out/artifacts}
			# More specs at a time than there are processors: most of them wait for something most of the time.
			VERBOSE=1 run_go cluster e2e -count=1 -tags "e2e${tags:+,$tags}" -p 1 -parallel 6 ./specs/...
		fi
	fi
fi

echo
for line in ${left_out[@]+"${left_out[@]}"}; do echo "left out  $line"; done
out/bin/testsum -total "$out"/*.count || status=1
exit $status
}
