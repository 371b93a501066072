"""Which predictions are right."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from studio.engine.cpu.memory.views import Views
from studio.engine.isa.instruction import Instruction


def hits_of(ins: Instruction, views: Views) -> Callable[[], npt.NDArray[np.bool_]]:
    """Gives at run time whether each prediction is right, as the ``kind`` of ``ins`` compares."""
    p, t = views.data(ins.ref("p")), views.any(ins.ref("t"))
    kind, threshold = ins.value("kind"), ins.value("threshold")

    def hits() -> npt.NDArray[np.bool_]:
        if kind == "binary":
            guesses, wanted = np.greater(p, np.float32(threshold)), t
        else:
            guesses = np.argmax(p, axis=-1)
            wanted = t if kind == "sparse" else np.argmax(t, axis=-1)
        found: npt.NDArray[np.bool_] = np.equal(guesses, wanted)
        return found

    return hits
