"""The documentation under test."""
