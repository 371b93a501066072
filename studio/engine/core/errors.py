"""Errors a user may see: each says who refused, the rule, what came, and what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_LONGEST = 200
_LONGEST_MESSAGE = 4000
_SHOWN = 60


def quoted(value: object, most: int = _SHOWN) -> str:
    """A value that came from outside, fit for a sentence: short, without control codes.

    Text stands in quotes, anything else as Python writes it.

    Args:
        value: what is shown.
        most: characters of it; a longer one is cut and ends with ``...``.
    """
    # repr() escapes what a terminal would obey, and halves of surrogate pairs.
    if isinstance(value, str):
        return repr(value if len(value) <= most else f"{value[: most - 3]}...")
    try:
        text = repr(value)
    except ValueError:
        # Python writes no integer of more than 4300 digits.
        return f"a {type(value).__name__}"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def cleaned(text: str, keep: str = "") -> str:
    """The text with control codes, direction marks and lone surrogates written as escapes.

    Args:
        text: what is to be shown.
        keep: characters that stay although they are not printable, such as line breaks.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape").decode("ascii")
        for c in text
    )


def in_one_line(error: BaseException) -> str:
    """Type and first line of an unexpected exception, for a sentence.

    Compilers write pages with colours for a terminal; the log has them whole.
    """
    lines = (line.strip() for line in _ESCAPES.sub("", str(error)).splitlines())
    line = "".join(c for c in next(filter(None, lines), "") if c.isprintable())
    if len(line) > _LONGEST:
        line = f"{line[: _LONGEST - 1]}…"
    name = type(error).__name__
    return f"{name}: {line}" if line else name


class StudioError(Exception):
    """Base of every error meant for the user.

    Args:
        message: the rule, what was expected and what came, in one sentence.
        who: the layer, instruction, file or part that refuses, as the user named it.
        hint: what to do about it, empty when there is nothing better to say than the message.
        origin: where in the user's work it began (layer name, ``file:row``, instruction index).
    """

    code: ClassVar[str] = "studio"

    def __init__(self, message: str, *, who: str = "", hint: str = "", origin: str = "") -> None:
        # Names of files, columns and tensors end up here, and a terminal obeys what they hold.
        message = cleaned(message, "\n\t")
        if len(message) > _LONGEST_MESSAGE:
            message = f"{message[: _LONGEST_MESSAGE - 1]}…"
        super().__init__(message)
        self.message = message
        self.who = cleaned(who)
        self.hint = cleaned(hint, "\n\t")
        self.origin = cleaned(origin)

    def __str__(self) -> str:
        text = f"[{self.who}] {self.message}" if self.who else self.message
        if self.origin:
            text = f"{text} ({self.origin})"
        return f"{text}\n  hint: {self.hint}" if self.hint else text


class InternalError(StudioError):
    """An unexpected exception, as one sentence for the user.

    The code that makes one also logs its message, with the traceback of ``error``.

    Args:
        what: what failed, such as ``the training failed``; empty for the exception alone.
        error: the exception.
        who: as of every StudioError.
    """

    code = "internal"

    def __init__(self, what: str, error: BaseException, *, who: str = "") -> None:
        said = in_one_line(error)
        super().__init__(
            f"{what}: {said}" if what else said, who=who, hint="the log has the details"
        )


class ShapeError(StudioError):
    """Shapes or dtypes of operands do not fit the instruction or layer."""

    code = "shape"


class GraphError(StudioError):
    """The network graph itself is wrong: a cycle, an unconnected input, a duplicate name."""

    code = "graph"


class ParameterError(StudioError):
    """A layer, instruction, optimiser or setting got a value outside its range or type."""

    code = "parameter"


class CompileError(StudioError):
    """A program could not be built from the graph."""

    code = "compile"


class VerifyError(StudioError):
    """A compiler pass produced a program that breaks an invariant; names the pass."""

    code = "verify"


class GradientError(StudioError):
    """An instruction on the way to the loss has no gradient."""

    code = "gradient"


class FormatError(StudioError):
    """A file is damaged, hostile, too new, or not of the kind its name says."""

    code = "format"


class DataError(StudioError):
    """The user's data cannot be used; names file, row and column."""

    code = "data"


class EmptyDataError(DataError):
    """There is nothing in the user's data that a network could learn from."""


class BackendError(StudioError):
    """A device cannot run the program: no OpenGL, too old, out of memory, a driver error."""

    code = "backend"


class MemoryShortageError(BackendError):
    """A training needs more memory than there is.

    Attributes:
        fitting: a smaller batch for which there is enough, 0 where none was found.
    """

    code = "memory"

    def __init__(self, message: str, *, who: str = "", hint: str = "", fitting: int = 0) -> None:
        super().__init__(message, who=who, hint=hint)
        self.fitting = fitting


class ShaderError(BackendError):
    """A kernel did not compile; names the kernel file and line."""

    code = "shader"


@dataclass(frozen=True, eq=False)
class TensorCopy:
    """The contents of a tensor on the host.

    Attributes:
        name: of the tensor.
        grad: whether these are its gradient's.
        values: dense and row-major.
    """

    name: str
    grad: bool
    values: npt.NDArray[np.generic]


class NumericError(StudioError):
    """Check mode met a NaN or an infinity; names instruction, layer and operands.

    Attributes:
        tensors: what the instruction wrote, then its operands, as they were in that step; empty
            where the cause was not found. Operands too large to copy are left out.
        step: number of that step in the whole training, from 1; 0 where there is no training.
    """

    code = "numeric"

    def __init__(
        self,
        message: str,
        *,
        who: str = "",
        hint: str = "",
        origin: str = "",
        tensors: Sequence[TensorCopy] = (),
    ) -> None:
        super().__init__(message, who=who, hint=hint, origin=origin)
        self.tensors = tuple(tensors)
        self.step = 0


class CheckpointError(StudioError):
    """A checkpoint does not fit the project it is resumed into."""

    code = "checkpoint"
