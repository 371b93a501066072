"""``glassbox [PROJECT]``: opens the studio."""

from __future__ import annotations

from typing import Annotated

import typer

from studio.cli.options import find_project
from studio.cli.window import need_window
from studio.engine.core.errors import ParameterError, quoted
from studio.engine.core.near_names import did_you_mean

THEMES = ("dark", "light", "system")
SCALES = (75, 300)


def open_studio(
    context: typer.Context,
    project: Annotated[
        str | None,
        typer.Argument(
            help="Project file (.glassbox), its folder, or the name of a sample.",
            metavar="[PROJECT]",
        ),
    ] = None,
    reset_layout: Annotated[
        bool, typer.Option("--reset-layout", help="Reset the layout of window and panes.")
    ] = False,
    safe: Annotated[
        bool,
        typer.Option(
            "--safe", help="Start with defaults: no preferences, layout, plugins or last project."
        ),
    ] = False,
    theme: Annotated[
        str, typer.Option("--theme", help="Theme for this session.", metavar="dark|light|system")
    ] = "",
    scale: Annotated[
        int, typer.Option("--scale", help="Scale for this session in percent.", metavar="N")
    ] = 0,
) -> None:
    """Open the studio; without a project, on the welcome page."""
    if theme and theme not in THEMES:
        raise ParameterError(f"expected --theme out of {', '.join(THEMES)}, got {quoted(theme)}",
                             hint=did_you_mean(theme, THEMES))  # fmt: skip
    low, high = SCALES
    if scale and not low <= scale <= high:
        raise ParameterError(f"expected --scale from {low} to {high}, got {scale}")
    window = need_window(context)
    path = None if project is None else find_project(project)
    code = window.open(path, reset_layout=reset_layout, safe=safe, theme=theme, scale=scale)
    raise typer.Exit(code)
