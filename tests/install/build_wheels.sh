#!/usr/bin/env bash
# Builds a wheel for every CPython 3.10 to 3.13 on this machine, each in an isolated environment of its own, into dist/ (or the
# folder given). The same commit gives the same bytes.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$(realpath -m "${1:-$root/dist}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 1735689600)}

mapfile -t pythons < <("$root/tests/install/find_python.sh" --all)
[ ${#pythons[@]} -gt 0 ] || { echo "no CPython 3.10 to 3.13 found" >&2; exit 1; }
for python in "${pythons[@]}"; do
  rm -rf "$work/venv"
  "$python" -m venv "$work/venv"
  "$work/venv/bin/python" -m pip --quiet --disable-pip-version-check wheel --no-deps --wheel-dir "$out" "$root"
done
ls -l "$out"/prlx_go-*.whl
