"""Which part of a source (array, column, folder) goes to which input or output of the network."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from studio.engine.core.errors import DataError, StudioError
from studio.engine.core.options import Option, Plain, choice
from studio.engine.core.tensor import Shape
from studio.engine.layers.graph import Port, port_names
from studio.engine.train.data.named_parts import entry_options
from studio.engine.train.data.normalization import KINDS
from studio.engine.train.project.data_settings import BY_NAME
from studio.session.core.option_rows import Row, row_of
from studio.session.data.sources import AUTO, NORMALIZATIONS, class_names_option, reference_of
from studio.session.document.document import Document
from studio.session.document.edits.sections import training_of
from studio.session.document.flow import flow_of
from studio.session.document.layer_types import is_input
from studio.session.document.resolve import resolve
from studio.session.document.state import CanvasNode, DocumentState

Side: TypeAlias = Literal["inputs", "targets", "weights"]
"""What a part is for; ``weights`` are the sample weights of an output."""

_MASKS = ("mask", "masks", "label", "labels", "annotation", "annotations", "segmentation",
          "segmentations", "target", "targets")  # fmt: skip

SIDES: tuple[Side, ...] = ("inputs", "targets")
"""What an input or output needs data for."""


@dataclass(frozen=True)
class SourcePart:
    """One array, column or folder of a source.

    Attributes:
        key: its name in the source.
        about: shape and type, or what it holds, in a few words.
        sample_shape: shape of one sample as an input takes it; None where it makes none.
        normalization: what suits it as an input.
        detail: more about it, for a tip.
    """

    key: str
    about: str
    sample_shape: Shape | None = None
    normalization: str = "none"
    detail: str = ""


@dataclass(frozen=True)
class End:
    """An input or output of the network.

    Attributes:
        side: which of them.
        name: its name.
        shape: of one sample; None while it is unknown.
        is_whole: whether it is an input of whole numbers.
        is_free: whether it is an output that needs no data, for it has no loss and no metrics.
    """

    side: Side
    name: str
    shape: Shape | None = None
    is_whole: bool = False
    is_free: bool = False

    @property
    def title(self) -> str:
        """What it is called in lists."""
        return f"{'input' if self.side == 'inputs' else 'output'} {self.name}"


Ends: TypeAlias = tuple[End, ...]


def ends_of(state: DocumentState) -> Ends:
    """Inputs and outputs of the network, those of the drawing that data may go to."""
    resolved, flow = resolve(state), flow_of(state)
    entries = [i for i in resolved.inputs if is_input(state.nodes[i])]
    reached = [i for i in entries if i in resolved.reached] or entries
    outputs = resolved.outputs or tuple(Port(i) for i in resolved.ends)
    names = port_names((state.nodes[port.node].name, port.output) for port in outputs)
    settings = training_of(state)

    def is_free(name: str) -> bool:
        return settings.has_no_loss(name) and not settings.measures(name)

    return (
        *(_input_end(state.nodes[i], flow.shape(i)) for i in reached),
        *(
            End("targets", name, flow.shape(port), is_free=len(names) > 1 and is_free(name))
            for name, port in zip(names, outputs, strict=True)
        ),
    )


def _input_end(node: CanvasNode, shape: Shape | None) -> End:
    return End("inputs", node.name, shape, node.config.get("dtype") == "int32")


def is_several(ends: Ends) -> bool:
    """Whether a network has more than one input or more than one output."""
    return any(sum(end.side == side for end in ends) > 1 for side in SIDES)


def is_by_name(reference: Mapping[str, object]) -> bool:
    """Whether a source maps its parts to inputs and outputs by name."""
    return reference.get("source") in BY_NAME


def mapped(reference: Mapping[str, object], side: Side) -> dict[str, tuple[str, ...]]:
    """The parts each input or output takes; empty for a source without such a mapping."""
    given, key = reference.get(side), BY_NAME.get(str(reference.get("source")), "")
    if side == "weights" and isinstance(given, str):
        given = dict.fromkeys(mapped(reference, "targets"), given)
    if not key or not isinstance(given, Mapping):
        return {}
    return {str(name): _keys(str(name), entry, key) for name, entry in given.items()}


def uses_of(reference: Mapping[str, object], part: str) -> tuple[tuple[Side, str], ...]:
    """What a part of the source goes to."""
    return tuple(
        (side, name)
        for side in (*SIDES, "weights")
        for name, keys in mapped(reference, side).items()
        if part in keys
    )


def with_use(
    reference: Mapping[str, Plain],
    part: SourcePart,
    side: Side,
    name: str,
    *,
    used: bool,
    is_whole: bool = False,
) -> dict[str, Plain]:
    """The reference with a part given to an input or output, or taken from it.

    An array or folder takes the place of the one before; a column is added to those before. An
    input or output that nothing is left for has no entry.

    Args:
        reference: source and options.
        part: the array, column or folder.
        side: what it is given to, or taken from.
        name: the input or output.
        used: whether it is given.
        is_whole: whether the input takes whole numbers, which are not normalised.
    """
    if side == "weights":
        return _with_weights(reference, part.key, name, used=used)
    key, table = BY_NAME[str(reference["source"])], _table(reference, side)
    entry = _fields(name, table.get(name), key)
    before = _keys(name, table.get(name), key)
    kept = [each for each in before if each != part.key] if key == "columns" else []
    chosen = [*kept, part.key] if used else [each for each in before if each != part.key]
    made = {**reference, side: table}
    if chosen:
        normalization = "none" if is_whole else part.normalization
        # Columns are read as whole numbers only where it is stated that nothing changes them.
        is_said = normalization != "none" or (is_whole and key == "columns")
        if not before and side == "inputs" and is_said:
            entry["normalization"] = normalization
        entry[key] = list(chosen) if key == "columns" else chosen[0]
        table[name] = _short(entry, key)
        return made
    table.pop(name, None)
    # Weights without targets would be refused.
    return made if side == "inputs" else _with_weights(made, "", name, used=False)


def _given(reference: Mapping[str, Plain], part: SourcePart, end: End) -> dict[str, Plain]:
    """The reference with a part given to an input or output of the network."""
    return with_use(reference, part, end.side, end.name, used=True, is_whole=end.is_whole)


def _with_weights(
    reference: Mapping[str, Plain], part: str, name: str, *, used: bool
) -> dict[str, Plain]:
    """The reference with the sample weights of an output, or without."""
    before = {output: keys[0] for output, keys in mapped(reference, "weights").items()}
    table: dict[str, Plain] = {o: key for o, key in before.items() if o != name}
    if used:
        table[name] = part
    made = {key: value for key, value in reference.items() if key != "weights"}
    return {**made, "weights": table} if table else made


def without_use(reference: Mapping[str, Plain], part: str) -> dict[str, Plain]:
    """The reference with a part that nothing takes."""
    made = dict(reference)
    for side, name in uses_of(reference, part):
        made = with_use(made, SourcePart(part, ""), side, name, used=False)
    return made


def mapped_by_name(
    reference: Mapping[str, Plain], parts: Sequence[SourcePart], ends: Ends
) -> dict[str, Plain]:
    """A source by name whose parts go to the inputs and outputs they are named after.

    A part goes to the input or output of its name, in whichever case. An input without one gets the
    only part left that has its shape; an only output without one gets the only part left. Columns
    also go to what their names begin with, as ``left_1`` and ``left_2`` to ``left``; a folder of
    pictures to an only input, one of masks to an only output.

    What the reference says of an input or output beside its part stays. One that no part is named
    after keeps the part it has, unless that goes to another by its name.
    """
    made: dict[str, Plain] = {**reference, "inputs": {}, "targets": {}}
    if reference.get("source") == "columns":
        made = _columns_by_name(made, parts, ends)
    elif reference.get("source") == "folders":
        made = _folders_by_name(made, parts, ends)
    else:
        made = _arrays_by_name(made, parts, ends, reference)
    made = _with_entries_before(made, reference, parts, ends)
    return _with_known_weights(made, {part.key for part in parts})


def _with_entries_before(
    made: Mapping[str, Plain], before: Mapping[str, Plain], parts: Sequence[SourcePart], ends: Ends
) -> dict[str, Plain]:
    """A mapping by name with options and parts that inputs and outputs had before."""
    found, known = dict(made), {part.key for part in parts}
    key = BY_NAME[str(made["source"])]
    for end in ends:
        had, table = mapped(before, end.side).get(end.name, ()), _table(found, end.side)
        taken = {each for keys in mapped(found, end.side).values() for each in keys}
        if not had or not known.issuperset(had):
            continue
        own = _entry(before, end.side, end.name)
        if not _can_be_read(end, own, key):
            continue
        if end.name in table:
            now = _fields(end.name, table[end.name], key)
            table[end.name] = _short({**own, key: now[key]}, key)
        elif not taken.intersection(had):
            table[end.name] = _short(own, key)
        found[end.side] = table
    return found


def _can_be_read(end: End, entry: Mapping[str, Plain], key: str) -> bool:
    """Whether the loader takes what an entry says beside its part."""
    fields: dict[object, object] = dict(entry.items())
    try:
        entry_options(end.name, fields, end.side == "inputs", key)
    except StudioError:
        return False
    return True


def _arrays_by_name(
    reference: dict[str, Plain],
    parts: Sequence[SourcePart],
    ends: Ends,
    before: Mapping[str, Plain],
) -> dict[str, Plain]:
    """Every array to the end of its name, or to the only one left that it fits.

    An array that went ``before`` to an end that none is named after is not left.
    """
    made = reference
    left = {part.key: part for part in parts}
    waiting = []
    for end in ends:
        found = left.get(end.name) or _only(
            p for p in left.values() if p.key.casefold() == end.name.casefold()
        )
        if found is None:
            waiting.append(end)
            continue
        del left[found.key]
        made = _given(made, found, end)
    for end in list(waiting):
        had = mapped(before, end.side).get(end.name, ())
        taken = mapped(made, end.side).values()
        if had and had not in taken and any(part.key == had[0] for part in parts):
            waiting.remove(end)
            left.pop(had[0], None)
    for end in waiting:
        fits = [p for p in left.values() if end.side == "inputs" and p.sample_shape == end.shape]
        alone = len(waiting) == 1 and end.side == "targets"
        found = _only(left.values()) if alone else _only(fits)
        if found is not None:
            del left[found.key]
            made = _given(made, found, end)
    return made


def _with_known_weights(reference: dict[str, Plain], parts: set[str]) -> dict[str, Plain]:
    """The reference without sample weights of arrays or outputs that it does not have."""
    targets = mapped(reference, "targets")
    table: dict[str, Plain] = {
        output: keys[0]
        for output, keys in mapped(reference, "weights").items()
        if keys[0] in parts and output in targets
    }
    made = {key: value for key, value in reference.items() if key != "weights"}
    return {**made, "weights": table} if table else made


def _columns_by_name(
    reference: dict[str, Plain], parts: Sequence[SourcePart], ends: Ends
) -> dict[str, Plain]:
    """Every column to the end it is named after, the longest name first."""
    made = reference
    for part in parts:
        key = part.key.casefold()
        fits = [
            end
            for end in ends
            if re.match(rf"{re.escape(end.name.casefold())}(?:[^a-z]|$)", key)
            and (end.side == "targets" or part.sample_shape is not None)
        ]
        if fits:
            end = max(fits, key=lambda each: len(each.name))
            made = _given(made, part, end)
    return made


def is_mask_folder(name: str) -> bool:
    """Whether a folder is called like one of masks."""
    return name.casefold() in _MASKS


def _folders_by_name(
    reference: dict[str, Plain], parts: Sequence[SourcePart], ends: Ends
) -> dict[str, Plain]:
    """Folders to the ends of their names; others by what they hold, where there is one of a kind.

    Without an input or output of its own a folder keeps its name, so that the data can be read
    before the network is built.
    """
    made = reference
    sides: tuple[tuple[Side, bool], ...] = (("inputs", False), ("targets", True))
    for side, of_masks in sides:
        names = [end.name for end in ends if end.side == side]
        left = [part for part in parts if is_mask_folder(part.key) == of_masks]
        waiting = []
        for name in names:
            found = _only(p for p in left if p.key.casefold() == name.casefold())
            if found is None:
                waiting.append(name)
            else:
                left.remove(found)
                made = with_use(made, found, side, name, used=True)
        if len(waiting) == 1 and len(left) == 1:
            made = with_use(made, left[0], side, waiting[0], used=True)
        elif not names:
            for part in left:
                made = with_use(made, part, side, part.key, used=True)
    return made


def missing_ends(reference: Mapping[str, object], ends: Ends) -> Ends:
    """Inputs and outputs of the network that need data and have none mapped to them."""
    needed = (end for end in ends if not end.is_free)
    return tuple(end for end in needed if not mapped(reference, end.side).get(end.name))


def needed_text(reference: Mapping[str, object], ends: Ends) -> str:
    """What has to be chosen before the data can be read; empty where nothing is missing.

    For example ``choose which columns go to the inputs house and place``.
    """
    missing = missing_ends(reference, ends) if is_by_name(reference) else ()
    if not missing:
        return ""
    said = []
    for side, noun in (("inputs", "input"), ("targets", "output")):
        names = [end.name for end in missing if end.side == side]
        if names:
            listed = " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
            said.append(f"the {noun}{'s' if names[1:] else ''} {listed}")
    return f"choose which {reference.get('source')} go to {' and to '.join(said)}"


def stray_names(reference: Mapping[str, object], ends: Ends) -> tuple[tuple[Side, str], ...]:
    """Names with data that are no inputs or outputs of the network."""
    known = {(end.side, end.name) for end in ends}
    return tuple(
        (side, name)
        for side in SIDES
        for name in mapped(reference, side)
        if (side, name) not in known
    )


# -- undoable steps ----------------------------------------------------------------------------


class MappedData(Protocol):
    """What a mapping needs of the data it is of."""

    parts: tuple[SourcePart, ...]

    @property
    def data(self) -> dict[str, Plain]:
        """The data section as plain data."""

    def attach(self, reference: Mapping[str, Plain], text: str = ..., merge_key: str = ...) -> None:
        """Use another source with its options; one undo step."""


class PartMapping:
    """Which parts of the source go where; every change is one undo step.

    Args:
        data: the data of the document.
        document: gives the document.
    """

    def __init__(self, data: MappedData, document: Callable[[], Document]) -> None:
        self._data = data
        self._document = document

    @property
    def ends(self) -> Ends:
        """Inputs and outputs of the network."""
        return ends_of(self._document().state)

    def use(self, part: SourcePart, side: Side, name: str, *, used: bool = True) -> None:
        """Give a part of the source to an input or output, or take it away."""
        is_whole = any(end.is_whole and (end.side, end.name) == (side, name) for end in self.ends)
        made = with_use(
            reference_of(self._data.data), part, side, name, used=used, is_whole=is_whole
        )
        self._data.attach(made, f"Map {part.key}")

    def leave_out(self, part: SourcePart) -> None:
        """Give a part of the source to no input and no output."""
        made = without_use(reference_of(self._data.data), part.key)
        self._data.attach(made, f"Leave out {part.key}")

    def map_by_name(self) -> None:
        """Give every part to the input or output of its name."""
        made = mapped_by_name(reference_of(self._data.data), self._data.parts, self.ends)
        self._data.attach(made, "Map by name")

    def set_option(self, option: str, value: object, merge_key: str = "") -> None:
        """Change an option of an input or output; raises what `with_end_option` raises."""
        made = with_end_option(reference_of(self._data.data), option, value)
        text = f"Change {option.partition(':')[0].replace('_', ' ')}"
        self._data.attach(made, text, merge_key)


# -- options of an input or output ------------------------------------------------------------


def normalization_rows(data: Mapping[str, Plain]) -> tuple[Row, ...]:
    """How each input of a source by name is normalised."""
    usual = data.get("normalization", "none")
    return tuple(
        row_of(_normalization(name), _entry(data, "inputs", name).get("normalization", usual))
        for name in mapped(data, "inputs")
    )


def target_rows(data: Mapping[str, Plain]) -> tuple[Row, ...]:
    """Whether each output of a source by name has classes, and how they are called."""
    rows = []
    for name in mapped(data, "targets"):
        entry = _entry(data, "targets", name)
        names = entry.get("class_names", [])
        shown = ", ".join(map(str, names)) if isinstance(names, list | tuple) else ""
        if data.get("source") != "folders":
            # Masks hold classes, whatever is said.
            rows.append(row_of(_task(name), entry.get("task", AUTO)))
        rows.append(row_of(_class_names(name), shown))
    return tuple(rows)


def with_end_option(reference: Mapping[str, Plain], option: str, value: object) -> dict[str, Plain]:
    """A reference with one option of an input or output changed.

    Args:
        reference: source and options.
        option: ``normalization:name``, ``task:name`` or ``class_names:name``.
        value: None for the default.

    Raises:
        ParameterError: the value is out of its range.
        DataError: nothing is mapped to that input or output.
    """
    field, _, name = option.partition(":")
    side: Side = "inputs" if field == "normalization" else "targets"
    table, key = _table(reference, side), BY_NAME[str(reference["source"])]
    if name not in table:
        raise DataError(f"nothing is mapped to {name!r}", who="data")
    entry = _fields(name, table[name], key)
    made = {"normalization": _normalization, "task": _task, "class_names": _class_names}[field]
    row = made(name)
    found = row.default if value is None else row.check(value, name)
    entry.pop(field, None)
    if field == "class_names":
        words = [word.strip() for word in str(found).split(",") if word.strip()]
        if words:
            entry[field] = list(words)
    elif field == "normalization" or found != row.default:
        entry[field] = row.plain(found)
    table[name] = _short(entry, key)
    return {**reference, side: table}


def is_end_option(name: str) -> bool:
    """Whether `with_end_option` changes it."""
    return ":" in name


def _normalization(name: str) -> Option[Any]:
    return choice(
        f"How raw values of the input {name} are scaled, by statistics of the training part: "
        + ", ".join(f"{kind} ({what})" for kind, what in NORMALIZATIONS.items()) + ".", *KINDS,
        label=name,
    ).named(f"normalization:{name}")  # fmt: skip


def _task(name: str) -> Option[Any]:
    return choice(
        f"Whether the output {name} has classes or numbers; automatic goes by the type: whole "
        "numbers and text are classes.", AUTO, "classes", "regression", label=f"{name} task",
    ).named(f"task:{name}")  # fmt: skip


def _class_names(name: str) -> Option[Any]:
    doc = f"Names of the classes of the output {name} in order, with commas between."
    return class_names_option(doc, f"{name} names").named(f"class_names:{name}")


# -- entries ----------------------------------------------------------------------------------


def _only(parts: Iterable[SourcePart]) -> SourcePart | None:
    found = list(parts)
    return found[0] if len(found) == 1 else None


def _table(reference: Mapping[str, Plain], side: Side) -> dict[str, Plain]:
    given = reference.get(side)
    return dict(given) if isinstance(given, Mapping) else {}


def _entry(data: Mapping[str, Plain], side: Side, name: str) -> dict[str, Plain]:
    key = BY_NAME[str(data["source"])]
    return _fields(name, _table(data, side).get(name), key)


def _fields(name: str, entry: object, key: str) -> dict[str, Plain]:
    """An entry with every option by name, however short it was written."""
    if isinstance(entry, Mapping):
        return {key: name, **entry} if key not in entry and key != "columns" else dict(entry)
    return {} if entry is None else {key: entry}  # type: ignore[dict-item]


def _short(entry: dict[str, Plain], key: str) -> Plain:
    """An entry as briefly as it can be written."""
    return entry[key] if set(entry) == {key} else entry


def _keys(name: str, entry: object, key: str) -> tuple[str, ...]:
    found = _fields(name, entry, key).get(key)
    if isinstance(found, list | tuple):
        return tuple(map(str, found))
    return () if found is None else (str(found),)
