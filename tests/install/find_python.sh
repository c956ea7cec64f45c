#!/usr/bin/env bash
# Prints the newest CPython 3.10 to 3.13 on this machine (PATH, then pyenv), or nothing. With --all: every one, one minor a line.
set -u
works() { "$1" -c 'import sys, venv; sys.exit(not ((3, 10) <= sys.version_info[:2] <= (3, 13) and sys.implementation.name == "cpython"))' 2>/dev/null; }
minor() { "$1" -c 'import sys; print(sys.version_info[1])'; }
root=${PYENV_ROOT:-$HOME/.pyenv}
found=""
for v in 13 12 11 10; do
  for p in "$(command -v "python3.$v" 2>/dev/null)" "$root"/versions/3."$v".*/bin/python3 "$(command -v python3 2>/dev/null)"; do
    [ -n "$p" ] && [ -x "$p" ] || continue
    if works "$p" && [ "$(minor "$p")" = "$v" ]; then
      echo "$p"
      [ "${1:-}" = "--all" ] || exit 0
      break
    fi
  done
done
