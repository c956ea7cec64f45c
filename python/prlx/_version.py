"""The version of prlx: the one place that states it. The build reads it from here and links it into the core."""

__version__ = "0.1.0"
