"""Questions to the network that is tested, about rows, files, drawings and samples of the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, TypeVar

import numpy as np

from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal
from studio.engine.train.network.measures import Array
from studio.engine.train.network.trained import Trained
from studio.session.core.tasks import TaskHandle, TaskList
from studio.session.evaluation.answers import Answer, Truth, answers, truth_of
from studio.session.evaluation.drawing import Sheet, inverted, stands_inverted
from studio.session.evaluation.form import row_of
from studio.session.evaluation.results import Results
from studio.session.evaluation.subject import Subject

T = TypeVar("T")
Answers: TypeAlias = "tuple[Answer, ...]"
Kind: TypeAlias = Literal["rows", "drawing", "file", "sample"]
Rows: TypeAlias = "tuple[tuple[str, ...], tuple[Array, ...]]"


class Network(Protocol):
    """What is asked."""

    def use(self, work: Callable[[Trained], T]) -> T:
        """What ``work`` makes of the network; waits, so not on the window's thread."""
        ...


@dataclass(frozen=True, eq=False)
class _Question:
    """What is asked.

    Attributes:
        kind: where it comes from.
        read: names of the rows, and for each input the rows; may read files.
        truths: for each output what the data says of the only row; empty where it says nothing.
    """

    kind: Kind
    read: Callable[[Trained], Rows]
    truths: tuple[Truth | None, ...] = ()


