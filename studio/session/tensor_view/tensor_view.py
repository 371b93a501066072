"""One view of a tensor: which, of when, laid out how, in which colours, and what is pointed at."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from studio.engine.core.errors import ParameterError, StudioError
from studio.engine.core.signal import Signal
from studio.engine.core.tensor import Role, Shape, Tensor
from studio.engine.runtime.live import ArraySnapshot
from studio.engine.runtime.live_statistics import Statistics
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.core.tasks import TaskHandle, TaskList
from studio.session.live.frames import INTERVAL, Frame, HeldTensor, Status
from studio.session.live.tensors import LiveTensors, LiveView
from studio.session.tensor_view.colours import Choice, ColourRange
from studio.session.tensor_view.layout import Kind, Region, SheetLayout
from studio.session.tensor_view.picture import Picture, TileRenderer
from studio.session.tensor_view.pointing import LinkedCursor, Pointing
from studio.session.tensor_view.slices import parse_slicing, past_wanted
from studio.session.tensor_view.view_state import Slider, ViewState
from studio.session.tensor_view.words import badge_text, is_current

Mode: TypeAlias = Literal["live", "after", "held"]

NOTHING = Status("waiting", "No tensor is chosen", "Choose one above, or select a layer")
_HISTORY = 200
_IMAGES = frozenset({Role.INPUT, Role.DATA})
_WEIGHTS = frozenset({Role.PARAM, Role.SLOT, Role.STATE})


class TensorViewModel:
    """What a tensor view shows; used on the window's thread.

    Args:
        tasks: reads a tensor back in the background when it is held.
        tensor_of: the tensor of a name in the program at hand, None where it has none.
        picks: the element pointed at in all views.
        empty: the colour of where nothing is.
        older: whether what is left of a training is of another network than the one at hand.
    """

    def __init__(
        self,
        live: LiveTensors,
        tasks: TaskList,
        tensor_of: Callable[[str], Tensor | None] = lambda _: None,
        picks: LinkedCursor | None = None,
        empty: Callable[[], tuple[int, int, int]] = lambda: (16, 18, 22),
        older: Callable[[], bool] = lambda: False,
    ) -> None:
        self.changed: Signal[[]] = Signal()
        self.entity: Entity | None = None
        self.mode: Mode = "live"
        self.after = ""
        self.view_state = ViewState()
        self.colours = ColourRange()
        self.choice: Choice = "largest"
        self.held: HeldTensor | None = None
        self.comparing = False
        self.history: deque[tuple[int, float]] = deque(maxlen=_HISTORY)
        self.slice_error = ""
        self.past = 0
        self._live = live
        self._tasks = tasks
        self._tensor_of = tensor_of
        self.older = older
        self._view: LiveView | None = None
        self._active = False
        self._from_device = False
        self._interval = INTERVAL
        self._renderer = TileRenderer(lambda: (self.view_state, self.colours, self.choice), empty)
        self.pointing = Pointing(lambda: self.frame, lambda: self.sheet_layout, picks, self._reveal)
        self.pointing.changed.connect(self._pointed)

    # -- what is shown --------------------------------------------------------------------------

    @property
    def frame(self) -> Frame | None:
        """The picture's numbers, None before the first."""
        return None if self._view is None else self._view.frame

    @property
    def status(self) -> Status:
        """Why it shows what it shows."""
        return NOTHING if self._view is None else self._view.status

    @property
    def shape(self) -> Shape | None:
        """The tensor's shape, symbols bound; None until it has been seen."""
        return None if self.frame is None else self.frame.snapshot.shape

    @property
    def statistics(self) -> Statistics | None:
        """Of what is shown."""
        return None if self.frame is None else self.frame.statistics

    @property
    def kind(self) -> Kind:
        """What the picture is: a number, bars, cells."""
        return "map" if self.shape is None else self.view_state.layout(self.shape)[1].kind

    @property
    def sheet_layout(self) -> SheetLayout | None:
        """Where the sheet lies on the view."""
        return None if self.shape is None else self.view_state.sheet_layout(self.shape)

    @property
    def badge(self) -> str:
        """Mode and moment, for the corner of the picture."""
        minus = f"held {self.held.label}" if self.comparing and self.held is not None else ""
        return badge_text(self.frame, self.status, minus, older=self.older())

    @property
    def is_stale(self) -> bool:
        """Whether the picture is an old one, because there is no newer."""
        return self.frame is not None and (self.older() or not is_current(self.frame, self.status))

    def picture(self) -> Picture | None:
        """The coloured cells; None where there are none, and while the device draws them."""
        return None if self.frame is None else self._renderer.of(self.frame, self.sheet_layout)

    @property
    def sliders(self) -> tuple[Slider, ...]:
        """One for each axis of which one index is shown."""
        return () if self.shape is None else self.view_state.sliders(self.shape)

    # -- which tensor ---------------------------------------------------------------------------

    def show(self, entity: Entity | None) -> None:
        """Look at another tensor, with the default layout and range."""
        if entity == self.entity:
            return
        self.entity = entity
        self.mode, self.after, self.comparing, self.held = "live", "", False, None
        self.past = 0
        self.history.clear()
        self.pointing.forget()
        tensor = self._tensor()
        weights = tensor is not None and tensor.role in _WEIGHTS
        images = tensor is not None and tensor.role in _IMAGES
        self.view_state = ViewState(weights=weights, colour=images, size=self.view_state.size)
        self.colours = ColourRange()
        self.slice_error = ""
        self._reopen()

    def set_active(self, active: bool) -> None:
        """Tell whether the view is visible; hidden ones cost nothing."""
        if active != self._active:
            self._active = active
            self._want()

    def set_rate(self, pictures: float) -> None:
        """So many pictures a second at most; more than ten are not made."""
        self._interval = max(INTERVAL, 1.0 / pictures)
        self._want()

    def draw_from_device(self, on: bool) -> None:
        """Make statistics only, because the picture is drawn where the tensor lies."""
        if on != self._from_device:
            self._from_device = on
            self._want()

    @property
    def drawn_from_device(self) -> bool:
        """Whether cells are drawn where the tensor lies; bars and numbers never are."""
        return self._from_device and self.kind not in ("number", "bars")

    def close(self) -> None:
        """Stop following models."""
        if self._view is not None:
            self._view.close()
            self._view = None

    # -- of when --------------------------------------------------------------------------------

    def look_live(self) -> None:
        """Show the last finished step."""
        self.mode = "live"
        if self.after:
            self.after = ""
            self._reopen()
        else:
            self._want()
        self.changed.emit()

    def look_after(self, instruction: str) -> None:
        """Show the tensor as it is behind an instruction, by its stable key."""
        self.mode = "after"
        if instruction != self.after:
            self.after = instruction
            self._reopen()
        self.changed.emit()

    def why_not_hold(self) -> str:
        """Why nothing can be held now; empty when something can."""
        return "" if self.frame is not None else "there is no image yet"

    def hold(self) -> None:
        """Keep what is shown, and show that; or go back to what is live."""
        if self.mode == "held":
            self.mode = "after" if self.after else "live"
            self._want()
            self.changed.emit()
            return
        frame = self.frame
        if frame is None:
            return
        snapshot, entity = frame.snapshot.retain(), self.entity

        def work(_: TaskHandle) -> ArraySnapshot:
            try:
                array = np.array(snapshot.array())
            finally:
                snapshot.release()
            return ArraySnapshot(snapshot.name, array, snapshot.grad, snapshot.moment)

        def done(made: ArraySnapshot) -> None:
            if self.mode == "held" and self.held is None and self.entity == entity:
                self.held = HeldTensor(made, frame.label)
                self._want()
                self.changed.emit()

        self.mode, self.held = "held", None
        self._want()
        self._tasks.start(
            "Hold a tensor", work, done, self._hold_failed, quiet=True, if_left="finish"
        )
        self.changed.emit()

    def _hold_failed(self, error: StudioError) -> None:
        self.mode = "after" if self.after else "live"
        self._want()
        if self._view is not None:
            self._view.show_status(Status("missing", error.message, error.hint))

    def why_not_compare(self) -> str:
        """Why nothing can be compared with; empty when something can."""
        if self.past:
            return "several images are shown"
        return "" if self.held is not None else "nothing is held"

    def compare(self) -> None:
        """Show the difference to what was held, or the tensor itself again."""
        if self.why_not_compare():
            return
        self.comparing = not self.comparing
        if self.comparing and self.mode == "held":
            self.mode = "after" if self.after else "live"
        self.colours = ColourRange()
        self._want()
        self.changed.emit()

    # -- laid out how ---------------------------------------------------------------------------

    def set_size(self, width: float, height: float) -> None:
        """The view has so many pixels."""
        if (width, height) != self.view_state.size and width > 0 and height > 0:
            self._set_state(replace(self.view_state, size=(width, height)))

    def set_slice(self, text: str) -> bool:
        """Take other indices, typed as NumPy writes them; whether the text was one.

        With ``t`` in front they are taken of the last pictures in a row.
        """
        past, shape = past_wanted(text), self.shape
        if shape is not None:
            own = shape[1:] if self.past else shape
            try:
                parse_slicing(text, (past, *own) if past else own)
            except ParameterError as error:
                self.slice_error = error.message
                self.changed.emit()
                return False
        was_wrong, self.slice_error = bool(self.slice_error), ""
        view_state = replace(self.view_state, text=text, tile=None, region=None, page=0)
        if past == self.past:
            if was_wrong and view_state == self.view_state:
                # Back at what is shown anyhow: only the word about the wrong one goes.
                self.changed.emit()
            self._set_state(view_state)
            return True
        tensor = self._tensor()
        weights = not past and tensor is not None and tensor.role in _WEIGHTS
        self.view_state = replace(view_state, weights=weights, channel=None, positions={})
        self.past, self.comparing, self.held = past, False, None
        if self.mode == "held":
            self.mode = "after" if self.after else "live"
        self.pointing.forget()
        self._reopen()
        return True

    def set_position(self, axis: int, at: int) -> None:
        """Move a slider."""
        if self.shape is not None:
            self._set_state(self.view_state.with_position(axis, at, self.shape))

    def set_channel(self, channel: int | None) -> None:
        """Show one index of the last axis, or all of them."""
        self._set_state(replace(self.view_state, channel=channel, tile=None, region=None, page=0))

    def set_colour(self, on: bool) -> None:
        """Show three channels as red, green and blue, or each by itself."""
        self._set_state(replace(self.view_state, colour=on, tile=None, region=None))

    def open_tile(self, tile: int | None) -> None:
        """Look at one tile by itself, counted over all pages, or at all of them."""
        self._set_state(replace(self.view_state, tile=tile, region=None))

    def zoom(self, region: Region | None) -> None:
        """Look at a part of a tile, or at the whole."""
        self._set_state(replace(self.view_state, region=region))

    def turn(self, by: int) -> None:
        """Go to the next slices: a page of tiles, else one index of the first slider."""
        shape, sheet_layout = self.shape, self.sheet_layout
        if shape is None or sheet_layout is None:
            return
        if sheet_layout.pages > 1 and self.view_state.tile is None:
            page = min(max(self.view_state.page + by, 0), sheet_layout.pages - 1)
            self._set_state(replace(self.view_state, page=page))
            return
        sliders = self.sliders
        own = self.view_state.tile_axis(shape) if self.view_state.tile is not None else None
        slider = next((s for s in sliders if s.axis == own), sliders[0] if sliders else None)
        if slider is not None and slider.count:
            self.set_position(slider.axis, min(max(slider.at + by, 0), slider.count - 1))

    # -- in which colours -----------------------------------------------------------------------

    def fit_range(self) -> None:
        """Fit the colours to what is shown, once."""
        self._set_colours(self.colours.kept(self.statistics))

    def follow_range(self, on: bool) -> None:
        """Fit the colours to every picture, or leave them."""
        if on:
            following = self.colours.following()
            found = self.statistics
            self._set_colours(following if found is None else following.fitted(found))
        else:
            self._set_colours(replace(self.colours, follows=False))

    def move_range(self, low: float | None = None, high: float | None = None) -> None:
        """Move a handle over the histogram."""
        self._set_colours(self.colours.moved(low, high))

    def choose(self, choice: Choice) -> None:
        """What stands for a cell of many elements."""
        self.choice = choice
        self.changed.emit()

    # -- inside ---------------------------------------------------------------------------------

    def _tensor(self) -> Tensor | None:
        entity = self.entity
        return None if entity is None else self._tensor_of(entities.tensor_name(entity)[0])

    def _reopen(self) -> None:
        if self._view is not None:
            self._view.close()
            self._view = None
        self._renderer.forget()
        if self.entity is not None:
            self._view = self._live.open(self.entity, after=self.after, past=self.past)
            self._view.changed.connect(self._live_changed)
        self._want()
        self.changed.emit()

    def _want(self) -> None:
        view = self._view
        if view is None:
            return
        held, is_held = self.held, self.mode == "held"
        view.want(
            # While what is to be held is read, nothing newer may take its place.
            active=self._active and (not is_held or held is not None),
            sheets=self.view_state.sheets,
            element=self.pointing.index,
            minus=held.snapshot if self.comparing and held is not None else None,
            held=held if is_held else None,
            paint=self._renderer.on_the_way,
            from_device=self.drawn_from_device,
            interval=self._interval,
        )

    def _set_state(self, view_state: ViewState) -> None:
        if view_state != self.view_state:
            self.view_state = view_state
            self._want()
            self.changed.emit()

    def _set_colours(self, colours: ColourRange) -> None:
        if colours != self.colours:
            self.colours = colours
            self.changed.emit()

    def _pointed(self) -> None:
        self._want()
        self.changed.emit()

    def _reveal(self, index: tuple[int, ...]) -> None:
        """Show everything again, with the sliders where an element is."""
        self._set_state(ViewState(weights=self.view_state.weights, size=self.view_state.size))
        for slider in self.sliders:
            self.set_position(slider.axis, index[slider.axis])
        layout, shape = self.sheet_layout, self.shape
        if layout is not None and shape is not None and layout.sheet.place(index) is None:
            axis = self.view_state.tile_axis(shape)
            if axis is not None and layout.tiles:
                self._set_state(replace(self.view_state, page=index[axis] // layout.tiles))

    def _live_changed(self) -> None:
        frame = self.frame
        if frame is not None and frame.statistics is not None:
            self.colours = self.colours.seen(frame.statistics)
            self._note(frame)
        self.pointing.adopt()
        if self._view is not None and self._view.wish.from_device != self.drawn_from_device:
            self._want()
        self.changed.emit()

    def _note(self, frame: Frame) -> None:
        """Remember single numbers, to draw their course."""
        if frame.snapshot.shape or frame.statistics is None or frame.state != "live":
            return
        step = frame.snapshot.moment.step
        if not self.history or self.history[-1][0] < step:
            self.history.append((step, frame.statistics.mean))
