#!/usr/bin/env bash
# Builds a wheel for every CPython 3.10 to 3.13 on this machine, each in an isolated environment of its own, into dist/ (or the
# folder given); with a second argument, for the CPython at that path only. The wheels run on every Linux with glibc 2.28 or newer:
# Zig's C compiler, from the Python index, links against the symbols of that version, and auditwheel checks that it did. The same
# commit gives the same bytes.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$(realpath -m "${1:-$root/dist}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 1735689600)}

glibc=2.28
tag=manylinux_${glibc/./_}_$(uname -m)
if [ -n "${2:-}" ]; then
  pythons=("$2")
else
  mapfile -t pythons < <("$root/tests/install/find_python.sh" --all)
fi
[ ${#pythons[@]} -gt 0 ] || { echo "no CPython 3.10 to 3.13 found" >&2; exit 1; }

"${pythons[0]}" -m venv "$work/tools"
"$work/tools/bin/python" -m pip install ziglang==0.17.1 auditwheel==6.8.2
printf '#!/bin/sh\nexec "%s" -m ziglang cc -target %s-linux-gnu.%s "$@"\n' "$work/tools/bin/python" "$(uname -m)" "$glibc" >"$work/cc"
chmod +x "$work/cc"

for python in "${pythons[@]}"; do
  rm -rf "$work/venv" "$work/wheel"
  # Without -g, which is Go's default and makes Zig keep debug sections that name the folder, whatever -s says.
  "$python" -m venv "$work/venv"
  CC="$work/cc" CGO_CFLAGS=-O2 CGO_LDFLAGS=-O2 "$work/venv/bin/python" -m pip wheel --no-deps --wheel-dir "$work/wheel" \
    --config-settings=--build-option=--plat-name="$tag" "$root"
  said=$("$work/tools/bin/auditwheel" -v show "$work"/wheel/*.whl) # without -v it ends where the tag is constrained
  least=$(grep -oE 'manylinux_[0-9]+_[0-9]+' <<<"$said" | head -n 1)
  if [ "$(printf '%s\n' "${tag%_"$(uname -m)"}" "$least" | sort -V | tail -n 1)" != "${tag%_"$(uname -m)"}" ] || ! grep -q 'requires no external shared libraries' <<<"$said"; then
    echo "$said" >&2
    echo "the wheel is not what its tag $tag says" >&2
    exit 1
  fi
  mkdir -p "$out"
  mv "$work"/wheel/*.whl "$out"
done
ls -l "$out"/prlx_go-*.whl
