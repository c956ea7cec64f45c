#!/usr/bin/env bash
# Runs every Go fuzz target for the given time each (default 15s). Seeds and past finds live in testdata/fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."
each=${1:-15s}

# One target. Go sometimes ends a run whose time is up as a failure although it found nothing: status 2 then, and the caller tries
# again, once. A finding has written its input: status 1, which ends everything.
fuzz() {
  local said
  if said=$(go test -run '^$' -fuzz "^$1\$" -fuzztime "$each" -fuzzminimizetime 20x -parallel 2 "$2" 2>&1); then
    tail -n 2 <<<"$said"
  elif ! grep -qE 'Failing input written|testdata/fuzz' <<<"$said"; then
    tail -n 5 <<<"$said"
    echo "the run failed without a finding"
    return 2
  else
    echo "$said"
    exit 1
  fi
}
grep -rlE '^func Fuzz[A-Z]' --include='*_test.go' core pybind | sort | while read -r f; do
  grep -oE '^func Fuzz[A-Za-z0-9_]+' "$f" | sed 's/^func //' | while read -r target; do
    echo "fuzz $target in $(dirname "$f") for $each"
    fuzz "$target" "./$(dirname "$f")" || fuzz "$target" "./$(dirname "$f")"
  done
done
