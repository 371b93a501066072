"""The tensor view: picture, histogram, slice and numbers of one tensor, live while it trains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QComboBox,
    QCompleter,
    QInputDialog,
    QLineEdit,
    QMenu,
    QToolButton,
    QWidget,
)

from studio.engine.core.errors import StudioError
from studio.engine.layers.graph import Port
from studio.session.compile.provenance import Provenance
from studio.session.compile.selection import Selection
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.document.state import Wire
from studio.session.studio import Studio
from studio.session.tensor_view.choice import TensorChoice, renamed, tensor_choices
from studio.session.tensor_view.colours import CHOICES
from studio.session.tensor_view.picture import exact_number
from studio.session.tensor_view.tensor_view import TensorViewModel
from studio.session.tensor_view.words import pick_text, statistics_text, status_text
from studio.ui.panes.tensor_view.actions import ACTIONS
from studio.ui.panes.tensor_view.arrangement import Arrangement
from studio.ui.panes.tensor_view.histogram_view import HistogramView
from studio.ui.panes.tensor_view.sheet_painting import ground_between_cells
from studio.ui.panes.tensor_view.sheet_view import SheetView
from studio.ui.panes.tensor_view.slice_controls import SliceControls
from studio.widgets import binding, contexts, menus, theme
from studio.widgets.frames.empty_state import EmptyState
from studio.widgets.frames.frame import PaneFrame
from studio.widgets.gl_sheet_view import is_shared
from studio.widgets.labels.elided_label import ElidedLabel
from studio.widgets.labels.tool_button import tool_button

if TYPE_CHECKING:
    from studio.engine.core.tensor import Tensor
    from studio.engine.isa.program import Program

VIEW = "tensor_view"
"""How this pane names itself on the selection bus."""

_MENU: tuple[menus.Entry, ...] = (
    "tensor.live", "tensor.after", "tensor.hold", "tensor.compare", None,
    "tensor.fit_range", "tensor.follow_range", "tensor.colour", None,
    "tensor.previous_slice", "tensor.next_slice", "tensor.channel_all", None,
    "tensor.go_to", "tensor.copy_value",
)  # fmt: skip
_CHOICES = {
    "largest": "A pixel shows the largest magnitude",
    "greatest": "A pixel shows the maximum",
    "least": "A pixel shows the minimum",
}


class TensorViewPane(PaneFrame):
    """Shows the tensor that is selected, or one that is pinned."""

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(linkable=True, parent=parent)
        self.setObjectName("tensor_view_pane")
        self._live = studio.live
        self._actions = studio.actions
        self._bus = studio.bus
        self._compilation = studio.compilation
        self._culprit = studio.culprit
        self._preferences = studio.preferences
        self._notify = studio.notify
        self._fail = studio.fail
        self._device_refused = False
        self._choices: tuple[Entity, ...] = ()
        self._choice = TensorChoice()
        self._sought: Selection | None = None
        self._tensor: Tensor | None = None
        self.view: TensorViewModel = TensorViewModel(
            studio.live, studio.tasks, self._tensor_of, studio.linked_cursor, ground_between_cells,
            lambda: studio.live.trainer is None and studio.training.is_stale,
        )  # fmt: skip
        self._chooser = QComboBox(self)
        self._typing = QLineEdit(self._chooser)
        self._sheet = SheetView(self.view, self)
        self._histogram = HistogramView(self)
        self._slices = SliceControls(self.view, self)
        self._status = ElidedLabel(self)
        self._statistics = ElidedLabel(self)
        self._pick = ElidedLabel(self)
        self._nothing = EmptyState(
            "tensor", "No tensor is chosen", "Select a layer, a wire or a row of the listing.",
            parent=self,
        )  # fmt: skip
        self._build()
        self._bind(studio)
        self._programs_changed()
        self._selected(self._bus.selection, "")
        self._refresh()

    # -- building -------------------------------------------------------------------------------

    def _build(self) -> None:
        self._chooser.setObjectName("tensor_chooser")
        self._chooser.setAccessibleName("Tensor to show")
        self._chooser.setLineEdit(self._typing)
        self._chooser.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self._chooser.setMinimumContentsLength(10)
        self._chooser.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        completer = QCompleter(self._chooser.model(), self)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self._chooser.setCompleter(completer)
        for label, name in (
            (self._status, "tensor_status"),
            (self._statistics, "tensor_statistics"),
            (self._pick, "tensor_pick"),
        ):
            label.setObjectName(name)
            label.setFont(theme.font("small"))
        self._statistics.setProperty("role", "soft")
        self._pick.setFont(theme.font("mono"))
        self._pick.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        below = (self._status, self._histogram, self._statistics, self._pick, self._slices)
        self.set_body(Arrangement(self._chooser, self._sheet, below, self))
        self.setFocusProxy(self._sheet)
        for tool in self._tools_made():
            self.add_tool(tool)

    def _tools_made(self) -> tuple[QToolButton, ...]:
        self._buttons = tuple(
            self._button(action_id, icon)
            for action_id, icon in (
                ("tensor.fit_range", "fit"),
                ("tensor.hold", "camera"),
                ("tensor.compare", "compare"),
            )
        )
        more = tool_button(
            "more", "tensor.more", "Moment, colours, slices, selection", self,
            "More of the tensor view",
        )  # fmt: skip
        more.clicked.connect(lambda: self._menu().popup(more.mapToGlobal(more.rect().bottomLeft())))
        return (*self._buttons, more)

    def _button(self, action_id: str, icon: str) -> QToolButton:
        spec = self._actions[action_id]
        made = tool_button(icon, action_id, spec.tip, self, spec.text)
        made.setCheckable(spec.checkable)
        made.clicked.connect(lambda: self._trigger(action_id))
        return made

    def _bind(self, studio: Studio) -> None:
        self._actions.attach(ACTIONS, self)
        contexts.register("tensor", self._sheet)
        self._histogram.low_moved.connect(lambda value: self.view.move_range(low=value))
        self._histogram.high_moved.connect(lambda value: self.view.move_range(high=value))
        self._sheet.broke.connect(self._device_broke)
        self._chooser.activated.connect(self._chosen)
        self._typing.editingFinished.connect(self._typed)
        binding.connect(self, self._bus.selected, self._selected)
        binding.connect(self, self._bus.revealed, self._revealed)
        binding.connect(self, self._bus.output_chosen, self._output_chosen)
        binding.connect(self, self._compilation.changed, self._programs_changed)
        binding.connect(self, self._live.changed, self._programs_changed)
        binding.connect(self, studio.document_replaced, self._forget)
        self.pin_changed.connect(self._linked)
        binding.connect(self, self.view.changed, self._seen)
        binding.connect(self, self._preferences.changed, self._preferred)
        binding.refresh(
            self, self._refresh, self.view.changed, theme.changed,
            studio.training.staleness_changed, rate=30, when_visible=True,
        )  # fmt: skip
        self._preferred("live_rate")

    # -- what is shown --------------------------------------------------------------------------

    @property
    def sheet(self) -> SheetView:
        return self._sheet

    @property
    def histogram(self) -> HistogramView:
        return self._histogram

    @property
    def slices(self) -> SliceControls:
        return self._slices

    def show_tensor(self, entity: Entity | None) -> None:
        """Look at a tensor."""
        self._tensor = None if entity is None else self._tensor_of(entities.tensor_name(entity)[0])
        self.view.show(entity)
        self._show_choice()

    def close_view(self) -> None:
        """Close the view and release what it holds on the device."""
        self._sheet.close_surface()
        self.view.close()

    def _refresh(self) -> None:
        view = self.view
        self.show_empty(None if view.entity is not None else self._nothing)
        self.set_note("" if view.entity is None else view.entity.key)
        self._sheet.refresh()
        self._histogram.show_values(view.statistics, view.colours)
        self._histogram.setVisible(view.kind != "number")
        self._statistics.set_text(self._numbers())
        self._pick.set_text(pick_text(view.pointing.index, view.pointing.value))
        self._slices.refresh()
        self._show_status()
        for button in self._buttons:
            self._show_button(button)

    def _numbers(self) -> str:
        view = self.view
        text = statistics_text(view.statistics)
        picture = None if view.drawn_from_device else view.picture()
        for count, what in (
            (0 if picture is None else picture.over, "above the range"),
            (0 if picture is None else picture.under, "below the range"),
        ):
            text += f" · {count} {what}" if count else ""
        return text

    def _show_status(self) -> None:
        status, current = self.view.status, not self.view.is_stale and self.view.frame is not None
        self._status.setVisible(not current)
        self._status.set_text(status_text(status, older=self.view.is_stale and self.view.older()))
        role = "error" if status.state == "missing" else "warning" if self.view.is_stale else "soft"
        if self._status.property("role") != role:
            self._status.setProperty("role", role)
            self._status.style().unpolish(self._status)
            self._status.style().polish(self._status)

    def _show_button(self, button: QToolButton) -> None:
        action_id = button.objectName()
        reason = self._actions.why_not(action_id)
        button.setEnabled(not reason)
        button.setChecked(self._actions.is_checked(action_id))
        spec = self._actions[action_id]
        key = f" ({spec.keys[0]})" if spec.keys else ""
        tip = f"{spec.text}{key}\n{spec.tip}"
        button.setToolTip(f"{tip}\nNot now: {reason}." if reason else tip)

    # -- events ---------------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:
        self.view.set_active(True)
        super().showEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        self.view.set_active(False)
        super().hideEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self._menu().popup(event.globalPos())

    # -- following ------------------------------------------------------------------------------

    def _program(self) -> Program | None:
        """The program that trains or that broke, else the one that is shown."""
        trainer, step = self._live.trainer, self._culprit.shown
        if trainer is not None:
            return trainer.network.program("train")
        if step is not None:
            return step.program
        shown = self._compilation.shown
        return None if shown is None else shown.program

    def _provenance(self) -> Provenance:
        return self._compilation.provenance

    def _tensor_of(self, name: str) -> Tensor | None:
        program = self._program()
        if program is None or not program.tensors.has_name(name):
            return None
        return program.tensors.named(name)

    def _programs_changed(self) -> None:
        program = self._program()
        found = (
            () if program is None
            else tuple(tensor_choices(tuple(program.tensors.values()), program.gradients()))
        )  # fmt: skip
        if found != self._choices:
            self._choices = found
            typed = self._typing.text() if self._is_typing else None
            with QSignalBlocker(self._chooser):
                self._chooser.clear()
                self._chooser.addItems([entity.key for entity in found])
                if typed is not None:
                    self._chooser.setEditText(typed)
                    self._typing.setModified(True)
            self._keep_up()
        if self._sought is not None:
            # The same names may be of another layer now, or of a program compiled only now.
            self._selected(self._sought, "")
        self._show_choice()

    def _linked(self, pinned: bool) -> None:
        if not pinned:
            self._selected(self._bus.selection, "")

    def _forget(self, _document: object) -> None:
        """Another project is open: nothing of the last is looked at."""
        self._sought = None
        self.show_tensor(None)

    def _keep_up(self) -> None:
        """The shown tensor may be renamed or gone in the new program."""
        entity, before, program = self.view.entity, self._tensor, self._program()
        if entity is None or program is None or entity in self._choices:
            return
        tensors = tuple(program.tensors.values())
        found = None if before is None else renamed(before, entity, tensors)
        self.show_tensor(found if found in self._choices else None)

    @property
    def _is_typing(self) -> bool:
        """Whether a name is being typed."""
        return self._typing.hasFocus() and self._typing.isModified()

    def _show_choice(self) -> None:
        key = "" if self.view.entity is None else self.view.entity.key
        place, shown = self._chooser.findText(key), self._typing.text()
        # A name set again loses its selection, and what was typed.
        if self._is_typing or (shown == key and self._chooser.currentIndex() == place):
            return
        with QSignalBlocker(self._chooser):
            self._chooser.setCurrentIndex(place)
            self._chooser.setEditText(key)

    def _chosen(self, place: int) -> None:
        self._typing.setModified(False)
        if 0 <= place < len(self._choices):
            entity = self._choices[place]
            self._note_choice(entity)
            self._sought = None
            self.show_tensor(entity)
            self._bus.select((entity,), source=VIEW)

    def _typed(self) -> None:
        self._typing.setModified(False)
        place = self._chooser.findText(self._typing.text())
        if place >= 0 and self._choices[place] != self.view.entity:
            self._chosen(place)
        elif place < 0:
            self._show_choice()

    def _selected(self, selection: Selection, source: str) -> None:
        self._sought = None
        if self.pinned or source == VIEW or selection.primary is None:
            return
        found = self._tensor_behind(selection.primary)
        # What was selected before it was compiled is looked for again with the next program.
        self._sought = None if found is not None else selection
        if found is not None:
            self.show_tensor(found)

    def _revealed(self, entity: Entity, source: str) -> None:
        if source != VIEW and entity.kind == "tensor":
            self._note_choice(entity)
            self._sought = None
            self.show_tensor(entity)

    def _output_chosen(self, node_id: str) -> None:
        """One of several outputs of the selected layer was chosen."""
        if self.pinned or self._bus.selection.primary != entities.node(node_id):
            return
        name = self._provenance().tensor_of_output(Port(node_id, self._bus.output_of(node_id)))
        if name:
            self._revealed(entities.tensor(name), "")

    def _note_choice(self, entity: Entity) -> None:
        self._choice.chosen(entity, self._tensor_of(entities.tensor_name(entity)[0]))

    def _tensor_behind(self, entity: Entity) -> Entity | None:
        """The tensor a selected thing stands for."""
        if entity.kind == "tensor":
            self._note_choice(entity)
            return entity
        provenance = self._provenance()
        if entity.kind == "wire":
            name = provenance.tensor_of_output(Wire(*entities.wire_ends(entity)).port)
            return entities.tensor(name) if name else None
        if entity.kind == "node":
            named = (self._tensor_of(name) for name in provenance.tensors_of(entity.key))
            tensors = [tensor for tensor in named if tensor is not None]
            return self._choice.of_layer(tensors, self._choices, self.view.entity)
        return provenance.path(entity, self._bus.path).tensor

    def instruction(self) -> str:
        """Stable key of the selected instruction; empty without one."""
        found = self._bus.path.instruction
        return "" if found is None else found.key

    def _preferred(self, name: str) -> None:
        if name == "live_rate":
            self.view.set_rate(self._preferences.number("live_rate"))
        elif name == "shared_views":
            self._device_refused = False
            self._seen()

    # -- the device -----------------------------------------------------------------------------

    def _seen(self) -> None:
        """Immediately: a snapshot no longer on the device must not be drawn from there."""
        self.view.draw_from_device(self._draws_from_device())
        self._sheet.forget_device()

    def _draws_from_device(self) -> bool:
        wanted = self._preferences.text("shared_views")
        frame = self.view.frame
        if wanted == "never" or self._device_refused or frame is None:
            return False
        return is_shared(frame.snapshot)

    def _device_broke(self, why: str) -> None:
        if not self._device_refused:
            self._device_refused = True
            self._notify(f"Tensors are drawn from copies: {why}", "warning")
            self.view.draw_from_device(False)

    # -- doing ----------------------------------------------------------------------------------

    def _trigger(self, action_id: str) -> None:
        self._actions.trigger(action_id)
        self._refresh()

    def _menu(self) -> QMenu:
        menu = menus.menu_of(self._actions, _MENU, self)
        menu.addSeparator()
        for choice in CHOICES:
            action = menu.addAction(_CHOICES[choice])
            action.setObjectName(f"choose.{choice}")
            action.setCheckable(True)
            action.setChecked(choice == self.view.choice)
            action.triggered.connect(lambda _=False, chosen=choice: self.view.choose(chosen))
        return menu

    def ask_index(self) -> None:
        """Ask for the index of an element and point at it."""
        asked = _index_dialog(self, self.view.shape or (), self.view.pointing.index)
        asked.textValueSelected.connect(self._go_to)
        asked.open()

    def _go_to(self, text: str) -> None:
        try:
            self.view.pointing.go_to(text)
        except StudioError as error:
            self._fail(error)

    def copy_value(self) -> None:
        """Copy the element that is pointed at."""
        QGuiApplication.clipboard().setText(exact_number(self.view.pointing.value))


def _index_dialog(
    parent: QWidget, shape: tuple[int, ...], now: tuple[int, ...] | None
) -> QInputDialog:
    """Asks for the place of one number."""
    asked = QInputDialog(parent)
    asked.setObjectName("go_to_index")
    asked.setWindowTitle("Go to index")
    asked.setLabelText(f"Index into {list(shape)}, one number for each axis")
    asked.setTextValue("" if now is None else ", ".join(map(str, now)))
    asked.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    return asked
