"""Undo: the states the document went through, each with the name of the step that led to it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

from studio.engine.core.signal import Signal
from studio.session.document.state import CanvasNode, DocumentState

MAX_STEPS = 500
MAX_BYTES = 64 << 20
_NODE_BYTES = 420
"""Estimate for one node record without its texts."""
_ENTRY_BYTES = 100
"""Estimate for one entry of the table of nodes, which every state has of its own."""


@dataclass(frozen=True)
class Step:
    """One step that can be undone: its name, the state after it, and what it may merge with."""

    text: str
    state: DocumentState
    merge_key: str = ""
    cost: int = 0


class History:
    """A list of states and a place in it.

    Consecutive steps with the same merge key become one. While a gesture is open all steps do, and
    `undo` cancels the gesture. A step that ends where it began is dropped.

    Args:
        state: where the document begins.
        limit: most steps kept; the oldest are forgotten.
        limit_bytes: most memory the kept states may take, as estimated.
    """

    def __init__(
        self, state: DocumentState, limit: int = MAX_STEPS, limit_bytes: int = MAX_BYTES
    ) -> None:
        self.changed: Signal[[]] = Signal()
        self._first = state
        self._steps: list[Step] = []
        self._position = 0
        self._clean = state
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._gesture: _Gesture | None = None
        self._open_key = ""
        self._has_forgotten = False

    @property
    def state(self) -> DocumentState:
        """The state now."""
        if self._gesture is not None:
            return self._gesture.state
        return self._state_at(self._position)

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps, undone ones included, oldest first."""
        return tuple(self._steps)

    @property
    def texts(self) -> tuple[str, ...]:
        """The names of all steps, oldest first."""
        return tuple(step.text for step in self._steps)

    @property
    def position(self) -> int:
        """How many of the steps are done."""
        return self._position

    @property
    def has_forgotten(self) -> bool:
        """Whether steps before the oldest kept one are gone."""
        return self._has_forgotten

    @property
    def undo_text(self) -> str:
        """What `undo` would take back, or empty."""
        if self._gesture is not None:
            return self._gesture.text
        return self._steps[self._position - 1].text if self._position else ""

    @property
    def redo_text(self) -> str:
        """What `redo` would do again, or empty."""
        done = self._gesture is not None or self._position == len(self._steps)
        return "" if done else self._steps[self._position].text

    @property
    def gesture_text(self) -> str:
        """Name of the gesture that is open, or empty."""
        return "" if self._gesture is None else self._gesture.text

    @property
    def is_gesture_open(self) -> bool:
        """Whether a gesture is open."""
        return self._gesture is not None

    @property
    def is_clean(self) -> bool:
        """Whether the state is the one that was saved last."""
        return self.state == self._clean

    @property
    def saved_state(self) -> DocumentState:
        """The state that was saved last, or that the document began with."""
        return self._clean

    @property
    def cost(self) -> int:
        """Estimated bytes of the steps, without the first state."""
        return sum(step.cost for step in self._steps)

    def rename(self, before: str, name: str) -> None:
        """Give the project another name in all states that have the name before.

        It is no step: a name that comes from the file stays whatever is undone.
        """
        if before == name:
            return

        def named(state: DocumentState) -> DocumentState:
            return state.replaced(name=name) if state.name == before else state

        self._first, self._clean = named(self._first), named(self._clean)
        self._steps = [replace(step, state=named(step.state)) for step in self._steps]
        if self._gesture is not None:
            self._gesture.state = named(self._gesture.state)

    def restart(self, state: DocumentState) -> bool:
        """Begin with another state, which counts as saved; whether there was no step yet."""
        if self._steps or self._gesture is not None:
            return False
        self._first = self._clean = state
        self.changed.emit()
        return True

    def mark_clean(self) -> None:
        """The state now is the saved one."""
        self._clean = self.state
        self.changed.emit()

    def push(self, text: str, state: DocumentState, merge_key: str = "") -> bool:
        """Add a step that leads to ``state``; whether anything differs from before."""
        if state is self.state or state == self.state:
            return False
        if self._gesture is not None:
            self._gesture.state = state
            self._gesture.text = text or self._gesture.text
            return True
        if merge_key and merge_key == self._open_key and self._can_merge(merge_key):
            self._merge(text, state, merge_key)
        else:
            self._append(text, state, merge_key)
        self._open_key = merge_key
        self.changed.emit()
        return True

    def seal(self) -> None:
        """The next step does not merge with the last."""
        self._open_key = ""

    def undo(self) -> bool:
        """Cancel the open gesture, or go one step back; whether there was anything to take back."""
        if self._gesture is not None:
            self.cancel()
            return True
        if self._position == 0:
            return False
        return self.jump(self._position - 1)

    def redo(self) -> bool:
        """Go one step forward; whether there was one. An open gesture is cancelled."""
        if self._gesture is not None:
            self.cancel()
            return True
        if self._position == len(self._steps):
            return False
        return self.jump(self._position + 1)

    def jump(self, position: int) -> bool:
        """Go to where ``position`` steps are done; whether there is such a place."""
        self._gesture = None
        if not 0 <= position <= len(self._steps):
            return False
        self._position = position
        self._open_key = ""
        self.changed.emit()
        return True

    def begin_gesture(self, text: str) -> None:
        """From now on steps become one, until `commit` or `cancel`; an open one ends first."""
        if self._gesture is not None:
            self.commit()
        self._gesture = _Gesture(text, self.state)

    def commit(self, text: str = "") -> bool:
        """End the gesture; whether it became a step."""
        gesture, self._gesture = self._gesture, None
        self._open_key = ""
        if gesture is None:
            return False
        made = gesture.state != self.state
        if made:
            self._append(text or gesture.text, gesture.state, "")
        self.changed.emit()
        return made

    def cancel(self) -> bool:
        """End the gesture and go back to before it; whether one was open."""
        gesture, self._gesture = self._gesture, None
        if gesture is not None:
            self.changed.emit()
        return gesture is not None

    def _state_at(self, position: int) -> DocumentState:
        return self._steps[position - 1].state if position else self._first

    def _can_merge(self, merge_key: str) -> bool:
        at_end = 0 < self._position == len(self._steps)
        return at_end and self._steps[-1].merge_key == merge_key

    def _merge(self, text: str, state: DocumentState, merge_key: str) -> None:
        before = self._state_at(self._position - 1)
        self._steps.pop()
        self._position -= 1
        if state != before:
            self._append(text, state, merge_key)

    def _append(self, text: str, state: DocumentState, merge_key: str) -> None:
        del self._steps[self._position :]
        cost = step_bytes(self._state_at(self._position), state)
        self._steps.append(Step(text, state, merge_key, cost))
        self._position += 1
        total = self.cost
        while len(self._steps) > self._limit or (total > self._limit_bytes and self._position > 1):
            oldest = self._steps.pop(0)
            self._first = oldest.state
            self._has_forgotten = True
            self._position -= 1
            total -= oldest.cost


class _Gesture:
    def __init__(self, text: str, state: DocumentState) -> None:
        self.text = text
        self.state = state


def step_bytes(before: DocumentState, after: DocumentState) -> int:
    """Estimated memory of a state beyond what it shares with the one before."""
    old = before.nodes
    fresh = [node for node_id, node in after.nodes.items() if old.get(node_id) is not node]
    held = _ENTRY_BYTES * len(after.nodes) if after.nodes is not old else 0
    held += sum(_NODE_BYTES + _text_bytes(node) for node in fresh)
    return held + sum(
        _section_bytes(getattr(after, name))
        for name in ("data", "training", "notes", "annotations", "samples")
        if getattr(before, name) is not getattr(after, name)
    )


def _text_bytes(node: CanvasNode) -> int:
    return 4 * len(node.config.text) + sys.getsizeof(node.text) + 16 * len(node.inputs)


def _section_bytes(value: object) -> int:
    text = getattr(value, "text", value)
    return 4 * len(text) if isinstance(text, str) else 0
