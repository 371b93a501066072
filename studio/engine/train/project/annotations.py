"""What a person wrote on the listing of a project's program: names for tensors, and comments.

Kept in the project file and by keys that outlive a compile; nothing that runs depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from studio.engine.core.errors import FormatError, ParameterError, quoted
from studio.engine.core.options import Plain

MAX_ALIAS = 60
MAX_COMMENT = 500
MAX_ENTRIES = 10_000
MAX_KEY = 1000
GRADIENT = ".grad"
"""Ends the key of a gradient, and what it is called where only its tensor has a name."""

_ALIAS = re.compile(r"[^\W\d][\w./:+-]*\Z")
_FIELDS = ("aliases", "comments")


@dataclass(frozen=True)
class Annotations:
    """Names and comments.

    Attributes:
        aliases: what a person calls tensors, by the name of the tensor (``.grad`` for gradients).
        comments: what a person says of instructions, by their key.
    """

    aliases: Mapping[str, str] = field(default_factory=dict)
    comments: Mapping[str, str] = field(default_factory=dict)

    def alias_of(self, key: str) -> str:
        """What a tensor is called; a gradient without a name of its own after its tensor."""
        own = self.aliases.get(key, "")
        if own or not key.endswith(GRADIENT):
            return own
        tensor = self.aliases.get(key.removesuffix(GRADIENT), "")
        return tensor and f"{tensor}{GRADIENT}"

    def to_json(self) -> dict[str, Plain]:
        """Plain data; empty for nothing."""
        parts = {"aliases": self.aliases, "comments": self.comments}
        return {name: dict(part) for name, part in parts.items() if part}


NO_ANNOTATIONS = Annotations()


def annotations_from_json(value: object) -> Annotations:
    """The annotations `Annotations.to_json` described.

    Raises:
        FormatError: the data is not of that form.
        ParameterError: a name or a comment that is not allowed.
    """
    if not isinstance(value, Mapping):
        raise FormatError(f"expected an object, got {quoted(value)}", who="annotations")
    unknown = sorted(str(key) for key in value if key not in _FIELDS)
    if unknown:
        raise FormatError(f"unknown field {quoted(unknown[0])}", who="annotations")
    aliases = {k: check_alias(v) for k, v in _texts(value, "aliases").items()}
    taken: dict[str, str] = {}
    for key, alias in aliases.items():
        if taken.setdefault(alias, key) != key:
            raise FormatError(f"two tensors are called {quoted(alias)}", who="annotations")
    return Annotations(aliases, {k: check_comment(v) for k, v in _texts(value, "comments").items()})


def check_alias(text: str) -> str:
    """A name a tensor may be given; ParameterError for any other.

    It begins with a letter, so that it is no index and no register, and holds no space.
    """
    if len(text) > MAX_ALIAS or not _ALIAS.match(text):
        raise ParameterError(
            f"expected a letter and up to {MAX_ALIAS - 1} letters, digits or . / : + - _",
            who="name",
        )
    if text.endswith(GRADIENT):
        raise ParameterError(f"{GRADIENT} at the end is kept for gradients", who="name")
    return text


def check_comment(text: str) -> str:
    """A comment on an instruction, one line; ParameterError for anything else."""
    if not 0 < len(text) <= MAX_COMMENT or not text.isprintable():
        raise ParameterError(f"expected one line of 1 to {MAX_COMMENT} characters", who="comment")
    return text


def _texts(value: Mapping[str, object], name: str) -> dict[str, str]:
    part = value.get(name, {})
    if not isinstance(part, Mapping) or len(part) > MAX_ENTRIES:
        raise FormatError(f"expected an object of at most {MAX_ENTRIES} texts", who=name)
    found: dict[str, str] = {}
    for key, text in part.items():
        if not isinstance(key, str) or len(key) > MAX_KEY or not isinstance(text, str):
            raise FormatError(f"expected a text, got {quoted(text)}", who=name)
        found[key] = text
    return found
