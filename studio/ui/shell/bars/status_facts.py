"""The texts of the status bar, each a function of the models."""

from __future__ import annotations

from typing import NamedTuple

from studio.engine.runtime.free_memory import free_memory
from studio.session.profiling.step_bar import StepBar
from studio.session.studio import Studio
from studio.session.training.staleness import foreign_graph
from studio.session.training.state import TrainingStatus
from studio.ui.panes.transport.progress import look_of, rounded_time
from studio.widgets import numbers


class Fact(NamedTuple):
    """One fact.

    Attributes:
        text: what stands in the bar; a fact without text is left out.
        tip: the whole of it.
        icon: name of a picture, or empty.
        role: colour of the picture.
    """

    text: str
    tip: str = ""
    icon: str = ""
    role: str = "text2"


def state_fact(studio: Studio) -> Fact:
    """State of the training."""
    training = studio.training
    icon, role = look_of(training)
    parts = [training.word]
    if training.verdict is not None:
        parts += [training.verdict.evidence, training.verdict.hint]
    if training.doing:
        parts.append(training.doing)
    if training.staleness:
        parts.append(training.staleness)
    foreign = foreign_graph(is_busy=training.is_busy, is_stale=training.is_stale)
    text = f"{training.word} · {foreign}" if foreign else training.word
    return Fact(text, ". ".join(f"{part[:1].upper()}{part[1:]}" for part in parts), icon, role)


def validity_fact(studio: Studio) -> Fact:
    """Whether the graph can run."""
    problems = studio.problems
    if next(studio.document.state.layers(), None) is None:
        return Fact("No layers", "The canvas is empty", "unreached", "text3")
    errors, warnings = problems.errors, problems.warnings
    if errors:
        text = "1 problem" if errors == 1 else f"{errors} problems"
        # A training that failed is a problem too, and keeps nothing from running again.
        stops = "prevents" if errors == 1 else "prevent"
        tip = f"{text}: see Problems"
        if not studio.document.report.is_valid:
            tip = f"{text} {stops} training"
        return Fact(text, tip, "error", "error")
    if warnings:
        text = "1 warning" if warnings == 1 else f"{warnings} warnings"
        return Fact(text, f"The network can run; {text}", "warning", "warning")
    return Fact("Graph valid", "The network is valid", "ok", "ok")


def compile_fact(studio: Studio, age: float | None) -> Fact:
    """How the program shown stands to the graph.

    Args:
        studio: the models.
        age: seconds since it was compiled.
    """
    compilation = studio.compilation
    result = compilation.result
    if compilation.is_compiling:
        return Fact("Compiling", "Compiling the program", "busy", "accent")
    if result is None:
        why = "" if compilation.error is None else compilation.error.message
        tip = f"{why[:1].upper()}{why[1:]}" if why else "Add a layer and the program appears"
        return Fact("No program", tip, "listing", "text3")
    if compilation.is_stale:
        edits = compilation.stale_edits
        count = "" if not edits else " by 1 edit" if edits == 1 else f" by {edits} edits"
        return Fact("Stale", f"The program is out of date{count}", "stale",
                    "warning")  # fmt: skip
    took = numbers.duration(result.took_ms / 1e3)
    ago = "" if age is None else f" {ago_text(age)}"
    count = numbers.count(len(result.program))
    return Fact(f"Compiled{ago}", f"{count} instructions, compiled in {took}", "check", "ok")


def device_fact(studio: Studio) -> Fact:
    """Where training happens, and the memory the program needs there."""
    trainer, result = studio.training.trainer, studio.compilation.result
    names = {"auto": "Automatic", "gl": "OpenGL", "cpu": "CPU"}
    wish = names[studio.preferences.text("backend")]
    name, tips = wish, [f"Training on: {wish}"]
    if trainer is not None:
        backend = trainer.network.backend
        name = names.get(backend.name, backend.name)
        tips = [backend.device, studio.training.device]
    if result is not None:
        needed, laid_out = (
            numbers.memory(size) for size in (result.plan.peak_bytes, result.plan.total_bytes)
        )
        name = f"{name} {needed}"
        # While it trains the canvas may be another network than the one that is trained.
        whose = " of the network on the canvas" if studio.training.staleness else ""
        gaps = "" if laid_out == needed else f", {laid_out} with gaps between tensors"
        tips.append(f"A step{whose} needs {needed} of memory{gaps}")
        in_order = numbers.memory(result.main.arena_in_order)
        if in_order != laid_out:
            tips.append(f"Kernels in parallel: {laid_out}. In program order, slower: "
                        f"{in_order} (glassbox train --in-order)")  # fmt: skip
    free = free_memory()
    if free is not None:
        tips.append(f"{numbers.memory(free)} of memory free")
    return Fact(name, "\n".join(tip for tip in tips if tip), "chip")


