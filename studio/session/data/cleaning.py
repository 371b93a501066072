"""What becomes of bad rows, cells and pictures, and of columns of text; each choice undoable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from studio.engine.core.options import Plain
from studio.engine.train.data.cleaning import NOTHING_CLEANED, Cleaning
from studio.engine.train.data.input_columns import ENCODINGS
from studio.engine.train.data.references import CLEANING, OPTIONS
from studio.session.data.problems import BadKind
from studio.session.data.sources import reference_of

if TYPE_CHECKING:
    from studio.session.data.data import DataModel

ColumnUse: TypeAlias = Literal["numbers", "one-hot", "index"]

USES: Mapping[ColumnUse, str] = {
    "numbers": "Numbers",
    "one-hot": "Categories, one-hot",
    "index": "Categories, index",
}
"""What a column of a table can be read as, with its name for people."""

FILLS: Mapping[str, tuple[str, Plain]] = {
    "the mean": ("mean", "mean"),
    "the median": ("median", "median"),
    "the most frequent value": ("most frequent", "most frequent"),
    "0": ("0", 0),
}
"""What bad numbers can be filled with: what it is called, its short name, and how it is stored."""


class DataCleaning:
    """Chooses what is skipped and filled, and which columns hold categories.

    Args:
        data: the data of the project.
    """

    def __init__(self, data: DataModel) -> None:
        self._data = data

    @property
    def done(self) -> Cleaning:
        """What was left out or filled in when the data was read."""
        dataset = self._data.dataset
        return NOTHING_CLEANED if dataset is None else dataset.cleaning

    @property
    def summary(self) -> str:
        """How much was left out and filled in, in one line; empty for nothing."""
        done, found = self.done, []
        for count, noun, verb in (
            (done.skipped, done.noun, "skipped"),
            (done.filled, "cell", "filled"),
            (done.unknown, "unknown category" if done.unknown == 1 else "unknown categorie",
             "became zeros"),
        ):  # fmt: skip
            if count:
                found.append(f"{count:,} {noun}{'' if count == 1 else 's'} {verb}")
        return ", ".join(found)

    def skip(self) -> None:
        """Leave out every row or picture that cannot be read; one undo step."""
        reference = reference_of(self._data.data)
        key = "bad_rows" if "bad_rows" in OPTIONS[str(reference["source"])] else "bad_images"
        text = self._data.problems.skip_text or "Skip what cannot be read"
        self._data.attach({**reference, key: "skip"}, text)

    def fill(self, kind: BadKind, with_what: str) -> None:
        """Fill the bad cells of a kind that were found; one undo step.

        Args:
            kind: of numbers or of categories.
            with_what: one of `FILLS`; categories are filled with the most frequent one.
        """
        problems = self._data.problems
        if not problems.columns_of(kind):
            return
        rule: Plain = "most frequent" if kind == "category" else FILLS[with_what][1]
        reference = reference_of(self._data.data)
        given = reference.get("fill")
        fill = dict(given) if isinstance(given, dict) else {}
        fill |= dict.fromkeys(problems.columns_of(kind), rule)
        what = "the most frequent category" if kind == "category" else with_what
        text = f"Fill {problems.cells_text(kind)} with {what}"
        self._data.attach({**reference, "fill": fill}, text)

    def refuse(self) -> None:
        """Leave out and fill in nothing any more; one undo step."""
        reference = reference_of(self._data.data)
        kept = {key: value for key, value in reference.items() if key not in CLEANING}
        if kept != reference:
            self._data.attach(kept, "Refuse what cannot be read")

    # -- columns of categories ------------------------------------------------------------------

    def use_of(self, column: str) -> ColumnUse:
        """What a column of the table is read as."""
        given = self._categories().get(column)
        if given is None:
            return "numbers"
        encoding = given.get("encoding", ENCODINGS[0]) if isinstance(given, dict) else given
        return "index" if encoding == "index" else "one-hot"

    def use_as(self, columns: Sequence[str], use: ColumnUse) -> None:
        """Read columns of the table as numbers or categories; one undo step."""
        reference = reference_of(self._data.data)
        given = self._categories()
        for column in columns:
            if use == "numbers":
                given.pop(column, None)
            elif isinstance(found := given.get(column), dict):
                given[column] = {**found, "encoding": use}
            else:
                given[column] = use
        fill, dropped = reference.get("fill"), reference.get("drop")
        if isinstance(fill, dict):
            # A rule for numbers is none for categories, and the other way round.
            reference["fill"] = {k: v for k, v in fill.items() if k not in columns}
        if use != "numbers" and isinstance(dropped, list):
            reference["drop"] = [each for each in dropped if each not in columns]
        text = f"Read {', '.join(columns)} as {USES[use].lower()}"
        self._data.attach(self._with(reference, given), text)

    def fitting(self, reference: Mapping[str, Plain]) -> dict[str, Plain]:
        """A reference of a table without rules for columns that are no features any more.

        Columns of text among the features are read as categories.
        """
        features = self._features(reference)
        given = {name: each for name, each in self._categories().items() if name in features}
        for column in self._data.columns:
            if column.name in features and column.kind == "text":
                given.setdefault(column.name, ENCODINGS[0])
        made = self._with(reference, given)
        fill = made.pop("fill", None)
        kept = {k: v for k, v in fill.items() if k in features} if isinstance(fill, dict) else {}
        return {**made, "fill": kept} if kept else made

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Features whose cells are texts, but which are read as numbers."""
        reference = reference_of(self._data.data)
        if reference.get("source") == "columns":
            mapped = _mapped(reference)
            return tuple(
                part.key
                for part in self._data.parts
                if part.sample_shape is None
                and part.key in mapped
                and self.use_of(part.key) == "numbers"
            )
        features = self._features(reference)
        return tuple(
            column.name
            for column in self._data.columns
            if column.kind == "text"
            and column.name in features
            and self.use_of(column.name) == "numbers"
        )

    def _features(self, reference: Mapping[str, Plain]) -> set[str]:
        names = [column.name for column in self._data.columns]
        dropped, label = _listed(reference.get("drop")), _listed(reference.get("label"))
        gone = {_name(each, names) for each in (*dropped, *label)}
        if not label:
            gone |= set([name for name in names if name not in gone][-1:])
        return set(names) - gone

    def _categories(self) -> dict[str, Plain]:
        given = self._data.data.get("categories")
        return dict(given) if isinstance(given, dict) else {}

    @staticmethod
    def _with(reference: Mapping[str, Plain], given: dict[str, Plain]) -> dict[str, Plain]:
        made = {key: value for key, value in reference.items() if key != "categories"}
        for key in ("drop", "fill"):
            if not made.get(key, True):
                del made[key]
        return {**made, "categories": given} if given else made


def _mapped(reference: Mapping[str, Plain]) -> set[str]:
    """The columns that go to inputs of the network, by name."""
    table = reference.get("inputs")
    found: set[str] = set()
    for each in table.values() if isinstance(table, dict) else ():
        columns = each.get("columns") if isinstance(each, dict) else each
        found |= {name for name in _listed(columns) if isinstance(name, str)}
    return found


def _listed(value: Plain) -> list[Plain]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def _name(column: Plain, names: Sequence[str]) -> str:
    if isinstance(column, int) and names:
        return names[column % len(names)]
    return str(column)
