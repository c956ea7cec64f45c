#!/usr/bin/env bash
# Runs every Go fuzz target for the given time each (default 15s), two targets at a time with one worker each, as
# `tests/fuzz.sh [TIME [ONE_IN]]`. With ONE_IN above 1 one target in so many runs; the commit draws which. Seeds and past finds live in
# testdata/fuzz, and go test looks at all of them.
set -euo pipefail
cd "$(dirname "$0")/.."
export each=${1:-15s}
one_in=${2:-1}
commit=$(git rev-parse HEAD 2>/dev/null || echo none)

# One target, as "package target". Go sometimes ends a run whose time is up as a failure although it found nothing; such a run is
# repeated, once. A finding has written its input and ends everything (255 is what xargs stops at).
fuzz() {
  local said again
  for again in yes no; do
    if said=$(go test -run '^$' -fuzz "^$2\$" -fuzztime "$each" -fuzzminimizetime 20x -parallel 1 "./$1" 2>&1); then
      echo "fuzz $2 in $1 for $each: $(tail -n 1 <<<"$said")"
      return 0
    fi
    grep -qE 'Failing input written|testdata/fuzz' <<<"$said" && break
    echo "fuzz $2 in $1: the run failed without a finding; again: $again"
    tail -n 5 <<<"$said"
  done
  echo "fuzz $2 in $1 failed:"
  echo "$said"
  return 255
}
export -f fuzz
grep -roE '^func Fuzz[A-Za-z0-9_]+' --include='*_test.go' core pybind | sort | sed -E 's|^(.*)/[^/]+:func (.*)$|\1 \2|' |
  sort -R --random-source=<(yes "$commit") | awk -v n="$one_in" 'NR % n == 0' |
  xargs -P 2 -L 1 bash -c 'fuzz "$@"' fuzz
