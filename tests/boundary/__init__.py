"""Tests of the boundary between Python and the core."""
