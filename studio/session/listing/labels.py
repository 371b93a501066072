"""What a person wrote on the listing, put into the rows: names for registers, comments behind."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from studio.engine.core.tensor import Ref
from studio.engine.train.project.annotations import GRADIENT, NO_ANNOTATIONS, Annotations
from studio.session.listing.line_spans import OperandSpan
from studio.session.listing.rows import ProgramRows

SIGN = "; "
"""Begins a comment behind a line, as in assemblers."""

GAP = 2
"""Characters between a line and its comment."""


class Labels:
    """The rows of a program as a person has labelled them; rows without labels stay as they are.

    Args:
        rows: the program.
        annotations: names by tensor, comments by instruction.
    """

    def __init__(self, rows: ProgramRows, annotations: Annotations = NO_ANNOTATIONS) -> None:
        self._rows = rows
        self._annotations = annotations
        self._made: dict[int, tuple[str, tuple[OperandSpan, ...]]] = {}

    @cached_property
    def names(self) -> Mapping[Ref, str]:
        """What registers are called, those of gradients after their tensors where not otherwise."""
        tensors, found = self._rows.program.tensors, {}
        for key in self._annotations.aliases:
            name = key.removesuffix(GRADIENT)
            if not tensors.has_name(name):
                continue
            ref = tensors.named(name).ref
            for each, word in ((ref, name), (ref.gradient, name + GRADIENT)):
                alias = self._annotations.alias_of(word)
                if alias:
                    found[each] = alias
        return found

    def named(self, alias: str) -> Ref | None:
        """The register the user gave a name."""
        return next((ref for ref, name in self.names.items() if name == alias), None)

    def text(self, index: int) -> str:
        """The line with names in the place of registers."""
        return self._labelled(index)[0]

    def spans(self, index: int) -> tuple[OperandSpan, ...]:
        """The registers in that text."""
        return self._labelled(index)[1]

    def comment(self, index: int) -> str:
        """The user's comment on the instruction; empty for none."""
        comments = self._annotations.comments
        return comments.get(self._rows.key(index), "") if comments else ""

    def tail(self, index: int) -> str:
        """What stands behind the line: its comment with the sign before it."""
        said = self.comment(index)
        return said and SIGN + said

    @cached_property
    def commented(self) -> tuple[int, ...]:
        """Rows with a comment, in program order."""
        found = map(self._rows.origins.index_of, self._annotations.comments)
        return tuple(sorted(index for index in found if index is not None))

    @cached_property
    def widest_operands(self) -> int:
        """Characters of the longest line behind its mnemonic, comment included."""
        rows = self._rows
        labelled = {use.row for ref in self.names for use in rows.uses(ref)}
        widths = [rows.widest_operands]
        for index in labelled.union(self.commented):
            tail = self.tail(index)
            width = len(self.text(index)) + (GAP + len(tail) if tail else 0)
            widths.append(width - len(rows.mnemonic(index)))
        return max(widths)

    def _labelled(self, index: int) -> tuple[str, tuple[OperandSpan, ...]]:
        made = self._made.get(index)
        if made is None:
            made = self._made[index] = self._with_names(index)
        return made

    def _with_names(self, index: int) -> tuple[str, tuple[OperandSpan, ...]]:
        text, spans = self._rows.text(index), self._rows.spans(index)
        if not any(span.ref in self.names for span in spans):
            return text, spans
        parts: list[str] = []
        moved: list[OperandSpan] = []
        place = length = 0
        for span in spans:
            word = self.names.get(span.ref) or text[span.start : span.end]
            parts += [text[place : span.start], word]
            length += span.start - place
            moved.append(span._replace(start=length, end=length + len(word)))
            length += len(word)
            place = span.end
        return "".join([*parts, text[place:]]), tuple(moved)
