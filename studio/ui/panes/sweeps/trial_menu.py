"""What can be done with the runs of trials: opened, drawn, continued, taken into the project."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtWidgets import QMenu, QWidget

from studio.engine.core.errors import StudioError
from studio.engine.scale.sweep.folder import TrialRow
from studio.engine.train.runs.weights_origin import WeightsChoice
from studio.session.core import entities
from studio.session.studio import Studio
from studio.session.sweeps.records import SweepRecord
from studio.widgets import icons
from studio.widgets.menus import add_entry, own_keys

_SOURCE = "sweeps"
_NO_RUN = "it has no run yet"
_WEIGHTS: tuple[tuple[str, WeightsChoice | None], ...] = (
    ("With its best weights", "best"),
    ("With its last weights", "last"),
    ("Graph and settings only", None),
)


class TrialActions:
    """Does to the runs of trials what the pane of runs does to any.

    Args:
        studio: the models.
        parent: the pane, which owns menus.
    """

    def __init__(self, studio: Studio, parent: QWidget) -> None:
        self._studio = studio
        self._parent = parent

    def open_runs(self, record: SweepRecord, rows: Sequence[TrialRow]) -> None:
        """Show the runs of trials in the pane of runs, chosen there."""
        names = [name for row in rows for name in record.runs_of(row)]
        if names:
            self._show_pane("runs")
            self._studio.bus.select([entities.run(name) for name in names], source=_SOURCE)

    def menu(self, record: SweepRecord, rows: Sequence[TrialRow]) -> QMenu:
        """What can be done with some trials."""
        menu = own_keys(QMenu(self._parent))
        menu.setObjectName("trial_menu")
        menu.setToolTipsVisible(True)
        names = [name for row in rows for name in record.runs_of(row)]
        why = "" if names else _NO_RUN
        noun = "Open the run" if len(names) == 1 else f"Open {len(names)} runs"
        self._add(menu, noun if names else "Open the run", "runs",
                  lambda: self.open_runs(record, rows), why)  # fmt: skip
        self._add_drawing(menu, names, why)
        if len(names) <= 1:
            self._add_going_on(menu, names[0] if names else "", why)
        menu.aboutToHide.connect(menu.deleteLater)
        return menu

    def _add_drawing(self, menu: QMenu, names: Sequence[str], why: str) -> None:
        runs = self._studio.runs
        drawn = bool(names) and all(name in runs.drawn for name in names)

        def draw() -> None:
            for name in names:
                runs.draw(name, not drawn)
            if not drawn:
                self._show_pane("plots")

        self._add(menu, "Remove from the plots" if drawn else "Overlay in the plots", "plots",
                  draw, why)  # fmt: skip
        if len(names) > 1:

            def draw_only() -> None:
                runs.overlay.only(*names)
                self._show_pane("plots")

            self._add(menu, "Plot only these", "filter", draw_only)

    def _add_going_on(self, menu: QMenu, name: str, why: str) -> None:
        studio = self._studio
        run = studio.runs.run(name)
        if not why and run is None:
            why = "its run is not listed"
        busy = "a training is running" if studio.training.is_busy else ""
        kept = (
            "" if run is not None and run.can_go_on else "only the best trials keep their weights"
        )
        menu.addSeparator()
        self._add(
            menu, "Continue training", "play",
            lambda: None if run is None else studio.training.resume_run(run.folder),
            why or busy or kept,
        )  # fmt: skip
        inner = menu.addMenu(icons.icon("revert"), "Restore in this project")
        inner.setObjectName("trial.revert")
        inner.setToolTipsVisible(True)
        for words, weights in _WEIGHTS:
            self._add(
                inner, words, f"revert.{weights or 'none'}",
                partial(self._restore, name, weights),
                why or studio.restoring.why_not(name, weights),
            )  # fmt: skip

    def _restore(self, name: str, weights: WeightsChoice | None) -> None:
        # The pane of runs tells what became of it.
        self._show_pane("runs")
        self._studio.restoring.restore(name, weights)

    def _show_pane(self, pane: str) -> None:
        action = f"pane.{pane}"
        if action in self._studio.actions and not self._studio.actions.is_checked(action):
            self._studio.actions.trigger(action)

    def _add(
        self, menu: QMenu, text: str, icon: str, work: Callable[[], object], why: str = ""
    ) -> None:
        add_entry(menu, f"trial.{icon}", text, lambda: self._do(work), why)

    def _do(self, work: Callable[[], object]) -> None:
        try:
            work()
        except StudioError as error:
            self._studio.fail(error)
