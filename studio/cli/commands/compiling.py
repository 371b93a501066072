"""``glassbox compile``: a project as instructions and tensor map, with every pass as a diff."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from studio.cli import console
from studio.cli.options import (
    JsonOption,
    LengthOption,
    ProjectArgument,
    lengths_given,
    open_project,
)
from studio.engine.compiler.pipeline import diff_programs, pass_heading
from studio.engine.compiler.plan_memory import MemoryPlan, plan_memory, storage_bytes
from studio.engine.compiler.target import CPU, GL, TARGETS, Target
from studio.engine.core.errors import ParameterError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.tensor import Tensor, shape_text
from studio.engine.interop.file_format import Exportable, FileFormat, file_formats, format_for
from studio.engine.isa.line import format_line
from studio.engine.isa.program import Program, Storage
from studio.engine.train.listing.debug_output import DebugLevel, debug_level, tell
from studio.engine.train.listing.host_traffic import resident_rows
from studio.engine.train.listing.kernel_listing import KernelListing
from studio.engine.train.network.programs import Programs
from studio.engine.train.project.task import Task

Stage = tuple[str, Program, Program]

_MODES = ("train", "evaluate", "infer")
_TARGETS = {**TARGETS, "gl": GL}

TargetOption = Annotated[
    str,
    typer.Option(
        "--target",
        help="Target device of the passes; gl is gl-hardware.",
        metavar="cpu|gl-hardware|gl-software",
    ),
]
KernelsOption = Annotated[
    bool,
    typer.Option(
        "--kernels", help="Show the kernels and host work that run each line on the target."
    ),
]
SourceOption = Annotated[
    bool, typer.Option("--source", help="With --kernels: the final text of each kernel.")
]
InOrderOption = Annotated[
    bool,
    typer.Option(
        "--in-order",
        help="Plan kernels to run one after another, in program order: least memory.",
    ),
]

WorkersOption = Annotated[
    int, typer.Option("--workers", help="Compile for one of so many workers.", min=1, metavar="N")
]


def compile_project(
    project: ProjectArgument,
    mode: Annotated[
        str, typer.Option("--mode", help="Which program.", metavar="train|evaluate|infer")
    ] = "train",
    level: Annotated[int, typer.Option("-O", help="Optimisation: 0, 1 or 2.", min=0, max=2)] = 2,
    target: TargetOption = "cpu",
    passes: Annotated[
        bool, typer.Option("--passes", help="Show the changes of each pass as a diff.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--verify", help="Verify the program after every pass.")
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show the memory plan: bytes, place and lifetime.")
    ] = False,
    kernels: KernelsOption = False,
    source: SourceOption = False,
    in_order: InOrderOption = False,
    output: Annotated[
        Path | None, typer.Option("-o", help="Write a .gbasm or .gbi file instead.")
    ] = None,
    length: LengthOption = None,
    workers: WorkersOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Compile a project and print its listing, tensor map and memory needs."""
    _check(mode, _MODES, "--mode")
    _check(target, tuple(_TARGETS), "--target")
    _check_kernels(
        kernels=kernels, source=source, in_order=in_order, cpu=target == CPU.name,
        others={"--passes": passes, "--plan": plan, "-o": output is not None},
    )  # fmt: skip
    if output is not None:
        _form_of(output)
    kind = replace(_TARGETS[target], in_order=True) if in_order else _TARGETS[target]
    task, lengths = Task.of_project(open_project(project)), lengths_given(length)
    if lengths:
        task = task.only_for(lengths)
    stages: list[Stage] = []
    program = Programs(task, workers).compile(
        mode,
        level,
        kind,
        verify=check,
        observer=lambda name, before, after: stages.append((name, before, after)),
    )
    if output is not None:
        _write(output, task, program, as_json=as_json)
        return
    memory = Memory.of(program, task, kind)
    if debug_level() >= DebugLevel.SOURCES:
        tell(KernelListing.of(program, task, kind, memory.plan).text(source=True))
    if kernels:
        listing = KernelListing.of(program, task, kind, memory.plan)
        if as_json:
            console.answer_json(listing.to_json(source=source) | {"memory": memory.to_json()})
        else:
            console.say(listing.text(source=source))
            console.say("\n" + memory.summary())
    elif as_json:
        console.answer_json(_as_json(program) | {"memory": memory.to_json()})
    elif passes or plan:
        if passes:
            _print_passes(stages)
        if plan:
            console.say(memory.plan.table() + memory.kept())
    else:
        _print_program(program)
        console.say("\n" + memory.summary())


