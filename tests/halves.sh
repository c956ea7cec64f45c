#!/usr/bin/env bash
# Runs the Python tests as two processes of pytest at once, as `tests/halves.sh PYTHON [OPTION...]`: those of kernels (Triton on the
# simulator, and over its driver), and all others; each takes about half of the time. Only the others measure clocks: probers of one host
# find each other, so there must be one process of them.
set -uo pipefail
cd "$(dirname "$0")/.."
kernels=(tests/simulator tests/driver tests/llir tests/upstream tests/bugs)
said=$(mktemp)
trap 'rm -f "$said"' EXIT
"$@" -m pytest -q "${kernels[@]}" >"$said" 2>&1 &
first=$!
# Whoever stops us stops it, too.
trap 'kill "$first" 2>/dev/null; exit 130' INT TERM
"$@" -m pytest -q "${kernels[@]/#/--ignore=}" tests
second=$?
wait "$first"
code=$?
cat "$said"
# 5: no test was there to run; that is for whoever chose the tests to know.
[ "$second" != 0 ] && exit "$second"
exit "$code"
