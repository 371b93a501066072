"""The passes of the compiler: a list of them, and what each changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from studio.instruction_view.passes.diff_view import DiffView
from studio.session.core.quantities import bytes_text
from studio.session.core.tasks import TaskHandle, TaskList
from studio.session.listing.passes.pass_steps import Amounts, PassStep
from studio.session.listing.passes.program_diff import changed_count, hide_unchanged
from studio.widgets import binding, theme
from studio.widgets.numbers import MINUS
from studio.widgets.record_table.columns import Column
from studio.widgets.record_table.model import RecordModel
from studio.widgets.record_table.views import RecordList

_BESIDE = 480
"""Width from which the list stands beside what a pass changed."""

_TWO_SIDES = 720
"""Width from which there is room for the program before and after side by side."""


_TALL = 260
"""Height from which there is room for all that is said of a pass."""


class _Listed(NamedTuple):
    """A pass and what the list says of it."""

    step: PassStep
    text: str


def _listed(step: PassStep) -> _Listed:
    counted = zip(("+", MINUS, "~"), changed_count(step.diff), strict=True)
    counts = " ".join(f"{sign}{count}" for sign, count in counted if count)
    return _Listed(step, f"{step.name}   {counts}" if counts else step.name)


def _tooltip(listed: _Listed) -> str:
    step = listed.step
    return f"{step.note}: {step.idle_words}" if step.is_empty else step.note


_PASS: Column[_Listed] = Column(
    "pass", "Pass", lambda listed: listed.text, tooltip=_tooltip,
    colour=lambda listed: "text3" if listed.step.is_empty else None,
)  # fmt: skip


class PassViewer(QWidget):
    """Shows the steps of one compile.

    Differences are worked out in the background, since a large program takes its time.

    Args:
        tasks: runs that work.
        hue_of: the hue of a layer, -1 for housekeeping.
        parent: owner in Qt.
    """

    def __init__(
        self, tasks: TaskList, hue_of: Callable[[str], int], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("passes")
        self._tasks = tasks
        self._steps: tuple[PassStep, ...] = ()
        self._running: TaskHandle | None = None
        self._wanted = ""
        self._is_tall = True
        self._passes = RecordModel((_PASS,))
        title = "Compiler passes"
        self._list = RecordList(self._passes, "passes.list", title, self, context=None)
        self._list.setVerticalScrollMode(RecordList.ScrollMode.ScrollPerItem)
        self._list.setMinimumHeight(2 * theme.ROW)
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._title = QLabel(self)
        self._title.setObjectName("passes.title")
        self._title.setWordWrap(True)
        self._hide = QCheckBox("Hide unchanged", self)
        self._hide.setObjectName("passes.hide")
        self._hide.setChecked(True)
        self._inline = QCheckBox("Inline", self)
        self._inline.setObjectName("passes.inline")
        self._diff = DiffView(hue_of, self)
        self._diff.setMinimumHeight(2 * theme.ROW)
        self._build()
        self._list.selectionModel().currentRowChanged.connect(self._refresh)
        self._hide.toggled.connect(self._refresh)
        self._inline.toggled.connect(self._refresh)
        binding.connect(self, theme.changed, self._fill)

    def _build(self) -> None:
        boxes = QHBoxLayout()
        boxes.addWidget(self._hide)
        boxes.addWidget(self._inline)
        boxes.addStretch(1)
        self._head = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._head.setContentsMargins(8, 4, 8, 4)
        self._head.addWidget(self._title, 1)
        self._head.addLayout(boxes)
        right = QWidget(self)
        column = QVBoxLayout(right)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self._head)
        column.addWidget(self._diff, 1)
        self._split = QSplitter(Qt.Orientation.Horizontal, self)
        self._split.setObjectName("passes.split")
        self._split.addWidget(self._list)
        self._split.addWidget(right)
        self._split.setStretchFactor(1, 1)
        self._split.setSizes([200, 600])
        self._split.setChildrenCollapsible(False)
        row = QVBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self._split)
        self.setFocusProxy(self._list)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Where there is no room side by side, things stand one above the other."""
        super().resizeEvent(event)
        beside = self.width() >= _BESIDE
        wanted = Qt.Orientation.Horizontal if beside else Qt.Orientation.Vertical
        if self._split.orientation() is not wanted:
            self._split.setOrientation(wanted)
            self._split.setSizes([200, 600] if beside else [100, 300])
        wide, tall = self.width() >= _TWO_SIDES, self.height() >= _TALL
        direction = QBoxLayout.Direction
        row = wide or not tall
        self._head.setDirection(direction.LeftToRight if row else direction.TopToBottom)
        if wide != self._inline.isEnabled() or tall != self._is_tall:
            self._is_tall = tall
            self._inline.setEnabled(wide)
            self._inline.setToolTip(
                "" if wide else "The pane is too narrow to show two programs side by side."
            )
            self._refresh()

    @property
    def steps(self) -> tuple[PassStep, ...]:
        return self._steps

    @property
    def is_ready(self) -> bool:
        """Whether the differences of all passes are known."""
        return self._running is None

    def take(self, steps: Sequence[PassStep]) -> None:
        """Show the steps of a compile; the pass looked at stays the same by name."""
        was_stopped = self._running is not None and self._running.cancelled
        if tuple(steps) == self._steps and not was_stopped:
            return
        if self._running is not None:
            self._running.cancel()
        self._steps = tuple(steps)

        def work(handle: TaskHandle) -> None:
            for step in steps:
                handle.check()
                _ = step.diff, step.amounts

        self._running = self._tasks.start("Compare passes", work, self._worked_out, quiet=True)

    def look_at(self, name: str) -> None:
        """Show a pass by name, as soon as the differences are known."""
        self._wanted = name
        self._fill()

    def _worked_out(self, _result: None) -> None:
        self._running = None
        self._fill()

    def _fill(self) -> None:
        if self._running is not None:
            return
        current = self._passes.record(self._list.row)
        name = self._wanted or ("" if current is None else current.step.name)
        self._wanted = ""
        self._passes.take(tuple(map(_listed, self._steps)))
        names = [step.name for step in self._steps]
        first = next((i for i, step in enumerate(self._steps) if not step.is_empty), 0)
        self._list.go_to(names.index(name) if name in names else first)
        self._refresh()

    def _refresh(self) -> None:
        self._show_step(self._list.row)

    def _show_step(self, place: int) -> None:
        if not 0 <= place < len(self._steps):
            self._title.setText("")
            self._diff.take((), is_inline=False)
            return
        step = self._steps[place]
        title = _title(step)
        self._title.setText(title if self._is_tall else f"<b>{step.name}</b>")
        self._title.setToolTip("" if self._is_tall else title)
        lines = hide_unchanged(step.diff) if self._hide.isChecked() else step.diff
        is_inline = self._inline.isChecked() or not self._inline.isEnabled()
        self._diff.take(lines, is_inline=is_inline)


_FACTS: tuple[tuple[str, Callable[[Amounts], int], Callable[[float], str]], ...] = (
    ("instructions", lambda a: a.instructions, str),
    ("kernels", lambda a: a.kernels, str),
    ("tensors", lambda a: a.tensors, str),
    ("moved", lambda a: a.nbytes, bytes_text),
)


def _title(step: PassStep) -> str:
    """What a pass does and what came of it: only the amounts that changed."""
    before, after = step.amounts
    facts = [
        f"{text(get(before))} → {text(get(after))} {name}"
        for name, get, text in _FACTS
        if get(before) != get(after)
    ]
    if step.is_empty:
        facts = [step.idle_words]
    elif not facts:
        facts = ["same size, other lines"]
    return f"<b>{step.name}</b> · {step.note} · {' · '.join(facts)}"
