"""``glassbox compile``: a project as instructions and tensor map, with every pass as a diff."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from studio.cli import console
from studio.cli.options import JsonOption, ProjectArgument, open_project
from studio.engine.compiler.pipeline import diff_programs
from studio.engine.compiler.target import CPU, GL
from studio.engine.core.errors import ParameterError
from studio.engine.core.tensor import Tensor, shape_text
from studio.engine.formats.gbasm import save_gbasm
from studio.engine.formats.gbi import save_gbi
from studio.engine.isa.line import format_line
from studio.engine.isa.program import Program
from studio.engine.train.programs import Programs
from studio.engine.train.task import Task

Stage = tuple[str, Program, Program]

_MODES = ("train", "evaluate", "infer")
_TARGETS = {"cpu": CPU, "gl": GL}


def compile_project(
    project: ProjectArgument,
    mode: Annotated[
        str, typer.Option("--mode", help="Which program.", metavar="train|evaluate|infer")
    ] = "train",
    level: Annotated[int, typer.Option("-O", help="Optimisation: 0, 1 or 2.", min=0, max=2)] = 2,
    target: Annotated[
        str, typer.Option("--target", help="Device the passes plan for.", metavar="cpu|gl")
    ] = "cpu",
    passes: Annotated[
        bool, typer.Option("--passes", help="Show what each pass changes, as a diff.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--verify", help="Verify the program after every pass.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", help="Write a .gbasm or .gbi file instead.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compile a project and print the listing and the tensor map."""
    if mode not in _MODES or target not in _TARGETS:
        raise ParameterError(
            f"expected --mode out of {', '.join(_MODES)} and --target cpu or gl, "
            f"got {mode!r} and {target!r}",
            who="compile",
        )
    programs = Programs(Task.of_project(open_project(project)))
    stages: list[Stage] = []
    program = programs.compile(
        mode,
        level,
        _TARGETS[target],
        verify=check,
        observer=lambda name, before, after: stages.append((name, before, after)),
    )
    if output is not None:
        _write(program, output)
    elif passes:
        _print_passes(stages)
    elif as_json:
        console.answer_json(_as_json(program))
    else:
        _print_program(program)


def _write(program: Program, output: Path) -> None:
    if output.suffix == ".gbi":
        save_gbi(output, program)
    elif output.suffix == ".gbasm":
        save_gbasm(output, program)
    else:
        raise ParameterError(
            f"the file's ending says the form: expected .gbasm or .gbi, got {output.name!r}",
            who="compile",
        )
    console.say(f"{output}: {len(program)} instructions, {len(program.tensors)} tensors")


def _print_passes(stages: list[Stage]) -> None:
    for name, before, after in stages:
        changed = diff_programs(before, after)
        remark = "" if changed else ", nothing to do"
        console.say(f"== {name}: {len(before)} -> {len(after)} instructions{remark}")
        if changed:
            console.say_plain(changed)


def _print_program(program: Program) -> None:
    section = ""
    for name, index, ins in program.located():
        if name != section:
            section = name
            console.say_plain(f"\n{name}:")
        owners = ", ".join(ins.owners)
        console.say_plain(f"  {index:4d}  {format_line(ins):<60}  {owners}")
    console.say_plain("\ntensor map:")
    console.table(
        ("id", "name", "shape", "dtype", "role", "storage"),
        [
            (f"{t.id:#x}", t.name, shape_text(t.shape), t.dtype.name, t.role.value, _storage(t))
            for t in program.tensors.values()
        ],
    )


def _storage(tensor: Tensor) -> str:
    if tensor.view_of is not None:
        return f"view of {tensor.view_of:#x}"
    if tensor.register:
        return "register"
    if tensor.pad:
        return "halo " + " ".join(f"{a}:{b}" for a, b in tensor.pad)
    return ""


def _as_json(program: Program) -> dict[str, object]:
    return {
        "name": program.name,
        "mode": program.mode,
        "instructions": [
            {
                "index": index,
                "section": name,
                "opcode": ins.code,
                "text": format_line(ins),
                "owners": list(ins.owners),
            }
            for name, index, ins in program.located()
        ],
        "tensors": [
            {
                "id": t.id,
                "name": t.name,
                "shape": list(t.shape),
                "dtype": t.dtype.name,
                "role": t.role.value,
                "view_of": t.view_of,
                "register": t.register,
                "pad": [list(p) for p in t.pad],
                "layer": t.layer,
            }
            for t in program.tensors.values()
        ],
    }
