#!/usr/bin/env bash
# Measures against the budgets and prints the table; out/bench/report.md and report.json keep it (docs/testing/benchmarks.md).
#
#     hack/bench.sh                        every row in small sizes, then the modules' own Go benchmarks: minutes
#     FULL=1 hack/bench.sh                 the sizes that the budgets name: hours
#     BENCH=M1,M3/D2 hack/bench.sh         some rows only; BENCH=go: the Go benchmarks only
#
# Also: ROUNDS=5, MANY=1000000 (files of D1 in the full form), BENCH_WORK=<folder on the disk to measure>,
# BENCH_OUT=<folder for the report>, KEEP_FREE=<GiB>.
{ # Read as a whole before it runs: a rebase may replace this file meanwhile.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bench=${BENCH:-} work=${BENCH_WORK:-out/bench/work} out=${BENCH_OUT:-out/bench}
status=0

rows() {
	mkdir -p out/bin "$work"
	(cd e2e && go build -o ../out/bin/bench ./cmd/bench)
	hack/build.sh
	args=(run --rows "$bench" --work "$work" --out "$out" --mover out/release/mover --kopia "$(hack/tool kopia)" --versitygw "$(hack/tool versitygw)")
	local shown=(make bench) name
	for name in FULL BENCH ROUNDS MANY; do
		if [[ -n ${!name:-} ]]; then shown+=("$name=${!name}"); fi
	done
	args+=(--command "${shown[*]}")
	if [[ -n ${FULL:-} ]]; then args+=(--full); fi
	if [[ -n ${ROUNDS:-} ]]; then args+=(--rounds "$ROUNDS"); fi
	if [[ -n ${MANY:-} ]]; then args+=(--many "$MANY"); fi
	if [[ -n ${KEEP_FREE:-} ]]; then args+=(--keep-free "$KEEP_FREE"); fi
	out/bin/bench "${args[@]}" || status=1
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

if [[ $bench != go ]]; then rows; fi
if [[ -z $bench || $bench == go ]]; then go_benchmarks; fi
exit $status
}
