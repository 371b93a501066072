"""The workspaces: what each arrangement of the panes is for."""

from __future__ import annotations

from typing import Literal, TypeAlias

Workspace: TypeAlias = Literal["build", "train", "profile"]

WORKSPACES: dict[Workspace, tuple[str, str]] = {
    "build": ("Build", "Show what helps to build: palette, inspector, listing and problems."),
    "train": ("Train", "Show what helps to train: runs, plots, testing and data."),
    "profile": ("Profile", "Show what helps to make it fast: profiler, tensor map and listing."),
}
"""Text and tip of each workspace, in the order of their keys."""
