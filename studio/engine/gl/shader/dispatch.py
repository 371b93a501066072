"""Grids: how many work groups a kernel needs, split so that no axis exceeds what drivers take."""

from __future__ import annotations

Groups = tuple[int, int, int]

LARGEST_AXIS = 65535
"""OpenGL promises this many work groups per axis; more is an error and nothing runs."""


def groups_for(count: int, per_group: int) -> int:
    """Groups that cover ``count`` items."""
    return -(-count // per_group)


def split_line(groups: int) -> Groups:
    """A line of groups folded into rows where it is too long for one axis.

    The kernel numbers its groups ``GROUP = y * width + x`` and must not run past its work: the
    last row may be partly idle.
    """
    if groups <= LARGEST_AXIS:
        return (max(groups, 1), 1, 1)
    rows = groups_for(groups, LARGEST_AXIS)
    return (groups_for(groups, rows), rows, 1)
