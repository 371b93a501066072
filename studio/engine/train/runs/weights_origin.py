"""Where weights come from: run, checkpoint file and epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from studio.engine.core.errors import DataError, StudioError, cleaned
from studio.engine.core.options import Plain
from studio.engine.formats.checkpoint import Checkpoint, CheckpointHead
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.run_lock import holder_of

_SHOWN = 200

WeightsChoice: TypeAlias = Literal["last", "best"]
"""Which weights of a run: those trained furthest, or those of its best epoch."""
WEIGHTS_CHOICES: tuple[WeightsChoice, ...] = get_args(WeightsChoice)


@dataclass(frozen=True)
class WeightsOrigin:
    """Where weights come from.

    Attributes:
        run: folder of the run that trained them; None outside a run.
        checkpoint: file they were read from; None for those of a network in memory.
        epoch: epochs they were trained for.
        step: steps of the next epoch they were trained for.
        ended: epochs finished when an earlier epoch's weights were put back, else ``epoch``.
        imported: name of the file they were imported from, empty for trained weights.
        notes: what else to know about them, one sentence each.
    """

    run: Path | None
    checkpoint: Path | None
    epoch: int
    step: int = 0
    ended: int = 0
    imported: str = ""
    notes: tuple[str, ...] = ()

    @property
    def trained(self) -> str:
        """How long they were trained, in a few words, such as ``epoch 5``."""
        if self.imported:
            return f"imported from {self.imported}"
        if self.epoch < self.ended:
            return f"epoch {self.epoch}, the best of {self.ended}"
        if not self.epoch and not self.step:
            return "untrained"
        steps = f"{self.step} step{'' if self.step == 1 else 's'}"
        if not self.epoch:
            return f"{steps} of epoch 1"
        return f"epoch {self.epoch} and {steps}" if self.step else f"epoch {self.epoch}"

    @property
    def file(self) -> str:
        """Name of the checkpoint file; ``not saved`` for weights in memory."""
        return "not saved" if self.checkpoint is None else self.checkpoint.name

    @property
    def brief(self) -> str:
        """Epoch and file in a few words, such as ``weights of epoch 5, final.safetensors``."""
        if self.imported:
            return f"weights {self.trained}, {self.file}"
        if not self.epoch and not self.step:
            return "untrained weights"
        return f"weights of {self.trained}, {self.file}"

    @property
    def text(self) -> str:
        """All of it in a line: epoch, file and run."""
        where = "" if self.run is None else f", run {self.run}"
        return f"{self.trained}, {self.file}{where}"

    def noted(self, *notes: str) -> WeightsOrigin:
        """The same with further notes; empty ones are left out."""
        return replace(self, notes=(*self.notes, *(note for note in notes if note)))

    def to_json(self) -> dict[str, Plain]:
        """Plain data, for answers in JSON."""
        return {
            "run": None if self.run is None else str(self.run),
            "checkpoint": None if self.checkpoint is None else str(self.checkpoint),
            "epoch": self.epoch,
            "step": self.step,
            "imported": self.imported,
            "notes": list(self.notes),
        }


def origin_of_run(run: RunFolder, weights: WeightsChoice = "last") -> WeightsOrigin:
    """Which weights a run gives now: those of the checkpoint trained furthest, or its best one.

    Raises:
        DataError: it has no such checkpoint.
        FormatError, CheckpointError: the best one is damaged.
    """
    if weights == "best":
        return _origin_of_best(run)
    heads = run.heads()
    if not heads:
        raise DataError("the run has no checkpoint yet", who=run.name, hint="train it first")
    head, summary = heads[0], run.summary()
    imported = _text(summary, "source") if summary.get("state") == "imported" else ""
    position = head.position
    made = WeightsOrigin(run.path, head.path, *head.weights_place, position.epoch, imported)
    damaged = [other.path.name for other in heads[1:] if other.problem is not None]
    notes = [f"{name} is damaged and was left out" for name in sorted(damaged)]
    recorded = recorded_epochs(run)
    if holder_of(run.path) is not None:
        notes.append("the run is still training")
    elif not imported and position.epoch < recorded:
        reason = _text(summary, "unsaved")
        why = f": {reason}" if reason else ""
        notes.append(
            f"the run recorded {recorded} epochs, its weights after epoch {position.epoch} "
            f"were not saved{why}"
        )
    return made.noted(*notes)


def _origin_of_best(run: RunFolder) -> WeightsOrigin:
    """The weights that the rule for checkpoints found best, by validation loss unless set."""
    if not run.has_best:
        raise DataError(
            "the run has no best checkpoint",
            who=run.name,
            hint="take its last weights, or train with best checkpoints kept",
        )
    head = CheckpointHead.read(run.checkpoint_path("best"))
    if head.problem is not None:
        raise head.problem
    return WeightsOrigin(run.path, head.path, *head.weights_place, head.position.epoch)


def origin_in_memory(checkpoint: Checkpoint | None, run: RunFolder | None) -> WeightsOrigin:
    """Which weights a network in memory has, and the file that holds the same ones.

    Args:
        checkpoint: state of its training; None before its first step.
        run: where the training is recorded.
    """
    if checkpoint is None:
        return WeightsOrigin(None if run is None else run.path, None, 0)
    made = WeightsOrigin(None, None, *checkpoint.weights_place, checkpoint.position.epoch)
    if run is None:
        return made
    for head in run.heads():
        same = head.weights_place == checkpoint.weights_place
        if head.problem is None and same and head.position == checkpoint.position:
            made = replace(made, checkpoint=head.path)
            break
    return replace(made, run=run.path)


def recorded_epochs(run: RunFolder) -> int:
    """Epochs that the record of a run counts, whether or not their weights were saved."""
    epochs = run.summary().get("epochs")
    counted = epochs if isinstance(epochs, int) else 0
    try:
        metrics = run.metrics()
    except (StudioError, OSError):
        metrics = []
    return max(counted, int(metrics[-1]["epoch"]) + 1 if metrics else 0)


def _text(summary: Mapping[str, Plain], name: str) -> str:
    """A text of a summary, cleaned and cut for display; empty where it is missing."""
    found = summary.get(name)
    return cleaned(found[:_SHOWN]) if isinstance(found, str) else ""