@dataclass(frozen=True)
class Memory:
    """What a program needs for one batch length.

    Attributes:
        plan: its memory plan.
        batch: rows of a step.
        target: what was planned for.
        persistent: bytes that stay between runs, by role.
        arenas: bytes of the arena if kernels may run side by side, and if they run in program
            order; nothing for a CPU, which runs them in order.
    """

    plan: MemoryPlan
    batch: int
    target: Target
    persistent: dict[str, int]
    arenas: dict[str, int]

    @classmethod
    def of(cls, program: Program, task: Task, target: Target) -> Memory:
        """Planned for the batches a task trains with, all its rows resident."""
        batch, (rows, _) = task.batch_rows, resident_rows(task, program.mode)
        held: dict[str, int] = {}
        for tensor in program.tensors.values():
            if tensor.role.persistent and tensor.view_of is None and not tensor.register:
                nbytes = storage_bytes(program, Storage(tensor.id, False), batch, rows, target)
                held[tensor.role.value] = held.get(tensor.role.value, 0) + nbytes
        plan = plan_memory(program, batch, rows, target)
        arenas: dict[str, int] = {}
        if target.name != CPU.name:
            other = plan_memory(program, batch, rows, replace(target, in_order=not target.in_order))
            side, one = (other, plan) if target.in_order else (plan, other)
            arenas = {"side by side": side.total_bytes, "in program order": one.total_bytes}
        return cls(plan, batch, target, held, arenas)

    def summary(self) -> str:
        """A few lines for people: the arena, and what stays."""
        plan = self.plan
        parts = len(plan.buffers)
        many = f" in {parts} buffers" if parts > 1 else ""
        return (
            f"memory: one arena of {plan.total_bytes:,} bytes{many} for {plan.sum_bytes:,} bytes "
            f"of tensors, at most {plan.peak_bytes:,} needed at once (line {plan.peak_index})\n"
            f"{self.kept()}"
        )

    def kept(self) -> str:
        """What was planned for, and the bytes that stay, by role."""
        held = ", ".join(f"{role} {nbytes:,}" for role, nbytes in self.persistent.items())
        ways = ", ".join(f"{name} {nbytes:,}" for name, nbytes in self.arenas.items())
        order = ", kernels in program order" if self.target.in_order and ways else ""
        return (f"arena with kernels {ways} (bytes)\n" if ways else "") + (
            f"in batches of {self.batch} on {self.target.name}{order}; "
            f"kept between runs: {held or 'nothing'} (bytes)"
        )

    def to_json(self) -> dict[str, object]:
        """The same and the whole plan for programs."""
        return {
            "batch": self.batch,
            "target": self.target.name,
            "in_order": self.target.in_order,
            "arena_bytes_by_order": self.arenas,
            "arena_bytes": self.plan.total_bytes,
            "arena_buffers": self.plan.buffers,
            "unshared_bytes": self.plan.sum_bytes,
            "peak_bytes": self.plan.peak_bytes,
            "peak_index": self.plan.peak_index,
            "persistent_bytes": self.persistent,
            "slots": [
                {"storage": str(storage), "id": storage.root, **asdict(slot)}
                for storage, slot in self.plan.slots.items()
            ],
        }


def _check_kernels(
    *, kernels: bool, source: bool, in_order: bool, cpu: bool, others: Mapping[str, bool]
) -> None:
    """ParameterError where options do not go together."""
    reasons = {
        "--source": "lines run as NumPy calls and compiled loops, which have no text here",
        "--in-order": "lines run one after another anyway",
    }
    memory = not others["-o"] and (others["--plan"] or not others["--passes"])
    for option, given, fits in (
        ("--source", source, kernels),
        ("--in-order", in_order, kernels or memory),
    ):
        if given and not fits:
            beside = "--kernels" if option == "--source" else "--kernels or --plan"
            raise ParameterError(
                f"{option} goes with {beside}",
                who="compile",
                hint=f"glassbox compile PROJECT --kernels {option}",
            )
        if given and cpu:
            raise ParameterError(
                f"{option} is for OpenGL; on a CPU {reasons[option]}",
                who="compile",
                hint="choose --target gl-hardware or gl-software",
            )
    together = [option for option, given in others.items() if given]
    if kernels and together:
        raise ParameterError(
            f"--kernels and {together[0]} cannot be combined", who="compile",
            hint="use one at a time",
        )  # fmt: skip


def _check(value: str, allowed: tuple[str, ...], option: str) -> None:
    if value not in allowed:
        raise ParameterError(
            f"expected {option} out of {', '.join(allowed)}, got {quoted(value)}",
            who="compile",
            hint=did_you_mean(value, allowed),
        )


def _form_of(output: Path) -> FileFormat:
    """The format of programs that the file's name ends for."""
    programs = [f for f in file_formats() if f.holds == "program" and f.can_write]
    return format_for(output, programs, who="compile")


def _write(output: Path, task: Task, program: Program, *, as_json: bool) -> None:
    # Without weights: nothing was trained.
    model = Exportable(task.name, task.graph, {}, make_program=lambda: (program, {}))
    _form_of(output).save(model, output)
    size = {"instructions": len(program), "tensors": len(program.tensors)}
    if as_json:
        console.answer_json({"path": str(output), **size})
    else:
        console.say(f"{output}: {size['instructions']} instructions, {size['tensors']} tensors")


def _print_passes(stages: list[Stage]) -> None:
    for name, before, after in stages:
        changed = diff_programs(before, after)
        console.say(pass_heading(name, before, after))
        if changed:
            console.say(changed)


def _print_program(program: Program) -> None:
    section = ""
    for name, index, ins in program.located():
        if name != section:
            section = name
            console.say(f"\n{name}:")
        owners = ", ".join(ins.owners)
        console.say(f"  {index:4d}  {format_line(ins):<60}  {owners}")
    console.say("\ntensor map:")
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
    if tensor.partial:
        return "partial"
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
                "partial": t.partial,
                "pad": [list(p) for p in t.pad],
                "layer": t.layer,
            }
            for t in program.tensors.values()
        ],
    }