def step_fact(studio: Studio, status: TrainingStatus) -> Fact:
    """How long a step takes: by the clock while it trains, else as the profiler measured it.

    Args:
        studio: the models.
        status: how the training stood when it was looked at.
    """
    profiling = studio.profiling
    bar, by_clock = profiling.bar, status.step_seconds
    if studio.training.is_busy and (profiling.frozen or not profiling.is_live):
        # The last measurement belongs to another training or to an earlier part of this one.
        bar = None
    measured = "" if bar is None or bar.seconds <= 0 else _measured_text(bar)
    if status.items_per_second and by_clock and (studio.training.is_busy or not measured):
        tip = (
            f"{numbers.quantity(status.items_per_second)} samples/s over the last "
            "seconds, including ends of epochs"
        )
        return Fact(f"{numbers.duration(by_clock)}/step", f"{tip}\n{measured}".rstrip(), "clock")
    if bar is not None and measured:
        return Fact(f"{numbers.duration(bar.seconds)}/step", measured, "clock")
    return Fact("")


def _measured_text(bar: StepBar) -> str:
    """What the profiler says of a step."""
    steps = numbers.counted(bar.plain_steps + bar.instrumented_steps, "step")
    text = f"Step only: {numbers.duration(bar.seconds)}, measured over {steps}"
    if bar.sees_studio:
        text += f"; the studio's own share is {numbers.share(bar.share('studio'), 2)}"
    return text


def progress_fact(studio: Studio, status: TrainingStatus, *, brief: bool) -> Fact:
    """How far the training is, as it stood when it was looked at.

    Args:
        studio: the models.
        status: how it stood.
        brief: only the time that is left, where there is no room for more.
    """
    if not studio.training.is_busy or not status.epochs:
        return Fact("")
    text = f"Epoch {numbers.count(status.epoch)}/{numbers.count(status.epochs)}"
    if status.counts_batches or studio.training.state == "paused":
        tip = f"{text}\nBatch {status.batch} of {status.batches} in this epoch"
    else:
        tip = f"{text}\n{status.batches} batches per epoch"
    left = status.left.seconds
    if left is not None:
        time = f"{rounded_time(left)} left"
        text = time if brief else f"{text}, {time}"
    return Fact(text, tip)


def tasks_fact(studio: Studio) -> Fact:
    """What runs in the background."""
    shown = studio.tasks.shown
    if not shown:
        return Fact("", "No background tasks", "tasks", "text3")
    first = shown[0]
    share = "" if first.share is None else f" {round(first.share * 100)}{numbers.THIN}%"
    more = "" if len(shown) == 1 else f" +{len(shown) - 1}"
    return Fact(f"{first.title}{share}{more}", "\n".join(t.title for t in shown), "busy", "accent")


def bell_fact(studio: Studio) -> Fact:
    """Number of unseen notices."""
    unseen = studio.notices.unseen
    if not unseen:
        return Fact("", "No new notices", "bell", "text3")
    worst = any(n.severity == "error" and not n.seen for n in studio.notices.all)
    text = "1 new notice" if unseen == 1 else f"{unseen} new notices"
    return Fact(str(unseen), text, "bell", "error" if worst else "accent")


def ago_text(seconds: float) -> str:
    """A duration rounded down, as "20 s ago"."""
    if seconds < 10:
        return "just now"
    if seconds < 60:
        return f"{int(seconds // 10) * 10}{numbers.THIN}s ago"
    if seconds < 3600:
        return f"{int(seconds // 60)}{numbers.THIN}min ago"
    return f"{int(seconds // 3600)}{numbers.THIN}h ago"
