"""Our reproduction of original prlx 0.5 against original prlx 0.5 itself.

The binary of the PyPI release 0.5.1 of ``prlx`` is run as a black box on files that this package writes by itself.
``make test`` fetches it into ``build/oracle``; ``PRLX_ORACLE`` names another copy. Without it the tests are skipped, in CI
they fail.
"""
