"""The workspaces: what each arrangement of the panes is for."""

from __future__ import annotations

from typing import Literal, TypeAlias

Workspace: TypeAlias = Literal["build", "train", "profile"]

WORKSPACES: dict[Workspace, tuple[str, str]] = {
    "build": ("Build", "Panes for building: palette, inspector, listing and problems."),
    "train": ("Train", "Panes for training: runs, plots, testing and data."),
    "profile": ("Profile", "Panes for profiling: profiler, tensor map and listing."),
}
"""Text and tip of each workspace, in the order of their keys."""
