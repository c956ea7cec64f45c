#!/usr/bin/env bash
# Runs every Go fuzz target for the given time each (default 15s). Seeds and past finds live in testdata/fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."
each=${1:-15s}
grep -rlE '^func Fuzz[A-Z]' --include='*_test.go' core pybind | sort | while read -r f; do
  grep -oE '^func Fuzz[A-Za-z0-9_]+' "$f" | sed 's/^func //' | while read -r target; do
    echo "fuzz $target in $(dirname "$f") for $each"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$each" -fuzzminimizetime 20x -parallel 2 "./$(dirname "$f")" | tail -n 2
  done
done
