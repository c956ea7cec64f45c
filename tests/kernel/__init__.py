"""Recordings of kernels, from Python and from the command line, as a user meets them."""
