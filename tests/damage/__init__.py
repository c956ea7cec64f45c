"""Inputs whose answer is known, with one file of them damaged: no command answers something else in silence."""
