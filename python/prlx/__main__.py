"""``python -m prlx`` is ``prlx``."""

from __future__ import annotations

import sys

from ._start import main

if __name__ == "__main__":
    sys.exit(main())
