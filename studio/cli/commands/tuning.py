"""``glassbox tune``: measures which kernels are fastest for a project on this device."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from studio.cli import console
from studio.cli.options import BackendOption, JsonOption, open_project
from studio.engine.core.errors import ParameterError
from studio.engine.gl.choices.measured_choices import forget as forget_table
from studio.engine.gl.choices.measured_choices import keep_rows, require_path, table_path
from studio.engine.gl.tuning.findings import Finding, Tuning
from studio.engine.gl.tuning.tuner import tune_kernels
from studio.engine.isa.program import Program
from studio.engine.runtime.backend import Backend
from studio.engine.train.devices import open_backend
from studio.engine.train.network.programs import Programs
from studio.engine.train.project.task import Task


def tune(
    project: Annotated[
        str | None,
        typer.Argument(
            help="Project file (.glassbox), its folder, or the name of a sample.",
            metavar="[PROJECT]",
        ),
    ] = None,
    seconds: Annotated[
        int,
        typer.Option("--seconds", help="Time limit in seconds.", min=1, max=86_400, metavar="N"),
    ] = 60,
    forget: Annotated[
        bool, typer.Option("--forget", help="Remove what was measured, for all devices.")
    ] = False,
    backend: BackendOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Measure which OpenGL kernels are fastest for a project, and use them from then on."""
    if forget:
        if project is not None:
            raise ParameterError("--forget removes the whole table and takes no project")
        _forget(as_json)
        return
    if project is None:
        raise ParameterError("there is no project to tune for", hint="glassbox tune PROJECT")
    require_path()
    task = Task.of_project(open_project(project))
    with open_backend(backend) as opened:
        found, device = _measured(task, opened.backend, opened.why, seconds)
        path = keep_rows(opened.backend.fingerprint, found.rows, found.stale)
    if as_json:
        console.answer_json(
            {
                "device": device,
                "clock": found.clock,
                "seconds": found.seconds,
                "left": found.left,
                "table": str(path),
                "kernels": [{**_plain(one), "kept": found.keeps(one)} for one in found.findings],
                "steps": [asdict(one) for one in found.steps],
                "passed_over": list(found.passed_over),
            }
        )
        return
    _print(found, device, path)


def _measured(task: Task, backend: Backend, why: str, seconds: int) -> tuple[Tuning, str]:
    """What was found for the training and the inference program in the project's batch size."""
    # Where OpenGL is not used its libraries need not be there.
    from studio.engine.gl.backend import GlBackend

    device: object = backend
    if not isinstance(device, GlBackend):
        raise ParameterError(
            f"only OpenGL kernels can be tuned, and this means {why}",
            hint="--backend gl takes OpenGL, in software too",
        )
    programs = Programs(task)
    settings = task.settings
    batch = task.batch_rows
    jobs: list[tuple[Program, int]] = []
    if task.training is not None:
        jobs.append((programs.program("train", settings.level, backend.target), batch))
    jobs.append((programs.program("infer", settings.level, backend.target), batch))
    with console.err.status("analysing kernels") as status:

        def hear(done: int, total: int, name: str) -> None:
            status.update(f"kernel {done + 1} of {total}: {escape(name)}")

        return tune_kernels(device, jobs, seconds, hear), device.device


def _forget(as_json: bool) -> None:
    path = table_path()
    removed = forget_table()
    if as_json:
        console.answer_json({"table": str(path) if path else None, "removed": removed})
    else:
        console.say(f"{path}: removed" if removed else "there is no table of measured choices")


def _plain(one: Finding) -> dict[str, Any]:
    return {
        "kernel": one.signature,
        "shipped": one.shipped[0],
        "shipped_parts": one.shipped[1],
        "shipped_us": one.shipped_us,
        "variant": one.best.variant,
        "parts": one.best.parts,
        "median_us": one.best.median_us,
        "gain": one.best.gain,
        "tried": one.tried,
        "refused": list(one.refused),
    }


def _print(found: Tuning, device: str, path: Path) -> None:
    console.say(f"{device}, {found.clock}")
    console.table(
        ("kernel", "shipped", "µs", "fastest", "µs", "gain", "tried"),
        [
            (
                one.signature,
                _choice(*one.shipped),
                f"{one.shipped_us:.1f}",
                _choice(one.best.variant, one.best.parts) if one.improved else "the same",
                f"{one.best.median_us:.1f}",
                f"{one.best.gain:.2f}",
                str(one.tried),
            )
            for one in found.findings
        ],
        right=(2, 4, 5, 6),
    )
    for one in found.findings:
        for refused in one.refused:
            console.note(f"{one.signature}: left out {refused}")
        if one.signature in found.dropped:
            console.note(f"{one.signature}: the default choice is the fastest")
    for words in found.passed_over:
        console.note(f"passed over {words}")
    for step in found.steps:
        console.say(
            f"a step of {step.program}, batch {step.batch}: "
            f"{1e3 * step.shipped:.3f} ms as shipped, {1e3 * step.tuned:.3f} ms now"
        )
    console.say(
        f"{len(found.rows)} of {len(found.findings)} choices are better than the shipped ones, "
        f"after {found.seconds:.1f} s; kept in {path}"
    )
    if found.left:
        console.say(f"{found.left} kernels were not looked at; --seconds gives more time")


def _choice(variant: str, parts: int) -> str:
    return f"{variant} in {parts} parts" if parts > 1 else variant
