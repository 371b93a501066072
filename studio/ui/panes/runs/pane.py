"""The runs of the project: find, mark, draw, test, compare, continue, put away, delete."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QInputDialog,
    QLineEdit,
    QMenu,
    QScrollArea,
    QSplitter,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from studio.engine.core.errors import StudioError
from studio.engine.train.runs.weights_origin import WeightsChoice
from studio.engine.train.settings import MAX_EPOCHS
from studio.session.compile.selection import Selection
from studio.session.core import entities
from studio.session.notices.settling import DOCUMENT, RUNS
from studio.session.runs.bin import Binned
from studio.session.runs.records import RunRecord
from studio.session.studio import Studio
from studio.ui.panes.runs.differences_view import DifferencesView
from studio.ui.panes.runs.notes_view import NotesView
from studio.ui.panes.runs.run_table import RunTable
from studio.widgets import binding, icons, numbers
from studio.widgets.frames.empty_state import EmptyState
from studio.widgets.frames.frame import PaneFrame, separator
from studio.widgets.keys import with_keys
from studio.widgets.labels.tool_button import tool_button
from studio.widgets.menus import add_entry, own_keys

_SOURCE = "runs"
_LEAST = 64
"""Pixels of the table and of the details that stay in low panes: a row, or three lines."""

_WEIGHTS: tuple[tuple[str, WeightsChoice | None], ...] = (
    ("With its best weights", "best"),
    ("With its last weights", "last"),
    ("Graph and settings only", None),
)
_RESTORE_TIP = "Replace the graph, data and settings with those of the run. You can undo this."
_BRANCH_TIP = "Make a project of the run next to this one, and open it"


class RunsPane(PaneFrame):
    """The table of runs, notes of the one in hand, and what differs between several."""

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(linkable=True, parent=parent)
        self.setObjectName("runs_pane")
        self._runs = studio.runs
        self._training = studio.training
        self._evaluation = studio.evaluation
        self._restoring = studio.restoring
        self._actions = studio.actions
        self._pane_wanted = studio.pane_wanted
        self._bus = studio.bus
        self._fail = studio.fail
        self._notify = studio.notify
        self._settle = studio.notices.settle
        self._offers: dict[str, Binned] = {}
        self._table = RunTable(studio.runs, self)
        self._differences = DifferencesView(self)
        self._notes = NotesView(self)
        self._details = QScrollArea(self)
        self._details.setObjectName("run_details")
        self._details.setWidgetResizable(True)
        self._details.setFrameShape(QFrame.Shape.NoFrame)
        self._details.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._details.setWidget(self._notes)
        self._details.setMinimumHeight(_LEAST)
        self._table.setMinimumHeight(_LEAST)
        self._filter = QLineEdit(self)
        self._filter.setObjectName("run_filter")
        self._filter.setPlaceholderText("Filter runs")
        self._filter.setAccessibleName("Filter runs")
        self._filter.setClearButtonEnabled(True)
        self._filter.textChanged.connect(self._filtered)
        self._starred = self._button("star-full", "Only starred runs", "run_starred", True)
        self._starred.toggled.connect(self._filtered)
        self._columns = self._button("columns", "Columns", "run_columns_button")
        self._columns.clicked.connect(self._choose_columns)
        self._lay_out()
        self._nothing = EmptyState("runs", "", parent=self)
        self._say_nothing()
        self._table.picked.connect(self._picked)
        self._table.starred.connect(self._star)
        self._table.opened.connect(self._test)
        self._table.wants_menu.connect(self._menu)
        self._table.renamed.connect(self._rename)
        self._notes.edited.connect(self._write_notes)
        binding.refresh(
            self, self.refresh, self._runs.changed, self._runs.overlay.changed,
            studio.training.state_changed, rate=10, when_visible=True,
        )  # fmt: skip
        binding.refresh(
            self, self._say_nothing, self._training.changed, self._training.state_changed,
            rate=10, when_visible=True,
        )  # fmt: skip
        binding.connect(self, self._runs.deleted, self._deleted)
        binding.connect(self, self._restoring.restored, self._restored)
        binding.connect(self, self._restoring.failed, self._fail)
        binding.connect(self, self._runs.changed, self._settle_offers)
        binding.connect(self, self._bus.selected, self._selected_elsewhere)
        self.refresh()
        self.pin_changed.connect(lambda _: self._selected_elsewhere(self._bus.selection, ""))
        # The pane may be opened when a run is selected already.
        self._selected_elsewhere(self._bus.selection, "")

    # -- for others -----------------------------------------------------------------------------

    @property
    def table(self) -> RunTable:
        return self._table

    @property
    def differences(self) -> DifferencesView:
        return self._differences

    @property
    def notes(self) -> NotesView:
        return self._notes

    # -- showing --------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Show the runs as they are now."""
        self._table.refresh()
        listed, every = len(self._table.entries.rows), len(self._runs.runs)
        self.show_empty(None if every else self._nothing)
        some = "" if listed == every else f"{numbers.count(listed)} of "
        self.set_note(some + numbers.counted(every, "run") if every else "")
        self._show_chosen()

    def _show_chosen(self) -> None:
        chosen = self._chosen()
        self._differences.setVisible(len(chosen) > 1)
        self._details.setVisible(len(chosen) == 1)
        if len(chosen) > 1:
            self._differences.show_runs(chosen)
        elif chosen:
            self._notes.show_run(chosen[0], self._runs.word(chosen[0]))
        self._below.setVisible(bool(chosen))

    def _chosen(self) -> tuple[RunRecord, ...]:
        found = (self._runs.run(name) for name in self._table.chosen())
        return tuple(run for run in found if run is not None)

    def _picked(self, names: object) -> None:
        self._show_chosen()
        if isinstance(names, tuple) and not self.pinned:
            self._bus.select([entities.run(name) for name in names], source=_SOURCE)

    def _selected_elsewhere(self, selection: Selection, source: str) -> None:
        if source == _SOURCE or self.pinned:
            return
        names = selection.of_kind("run")
        row = self._table.entries.row_of(names[0]) if names else -1
        if row >= 0:
            self._table.selectRow(row)

    def _filtered(self) -> None:
        now = self._table.arrangement
        self._table.arrange(
            replace(now, text=self._filter.text(), starred=self._starred.isChecked())
        )
        self.refresh()

    # -- doing ----------------------------------------------------------------------------------

    def menu(self) -> QMenu:
        """What can be done with the runs chosen."""
        menu = own_keys(QMenu(self))
        menu.setObjectName("run_menu")
        menu.setToolTipsVisible(True)
        chosen = self._chosen()
        one = chosen[0] if len(chosen) == 1 else None
        if one is not None:
            self._add(menu, "Test", "testing", lambda: self._test(one.name),
                      "" if one.has_weights else "it has no weights yet")  # fmt: skip
            busy = "a training is running" if self._training.is_busy else ""
            why = busy or ("" if one.can_go_on else "it has no checkpoint")
            self._add(menu, "Continue training…", "play", lambda: self._continue(one), why)
            self._add_restoring(menu, one)
            menu.addSeparator()
            self._add(menu, "Rename", "edit", self._edit_name)
        if chosen:
            self._add_marks(menu, chosen)
        shown = menu.addAction("Show archived runs")
        shown.setObjectName("show_archived")
        shown.setCheckable(True)
        shown.setChecked(self._table.arrangement.archived)
        shown.toggled.connect(self._show_archived)
        binned = self._runs.binned
        if binned:
            self._add(menu, "Restore the last deleted run", "undo",
                      lambda: self._restore(binned[-1]))  # fmt: skip
        if chosen:
            self._add_delete(menu, chosen)
        menu.aboutToHide.connect(menu.deleteLater)
        return menu

    def _add_restoring(self, menu: QMenu, run: RunRecord) -> None:
        """Ways to have the run's network back: in this project, or in one of its own."""
        model = self._restoring
        for title, icon, tip, why, work in (
            ("Restore in this project", "revert", _RESTORE_TIP, model.why_not, model.restore),
            ("Branch as a new project", "duplicate", _BRANCH_TIP, model.why_not_branch,
             model.branch),
        ):  # fmt: skip
            inner = menu.addMenu(icons.icon(icon), title)
            inner.setObjectName(f"run.{icon}")
            inner.setToolTipsVisible(True)
            inner.menuAction().setToolTip(tip)
            for words, weights in _WEIGHTS:
                self._add(
                    inner, words, f"{icon}.{weights or 'none'}",
                    partial(work, run.name, weights), why(run.name, weights),
                )  # fmt: skip

    def _restored(self, run: RunRecord, weights: WeightsChoice | None) -> None:
        taken = "" if weights is None else f" with its {weights} weights"
        details = "" if weights is None else "The next training begins with these weights."
        self._notify(f"Restored the run {run.title}{taken}", "ok", details=details, about=DOCUMENT)

    def _add_marks(self, menu: QMenu, chosen: tuple[RunRecord, ...]) -> None:
        starred = all(run.notes.star for run in chosen)
        word = "Remove the star" if starred else "Star"
        self._add(menu, word, "star", lambda: self._set_stars(not starred))
        if len(chosen) > 1:
            names = [run.name for run in chosen]
            self._add(menu, "Plot only these", "plots", lambda: self._runs.overlay.only(*names))
        archived = all(run.notes.archived for run in chosen)
        self._add(menu, "Unarchive" if archived else "Archive", "eye-off",
                  lambda: self._archive(not archived))  # fmt: skip
        menu.addSeparator()

    def _add_delete(self, menu: QMenu, chosen: tuple[RunRecord, ...]) -> None:
        menu.addSeparator()
        reasons = [self._runs.why_not_delete(run.name) for run in chosen]
        why = next((reason for reason in reasons if reason), "")
        noun = "Delete" if len(chosen) < 2 else f"Delete {len(chosen)} runs"
        self._add(menu, noun, "delete", self.delete, why)

    def delete(self) -> None:
        """Move the runs chosen into the bin."""
        for run in self._chosen():
            self._do(lambda name=run.name: self._runs.delete(name))  # type: ignore[misc]

    def _menu(self, place: QPoint) -> None:
        self.menu().popup(place)

    def _add(
        self, menu: QMenu, text: str, icon: str, work: Callable[[], object], why: str = ""
    ) -> None:
        add_entry(menu, f"run.{icon}", text, lambda: self._do(work), why)

    def _do(self, work: Callable[[], object]) -> None:
        try:
            work()
        except StudioError as error:
            self._fail(error)

    def _deleted(self, binned: Binned, title: str) -> None:
        undo = ("Undo", lambda: self._restore(binned))
        about = f"{RUNS}.{binned.path.name}"
        self._offers[about] = binned
        self._notify(f"Deleted the run {title}", "info", undo, about=about)

    def _restore(self, binned: Binned) -> None:
        self._do(lambda: self._runs.restore(binned))

    def _settle_offers(self) -> None:
        """A run that is back, or was removed for good, is not offered back."""
        over = [about for about, binned in self._offers.items() if not binned.path.is_dir()]
        for about in over:
            del self._offers[about]
            self._settle(about)

    def _star(self, name: str) -> None:
        run = self._runs.run(name)
        if run is not None:
            self._do(lambda: self._runs.set_star(name, not run.notes.star))

    def _set_stars(self, on: bool) -> None:
        for run in self._chosen():
            self._runs.set_star(run.name, on)

    def _archive(self, on: bool) -> None:
        for run in self._chosen():
            self._runs.set_archived(run.name, on)

    def _show_archived(self, on: bool) -> None:
        self._table.arrange(replace(self._table.arrangement, archived=on))
        self.refresh()

    def _edit_name(self) -> None:
        row = self._table.entries.row_of(self._table.chosen()[0])
        self._table.edit(self._table.entries.index(row, self._table.entries.place_of("title")))

    def _rename(self, name: str, title: str) -> None:
        self._do(lambda: self._runs.rename(name, title))

    def _write_notes(self, name: str, text: str, tags: object) -> None:
        def write() -> None:
            self._runs.set_text(name, text)
            if isinstance(tags, tuple):
                self._runs.set_tags(name, tags)

        self._do(write)

    def _test(self, name: str) -> None:
        run = self._runs.run(name)
        if run is None or not run.has_weights:
            return
        self._evaluation.test_run(name)
        self._pane_wanted.emit("testing")

    def _continue(self, run: RunRecord) -> None:
        planned = run.epochs if run.project is None else run.project.training.epochs
        dialog = QInputDialog(self)
        dialog.setObjectName("continue_run")
        done = numbers.counted(run.epochs, "epoch is", "epochs are")
        dialog.setWindowTitle("Continue training")
        dialog.setLabelText(f"{done} done. Train up to epoch:")
        dialog.setInputMode(QInputDialog.InputMode.IntInput)
        dialog.setIntRange(run.epochs + 1, MAX_EPOCHS)
        dialog.setIntValue(planned if planned > run.epochs else run.epochs + planned)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.intValueSelected.connect(
            lambda epochs: self._do(lambda: self._training.resume_run(run.folder, epochs))
        )
        dialog.open()

    def _choose_columns(self) -> None:
        below = self._columns.mapToGlobal(QPoint(0, self._columns.height()))
        self._table.column_menu(self).popup(below)

    def _train(self) -> None:
        self._actions.trigger("train.start")

    def _say_nothing(self) -> None:
        """What stands in the place of runs: how to get one, or that one is about to be listed."""
        if self._training.is_busy:
            doing = self._training.doing or "the run appears here when it starts"
            is_early = self._training.state == "preparing"
            self._nothing.say(
                "Preparing training" if is_early else "Training has started",
                f"{doing[:1].upper()}{doing[1:]}.",
            )
            return
        train = with_keys("Train", self._actions["train.start"].keys[:1])
        self._nothing.say(
            "No runs yet",
            "Every training is kept here with its settings, curves and weights, to "
            "compare and continue.",
            (train, self._train),
        )

    # -- layout ---------------------------------------------------------------------------------

    def _button(self, icon: str, tip: str, name: str, checkable: bool = False) -> QToolButton:
        button = tool_button(icon, name, tip, self)
        button.setCheckable(checkable)
        button.setIconSize(QSize(14, 14))
        icons.keep(button, icon, on="warning" if checkable else "accent")
        return button

    def _lay_out(self) -> None:
        body = QWidget(self)
        body.setBackgroundRole(QPalette.ColorRole.Base)
        body.setAutoFillBackground(True)
        head = QHBoxLayout()
        head.setContentsMargins(8, 4, 4, 4)
        head.setSpacing(4)
        head.addWidget(self._filter, 1)
        head.addWidget(self._starred)
        head.addWidget(self._columns)
        self._below = QWidget(body)
        below = QVBoxLayout(self._below)
        below.setContentsMargins(0, 0, 0, 0)
        below.setSpacing(0)
        below.addWidget(separator(self._below))
        below.addWidget(self._differences, 1)
        below.addWidget(self._details, 1)
        split = QSplitter(Qt.Orientation.Vertical, body)
        split.setObjectName("runs_split")
        split.addWidget(self._table)
        split.addWidget(self._below)
        split.setStretchFactor(0, 3)
        split.setStretchFactor(1, 2)
        split.setChildrenCollapsible(False)
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(split, 1)
        self.set_body(body)
        self.setFocusProxy(self._table)
