"""Ways through a program: find text, go to an index, a register or a name."""

from __future__ import annotations

import re
from typing import NamedTuple

from studio.engine.core.errors import ParameterError
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.tensor import Ref
from studio.session.listing.labels import Labels
from studio.session.listing.rows import ProgramRows

_INDEX = re.compile(r"[i#]?(\d{1,9})\Z")
_REGISTER = re.compile(r"0x([0-9a-f]{1,8})(\.grad)?\Z")


class Place(NamedTuple):
    """Where a search leads: a row, and the register that was meant, if one was."""

    row: int
    ref: Ref | None = None


def find_rows(rows: ProgramRows, query: str, labels: Labels | None = None) -> tuple[int, ...]:
    """Rows whose line, layers or names of tensors contain a text, whatever its case.

    Args:
        rows: the program.
        query: what is looked for.
        labels: what a person calls registers and says of instructions is looked through too.
    """
    wanted = query.casefold().strip()
    if not wanted:
        return ()
    tensors = {
        tensor.id for tensor in rows.program.tensors.values() if wanted in tensor.name.casefold()
    }
    said: set[int] = set()
    if labels is not None:
        tensors |= {ref.id for ref, name in labels.names.items() if wanted in name.casefold()}
        said = {i for i in labels.commented if wanted in labels.comment(i).casefold()}
    return tuple(
        index
        for index in range(len(rows))
        if index in said
        or wanted in rows.text(index).casefold()
        or _is_named(rows, index, wanted, tensors)
    )


def _is_named(rows: ProgramRows, index: int, wanted: str, tensors: set[int]) -> bool:
    if tensors and any(ref.id in tensors for ref in rows.instruction(index).operands):
        return True
    owners = rows.owners(index)
    return any(wanted in rows.name_of(owner).casefold() for owner in owners)


def go_to(rows: ProgramRows, text: str, start: int = -1, labels: Labels | None = None) -> Place:
    """Where a typed text leads.

    Args:
        rows: the program.
        text: an index (``42``, ``i42``, ``#42``), a register (``0x1f``), the name of a layer or
            tensor, or a mnemonic.
        start: the row the caret is in; of several instructions the next one behind it is meant.
        labels: names a person gave to registers lead there too.

    Raises:
        ParameterError: nothing is called so; near names are the hint.
    """
    word = text.strip()
    if not word:
        raise ParameterError("expected an index, a register or a name", who="go to")
    if match := _INDEX.match(word.lower()):
        return _at_index(rows, int(match[1]))
    if match := _REGISTER.match(word.lower()):
        return _at_register(rows, Ref(int(match[1], 16), bool(match[2])))
    called = None if labels is None else labels.named(word)
    if called is not None:
        return _at_register(rows, called)
    name = word.removesuffix(".grad")
    if rows.program.tensors.has_name(name):
        tensor = rows.program.tensors.named(name)
        return _at_register(rows, Ref(tensor.id, name != word))
    owner = next((o for o in rows.all_owners if rows.name_of(o) == word), word)
    hits = rows.rows_of(owner) or tuple(
        i for i in range(len(rows)) if rows.mnemonic(i) == word.upper()
    )
    if hits:
        return Place(next((i for i in hits if i > start), hits[0]))
    raise ParameterError(
        f"nothing is named {word[:40]!r}", who="go to", hint=_near_names(rows, word)
    )


def _at_index(rows: ProgramRows, index: int) -> Place:
    if index >= len(rows):
        last = f"the last one is {len(rows) - 1}" if len(rows) else "there is none"
        raise ParameterError(f"there is no instruction {index}: {last}", who="go to")
    return Place(index)


def _at_register(rows: ProgramRows, ref: Ref) -> Place:
    if ref.id not in rows.program.tensors:
        raise ParameterError(f"there is no register {ref}", who="go to")
    producer = rows.producer(ref)
    if producer is not None:
        return Place(producer, ref)
    uses = rows.uses(ref)
    if uses:
        return Place(uses[0].row, ref)
    name = rows.program.tensor(ref).name
    raise ParameterError(f"no instruction touches {ref} ({name})", who="go to")


def _near_names(rows: ProgramRows, word: str) -> str:
    names = [
        *map(rows.name_of, rows.all_owners),
        *(t.name for t in rows.program.tensors.values()),
        *rows.opcodes,
    ]
    return did_you_mean(word, names)
