"""Names that have changed: the old ones work for one release, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

RENAMED: Mapping[str, str] = {
    "Layer.ends_in_softmax": "Layer.ending",
    "Loss.cross_entropy": "Loss.function",
    "studio.engine.train.settings.CALLBACKS": "ProjectCallback.members",
}
"""What to write instead of each old name. Names that a release had go with the one after it."""


def warn(old: str) -> None:
    """Warn the caller's caller that a name of the table has changed."""
    warnings.warn(
        f"{old} is now {RENAMED[old]}; the old name will be removed in the next release",
        DeprecationWarning,
        stacklevel=3,
    )
