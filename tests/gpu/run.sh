#!/usr/bin/env bash
# What a GPU does beside the simulator, as `tests/gpu/run.sh PYTHON`: results go to docs/gpu. Without a GPU the same runs on the simulator's
# driver, which shows that the checks work, and leaves its results in build/gpu.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=docs/gpu
over=()
if "$1" -m prlx._gpu | grep -q '"why"'; then
  echo "there is no GPU: on the driver of the simulator"
  out=build/gpu
  over=("$1" -m prlx simulate --)
fi
mkdir -p "$out"
"${over[@]}" "$1" -m prlx simulate --selftest --overwrite --output "$out/selftest.json"
"${over[@]}" "$1" tests/gpu/run.py -o "$out/results.md"
