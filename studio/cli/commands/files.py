"""``glassbox asm``, ``dis`` and ``exec``: instruction files between text, bytes and answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from studio.cli import console
from studio.cli.options import BackendOption, JsonOption
from studio.engine.compiler.verify import verify
from studio.engine.core.errors import DataError, FormatError, quoted
from studio.engine.formats.gbasm import load_gbasm, save_gbasm
from studio.engine.formats.gbi import load_gbi, save_gbi
from studio.engine.formats.npy import load_npy, save_npy
from studio.engine.formats.npz import load_npz, save_npz
from studio.engine.interop.program_names import input_names, output_names
from studio.engine.isa import ops
from studio.engine.isa.text import format_program
from studio.engine.train.network.execute import execute_all, runnable_file

ALL_FAMILIES = ops.__all__


def assemble(
    source: Annotated[Path, typer.Argument(help="Listing to read (.gbasm).")],
    target: Annotated[Path, typer.Argument(help="Instruction file to write (.gbi).")],
    weights: Annotated[
        Path | None,
        typer.Option("--weights", help="Instruction file to take the weights from (.gbi)."),
    ] = None,
) -> None:
    """Turn a listing into a binary instruction file."""
    program = load_gbasm(source)
    verify(program, after="reading")
    carried = load_gbi(weights).weights if weights is not None else None
    save_gbi(target, program, carried)
    console.say(f"{target}: {len(program)} instructions, {len(program.tensors)} tensors")


def disassemble(
    source: Annotated[Path, typer.Argument(help="Instruction file to read (.gbi).")],
    target: Annotated[
        Path | None, typer.Argument(help="Listing to write (.gbasm); printed if not given.")
    ] = None,
    skip_unknown: Annotated[
        bool, typer.Option("--skip-unknown", help="Skip instructions with unknown opcodes.")
    ] = False,
) -> None:
    """Turn a binary instruction file into a listing."""
    program = load_gbi(source, skip_unknown=skip_unknown).program
    if target is None:
        console.say(format_program(program))
        return
    save_gbasm(target, program)
    console.say(f"{target}: {len(program)} instructions, {len(program.tensors)} tensors")


def execute_file(
    source: Annotated[Path, typer.Argument(help="Instruction file that carries weights (.gbi).")],
    rows: Annotated[
        Path,
        typer.Option(
            "--input",
            help="Raw inputs, one row each: .npy, or .npz with x or an array for each input.",
            metavar="FILE",
        ),
    ],
    answers: Annotated[
        Path | None,
        typer.Option(
            "--output",
            help="File for the outputs: .npy, or .npz with an array for each output.",
            metavar="FILE",
        ),
    ] = None,
    backend: BackendOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Run an instruction file on raw inputs, any number of rows."""
    if answers is None and not as_json:
        raise FormatError("give --output FILE.npy, FILE.npz or --json",
                          who="exec")  # fmt: skip
    found = runnable_file(source)
    names = output_names(found.program)
    if answers is not None and len(names) > 1 and answers.suffix.lower() != ".npz":
        raise DataError(
            f"the program has several outputs ({', '.join(names)}), which are written to .npz, "
            f"got {quoted(answers.name)}",
            who="exec",
        )
    outputs = execute_all(found, _rows(rows, input_names(found.program)), backend)
    if answers is not None:
        _save(answers, outputs)
    if as_json:
        shapes = {name: list(values.shape) for name, values in outputs.items()}
        lists = {name: values.tolist() for name, values in outputs.items()}
        if len(names) > 1:
            console.answer_json({"shape": shapes, "outputs": lists})
        else:
            console.answer_json({"shape": shapes[names[0]], "outputs": lists[names[0]]})
        return
    # A single output is said without its name.
    shown = (
        f"{f'{name} ' if len(names) > 1 else ''}{values.dtype}{list(values.shape)}"
        for name, values in outputs.items()
    )
    console.say(f"{answers}: {', '.join(shown)}")


def _save(path: Path, outputs: dict[str, np.ndarray]) -> None:
    """Write a ``.npz`` of the outputs by name, or a ``.npy`` of the only one."""
    if path.suffix.lower() == ".npz":
        save_npz(path, outputs)
    else:
        (only,) = outputs.values()
        save_npy(path, only)


def _rows(path: Path, inputs: tuple[str, ...]) -> np.ndarray | dict[str, np.ndarray]:
    """The arrays of a file by input; for one input the only array, or the one called x."""
    ending = path.suffix.lower()
    if ending != ".npz" and (len(inputs) > 1 or ending != ".npy"):
        each = f"an array for each of {', '.join(inputs)}"
        raise DataError(
            f"expected an .npz file with {each}" if len(inputs) > 1 else
            f"expected an .npy or .npz file, got {quoted(path.name)}",
            who=str(path), hint="glassbox predict reads tables and images for a project",
        )  # fmt: skip
    if ending == ".npy":
        return load_npy(path)
    arrays = load_npz(path)
    if len(inputs) > 1:
        return arrays
    usual = "x" if "x" in arrays or inputs[0] not in arrays else inputs[0]
    name = next(iter(arrays)) if len(arrays) == 1 else usual
    if name not in arrays:
        held = ", ".join(repr(each) for each in list(arrays)[:8])
        raise DataError(f"there is no array 'x': it holds {held or 'nothing'}", who=str(path))
    return arrays[name]
