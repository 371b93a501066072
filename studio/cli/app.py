"""The ``glassbox`` command: finds the command asked for, and turns mistakes into one sentence."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

    from studio.cli.window import Window

CHECK_FAILED = 1
USER_MISTAKE = 2
INTERRUPTED = 130

COMMANDS = {
    "open": ("opening", "open_studio"),
    "demo": ("demo", "demo"),
    "train": ("training", "train"),
    "sweep": ("sweeping", "sweep"),
    "evaluate": ("using", "evaluate"),
    "predict": ("using", "predict"),
    "compile": ("compiling", "compile_project"),
    "asm": ("files", "assemble"),
    "dis": ("files", "disassemble"),
    "exec": ("files", "execute_file"),
    "profile": ("profiling", "profile"),
    "tune": ("tuning", "tune"),
    "import": ("interop", "import_file"),
    "export": ("interop", "export_project"),
    "verify": ("interop", "verify_export"),
    "trust": ("trust", "trust"),
    "doctor": ("doctor", "doctor"),
    "plugins": ("plugins", "plugins"),
    "desktop": ("desktop", "desktop"),
    "isa": ("manual", "isa"),
}
"""Where each command is: module below ``studio.cli.commands`` and function."""


def main(arguments: Sequence[str] | None = None, window: Window | None = None) -> int:
    """Run one command; returns 0, 1 when a check failed, 2 for a user's mistake, 130 on Ctrl-C.

    Args:
        arguments: the words after ``glassbox``; those of the process by default.
        window: opens the studio; without one, no word at all lists the commands.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    _ready_streams()
    try:
        code = _run(words, window)
        sys.stdout.flush()
    except KeyboardInterrupt:
        # Nothing is imported for this: Ctrl-C may come while the libraries are still loading.
        sys.stderr.write("glassbox: interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        _forget_output()
        return 0
    except OSError as error:
        _forget_output()
        sys.stderr.write(f"glassbox: system error: {error} \n")
        return USER_MISTAKE
    return code


def _run(words: list[str], window: Window | None) -> int:
    import typer
    from typer.exceptions import TyperException

    from studio.cli import console
    from studio.engine.core.errors import StudioError
    from studio.engine.train.listing.debug_output import debug_level

    try:
        # A wrong level is refused at once, and not in the middle of the work.
        debug_level()
        if words[:1] == ["help"]:
            words = [*words[1:2], "--help"]
        elif _is_for_the_window(words, window):
            words = ["open", *words]
        if words[:1] not in ([], ["open"], ["demo"], ["plugins"], ["desktop"]):
            _load_plugins()
        _refuse_strangers(words)
        command = typer.main.get_command(_app(words))
        # Not called as a function: that would end the process on a pipe that was closed.
        with command.make_context("glassbox", words or ["--help"], obj=window) as context:
            command.invoke(context)
    except typer.Exit as wanted:
        return wanted.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except TyperException as error:
        console.complain(_usage(error))
        return USER_MISTAKE
    except StudioError as error:
        console.complain(str(error))
        return USER_MISTAKE
    except MemoryError:
        console.complain("not enough memory")
        return USER_MISTAKE
    except OSError:
        raise
    except Exception as error:
        if not _was_a_plugin(error):
            raise
        return USER_MISTAKE
    return 0


def _load_plugins() -> None:
    """Load the plugins that are on, for commands that do not do so themselves.

    The window may be started without plugins, and ``glassbox plugins`` switches one off before it
    could do harm.
    """
    from studio.cli import console
    from studio.engine.core.app_dirs import AppDirs
    from studio.engine.plugins.loading import list_problem, load_plugins

    states = load_plugins(AppDirs.of_user().config)
    if list_problem():
        console.complain(f"plugins were not loaded: {list_problem()}")
    for state in states:
        if state.failed:
            console.complain(f"plugin {state.found.plugin.name} was not loaded: {state.problem}")


def _was_a_plugin(error: Exception) -> bool:
    """Whether an exception was raised in a plugin, which is then named."""
    from studio.cli import console
    from studio.engine.core.errors import in_one_line
    from studio.engine.plugins.plugin import raised_in

    place = raised_in(error)
    if place:
        console.complain(f"{place} failed: {in_one_line(error)}")
    return bool(place)


def _is_for_the_window(words: list[str], window: Window | None) -> bool:
    """Whether the words name no command but what to open: nothing, a project, or how."""
    if not words:
        return window is not None
    first = words[0]
    if first in COMMANDS or first in ("--help", "--version"):
        return False
    return first.startswith("--") or first.endswith(".glassbox") or os.path.isdir(first)


def _app(words: list[str]) -> typer.Typer:
    """The command asked for, or all of them: one alone starts much faster."""
    import typer

    app = typer.Typer(
        name="glassbox",
        help="Build, train, inspect and export neural networks as programs you can read.",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_common)
    for name in [words[0]] if words and words[0] in COMMANDS else COMMANDS:
        module, function = COMMANDS[name]
        command = getattr(importlib.import_module(f"studio.cli.commands.{module}"), function)
        # Given as it is, since a summary made from the docstring would be cut off.
        app.command(name, short_help=(command.__doc__ or "").partition("\n")[0])(command)
    return app


def _common() -> None:
    """Build, train, inspect and export neural networks as programs you can read."""


def _refuse_strangers(words: list[str]) -> None:
    """Answer ``--version``; refuse what is no command, with what was probably meant."""
    import typer

    from studio import __version__
    from studio.cli import console
    from studio.engine.core.errors import ParameterError, quoted
    from studio.engine.core.near_names import near_names

    first = words[0] if words else "--help"
    if first == "--version":
        console.say(f"glassbox {__version__}")
        raise typer.Exit
    if first not in COMMANDS and not first.startswith("-"):
        near = near_names(first, COMMANDS)
        raise ParameterError(
            f"there is no command {quoted(first)}",
            hint=f"glassbox {near[0]}" if near else "glassbox --help lists all commands",
        )


def _usage(error: Exception) -> str:
    tell = getattr(error, "format_message", None)
    text = str(tell() if tell is not None else error).rstrip(".")
    path = getattr(getattr(error, "ctx", None), "command_path", "glassbox")
    return f"{text} (see: {path} --help)"


def _ready_streams() -> None:
    """Make standard output and error take any text, whatever the terminal and pipe are."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None or stream.closed:
            # Closed by the parent process; kept open for the life of the process.
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() != "utf-8":
            # Programs that read us expect UTF-8; a terminal says itself what it can show.
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="replace")


def _forget_output() -> None:
    """Let what is still unwritten go nowhere, so that ending does not fail on it again."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
