"""The ``glassbox`` command: finds the command asked for, and turns mistakes into one sentence."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer
from typer.exceptions import TyperException

from studio.cli import console
from studio.cli.commands import (
    compiling,
    demo,
    doctor,
    doors,
    files,
    manual,
    profiling,
    training,
    using,
)
from studio.engine.core.errors import ParameterError, StudioError

USER_MISTAKE = 2
INTERRUPTED = 130

app = typer.Typer(
    name="glassbox",
    help="Build, train, inspect and export neural networks as programs you can read.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("demo")(demo.demo)
app.command("train")(training.train)
app.command("evaluate")(using.evaluate)
app.command("predict")(using.predict)
app.command("compile")(compiling.compile_project)
app.command("asm")(files.assemble)
app.command("dis")(files.disassemble)
app.command("exec")(files.execute_file)
app.command("profile")(profiling.profile)
app.command("import")(doors.import_file)
app.command("export")(doors.export_project)
app.command("doctor")(doctor.doctor)
app.command("isa")(manual.isa)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns 0, 1 when a check failed, 2 for a user's mistake, 130 on Ctrl-C."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if words and _names_a_project(words[0]):
            raise ParameterError(
                f"the window that opens {words[0]} is not part of this version",
                hint=f"glassbox train {words[0]}",
            )
        result = app(args=words or ["--help"], prog_name="glassbox", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except (typer.Abort, KeyboardInterrupt):
        console.complain("interrupted")
        return INTERRUPTED
    except typer.Exit as wanted:
        return wanted.exit_code
    except TyperException as error:
        console.complain(f"{_usage(error)} (see: glassbox --help)")
        return USER_MISTAKE
    except StudioError as error:
        console.complain(str(error))
        return USER_MISTAKE
    except BrokenPipeError:
        # The reader of our output went away; nothing is left to say to it.
        sys.stderr.close()
        return 0
    except MemoryError:
        console.complain("the machine's memory does not hold what this needs")
        return USER_MISTAKE


def _names_a_project(word: str) -> bool:
    return word.endswith(".glassbox") and not word.startswith("-")


def _usage(error: TyperException) -> str:
    tell = getattr(error, "format_message", None)
    return str(tell() if tell is not None else error)
