"""Names of the held-out part where validation and test use the same samples."""

from __future__ import annotations

from studio.engine.train.project.task import Task
from studio.engine.train.settings import TrainingSettings

SHARED_PART = "held-out part, used for validation and test"
"""What the part is, for sentences about numbers that come from it."""

SHARED_NAME = "held-out"
"""Its name, where parts are listed."""


def is_shared_by(settings: TrainingSettings) -> bool:
    """Whether a project's settings validate on the samples that are held out for the test."""
    return settings.validation == "held-out"


def is_shared_in(task: Task) -> bool:
    """Whether a task validates on the samples it is tested on."""
    return task.test is not None and task.validation is task.test
