"""Loops compiled by Numba where NumPy would pass over memory several times.

Every one has a NumPy kernel that stands in for it. The functions here work on arrays without gaps,
give up the interpreter's lock, and are compiled at first use into a cache on disk. NaN and
infinities behave as in the NumPy kernels: the compiler may reorder sums and fuse products, but not
assume that numbers are finite.
"""