class Questions:
    """Asks in the background, one question at a time; used on the window's thread.

    Args:
        network: what is asked; None where there is none.
        subject: what is known of it.
        results: the measurement whose samples can be asked about.
        tasks: asks in the background.
    """

    def __init__(
        self,
        network: Callable[[], Network | None],
        subject: Callable[[], Subject | None],
        results: Callable[[], Results | None],
        tasks: TaskList,
    ) -> None:
        self.answered: Signal[[]] = Signal()
        self.answers: Answers = ()
        """What each output said to the last question; nothing before there is an answer."""
        self.error: StudioError | None = None
        self._network = network
        self._subject = subject
        self._results = results
        self._tasks = tasks
        self._asking: TaskHandle | None = None
        self._last: _Question | None = None
        self._next: _Question | None = None
        self._own: list[Array] = []
        self._inverts: bool | None = None

    # -- asking ---------------------------------------------------------------------------------

    def ask_rows(self, names: tuple[str, ...], *inputs: Array) -> None:
        """Ask about raw rows [rows, …] of each input; only the latest question is answered."""
        self._ask_rows("rows", names, inputs)

    def ask_drawing(self, row: Array) -> None:
        """Ask about a drawing, one raw row; what was chosen about inverting drawings stays."""
        self._ask_rows("drawing", ("your drawing",), (row,))

    def ask_values(self, values: list[float], place: int = 0) -> None:
        """Ask about one row typed by hand for an input; other inputs stay as asked last.

        Raises:
            DataError: a number the network cannot take.
        """
        subject = self._subject()
        if subject is not None:
            row = row_of(subject.task, values, place)
            self.ask_rows(("your row",), *self._own_with(place, row))

    def ask_files(self, paths: list[Path]) -> None:
        """Ask about files: images, tables, arrays; for several inputs one ``.npz`` with all.

        An image whose ground is light where that of the data is dark is inverted, or the reverse.
        """

        def read(trained: Trained) -> Rows:
            inputs, names = trained.read_files(paths)
            return names, tuple(inputs)

        self._ask(_Question("file", read))

    def ask_file(self, place: int, path: Path) -> None:
        """Ask with the first row of a file for an input; other inputs stay as asked last."""
        subject = self._subject()
        if subject is None:
            return
        name = subject.inputs[place].facts.name

        def read(trained: Trained) -> Rows:
            found = trained.read_input([path], place)
            inputs = self._own_with(place, found.values[:1])
            return (f"{name}: {found.names[0]}",), tuple(inputs)

        self._ask(_Question("file", read))

    def ask_sample(self, index: int) -> None:
        """Ask about a sample of the part that was measured; the answer knows the truth."""
        results = self._results()
        if results is None:
            return
        names = (f"{results.part} sample {index}",)
        inputs = tuple(rows[index : index + 1] for rows in results.inputs)
        truths = tuple(truth_of(outcome, index) for outcome in results.outcomes)
        self._own = list(inputs)
        self._ask(_Question("sample", lambda _: (names, inputs), truths))

    def ask_again(self) -> None:
        """Ask the last question once more, of other weights."""
        if self._last is not None:
            self._next = self._last
            self._go_on()

    def forget(self) -> None:
        """Nothing is asked any more."""
        self._next = self._last = None
        self.answers, self.error = (), None
        self.answered.emit()

    def leave(self) -> None:
        """The network is about to be closed: ask nothing more of it."""
        if self._asking is not None:
            self._asking.cancel()
        self._asking = self._next = None

    def start_over(self) -> None:
        """Another network is tested: nothing was asked of it yet."""
        self.leave()
        self._own, self._inverts = [], None
        self.forget()

    # -- inverted images ------------------------------------------------------------------------

    @property
    def is_inverted(self) -> bool:
        """Whether the image asked about is inverted, by choice or because the data say so."""
        if self._inverts is not None:
            return self._inverts
        return bool(self.answers) and bool(self.answers[0].inverted[:1] == (True,))

    @property
    def is_automatic(self) -> bool:
        """Whether nothing was chosen: files are compared with the data."""
        return self._inverts is None

    @property
    def is_drawing(self) -> bool:
        """Whether a drawing was asked about last, or nothing."""
        return self._last is None or self._last.kind == "drawing"

    def set_inverted(self, on: bool) -> None:
        """Invert what is asked about, or not, whatever the data say; until something else is."""
        self._inverts = on
        if self._last is None:
            self.answered.emit()
        self.ask_again()

    # -- inside ---------------------------------------------------------------------------------

    def _ask_rows(self, kind: Kind, names: tuple[str, ...], inputs: tuple[Array, ...]) -> None:
        self._own = [rows[:1] for rows in inputs]
        self._ask(_Question(kind, lambda _: (names, inputs)))

    def _own_with(self, place: int, row: Array) -> list[Array]:
        """One row for each input: those asked last, with another for one input."""
        subject = self._subject()
        begun = () if subject is None else subject.inputs
        rows = self._own if len(self._own) == len(begun) else [each.start for each in begun]
        return [row if n == place else own for n, own in enumerate(rows)]

    def _ask(self, question: _Question) -> None:
        if not (question.kind == "drawing" and self.is_drawing):
            self._inverts = None
        self._last = self._next = question
        self._go_on()

    def _go_on(self) -> None:
        question, network = self._next, self._network()
        if self._asking is not None:
            return
        self._next = None
        if question is None or network is None:
            return
        subject, inverts = self._subject(), self._inverts
        sheet = None if subject is None else subject.sheet

        def ask(trained: Trained) -> Answers:
            return _answer(trained, question, sheet, inverts)

        self._asking = self._tasks.start(
            "Predict", lambda _: network.use(ask), self._answered, self._not_answered,
            quiet=True,
        )  # fmt: skip

    def _answered(self, found: Answers) -> None:
        self._asking = None
        self.answers, self.error = found, None
        if self._next is None and found[0].names:
            self._own = [rows[:1] for rows in found[0].inputs]
        self.answered.emit()
        self._go_on()

    def _not_answered(self, error: StudioError) -> None:
        self._asking = None
        self.answers, self.error = (), error
        self.answered.emit()
        self._go_on()


def _answer(
    trained: Trained, question: _Question, sheet: Sheet | None, inverts: bool | None
) -> Answers:
    """What each output says; images are inverted first where that was chosen or the data say so."""
    names, inputs = question.read(trained)
    flags = np.zeros(len(names), bool)
    if sheet is not None:
        if inverts is not None:
            flags[:] = inverts
        elif question.kind == "file":
            flags = stands_inverted(inputs[0], sheet)
        if flags.any():
            inputs = (inverted(inputs[0], flags, sheet),)
    found = answers(trained, names, inputs)
    truths = question.truths or (None,) * len(found)
    return tuple(
        replace(each, inverted=tuple(flags.tolist()), truth=truth)
        for each, truth in zip(found, truths, strict=True)
    )
