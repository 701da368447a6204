#!/usr/bin/env bash
# Measures against the budgets and prints the table; out/bench/report.md and report.json keep it (docs/testing/benchmarks.md).
#
#     hack/bench.sh                        every row in small sizes, then the modules' own Go benchmarks: minutes
#     FULL=1 hack/bench.sh                 the sizes that the budgets name: hours
#     BENCH=M1,M3/D2 hack/bench.sh         some rows only; BENCH=C: those of the controller; BENCH=go: the Go benchmarks only
#
# Also: ROUNDS=5, MANY=1000000 (files of D1 in the full form), BENCH_WORK=<folder on the disk to measure>,
# BENCH_OUT=<folder for the report>, KEEP_FREE=<GiB>.
{ # Read as a whole before it runs: a rebase may replace this file meanwhile.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bench=${BENCH:-} work=${BENCH_WORK:-out/bench/work} out=${BENCH_OUT:-out/bench}
status=0

# Which rows are asked for: those of the mover, and those of the controller. Without a name all are.
mover=() controller=()
IFS=', ' read -ra names <<<"$bench"
for name in ${names[@]+"${names[@]}"}; do
	case $name in
	go) ;;
	C*) controller+=("$name") ;;
	*) mover+=("$name") ;;
	esac
done

rows() {
	mkdir -p out/bin "$work"
	(cd e2e && go build -o ../out/bin/bench ./cmd/bench)
	hack/build.sh
	args=(run --rows "${mover[*]-}" --work "$work" --out "$out" --mover out/release/mover --kopia "$(hack/tool kopia)" --versitygw "$(hack/tool versitygw)")
	args+=(--command "$(shown)")
	if [[ -n ${FULL:-} ]]; then args+=(--full); fi
	if [[ -n ${ROUNDS:-} ]]; then args+=(--rounds "$ROUNDS"); fi
	if [[ -n ${MANY:-} ]]; then args+=(--many "$MANY"); fi
	if [[ -n ${KEEP_FREE:-} ]]; then args+=(--keep-free "$KEEP_FREE"); fi
	out/bin/bench "${args[@]}" || status=1
}

# How this was started, for the report.
shown() {
	local shown=(make bench) name
	for name in FULL BENCH ROUNDS MANY; do
		if [[ -n ${!name:-} ]]; then shown+=("$name=${!name}"); fi
	done
	echo "${shown[*]}"
}

# The controller's rows need an API server of their own: they count its requests and fill it with thousands of objects.
control_plane=''
take_down() {
	trap - EXIT INT TERM
	if [[ -n $control_plane ]]; then out/bin/cluster down --control-plane-only --name "$control_plane" || true; fi
}
controller_rows() {
	local root=$PWD began=$SECONDS env dir=$out/controller
	mkdir -p out/bin "$dir"
	dir=$(realpath "$dir")
	(cd e2e && go build -o ../out/bin/bench ./cmd/bench && go build -o ../out/bin/cluster ./cmd/cluster)
	rm -f "$dir/rows.json"
	control_plane=bench-$(printf %s "$PWD" | cksum | cut -d' ' -f1)
	trap take_down EXIT
	trap 'exit 130' INT TERM
	env=$(out/bin/cluster up --control-plane-only --name "$control_plane" --print-env)
	(
		set -a
		eval "$env"
		KOPIUR_BENCH_OUT=$dir/rows.json KOPIUR_BENCH_FULL=${FULL:-} KOPIUR_BENCH_ROWS=${controller[*]-}
		cd "$root/controller"
		go test -count=1 -timeout 6h -tags bench -run '^(TestNumbers|TestOutage)$' -v ./internal/apitest/numbers >"$dir/log" 2>&1
	) || { status=1 && tail -n 30 "$dir/log" >&2; }
	if [[ -s $dir/rows.json ]]; then
		args=(controller --rows "$dir/rows.json" --out "$dir" --took $((SECONDS - began))s --command "$(shown)")
		if [[ -n ${FULL:-} ]]; then args+=(--full); fi
		out/bin/bench "${args[@]}" || status=1
	fi
	out/bin/cluster down --control-plane-only --name "$control_plane" || true
	control_plane=''
}

# The packages that have benchmarks, of every module: parts of the rows above, for whoever works on one of them.
go_benchmarks() {
	local module package count=()
	# Beside the rows, one iteration: they are there to be seen to work.
	if [[ -z $bench ]]; then count=(-benchtime 1x); fi
	echo
	echo "Go benchmarks"
	while read -r package; do
		module=${package%%/*}
		(cd "$module" && go test -run '^$' -bench . -benchmem ${count[@]+"${count[@]}"} "./${package#*/}") || status=1
	done < <(grep -rl --include='*_test.go' '^func Benchmark' apis controller mover webhook e2e | xargs -r -n1 dirname | sort -u)
}

if [[ -z $bench || ${#mover[@]} -gt 0 ]]; then rows; fi
if [[ -z $bench || ${#controller[@]} -gt 0 ]]; then controller_rows; fi
if [[ -z $bench || $bench == go ]]; then go_benchmarks; fi
exit $status
}
