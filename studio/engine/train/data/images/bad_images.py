"""Pictures that cannot be read, and what the project says becomes of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from studio.engine.core.errors import DataError
from studio.engine.train.data.cleaning import MOST_PLACES, CleanedPlace, Cleaning, Policy


class BadImages:
    """Collects the pictures that are left out.

    Args:
        policy: whether they are.

    Attributes:
        paths: the files that are left out.
    """

    def __init__(self, policy: Policy, noun: str = "image") -> None:
        self.skips = policy == "skip"
        self.paths: set[Path] = set()
        self._noun = noun
        self._places: list[CleanedPlace] = []

    def add(self, error: DataError, *paths: Path) -> None:
        """Leave out these files, which belong together; raises the error where none are."""
        if not self.skips:
            raise error
        self.paths.update(paths)
        self._places.append(CleanedPlace(error.who, 0, "", error.message, "skipped"))

    @contextmanager
    def skipping(self, *paths: Path) -> Iterator[None]:
        """Leave out these files, which belong together, where reading one is refused."""
        try:
            yield
        except DataError as error:
            self.add(error, *paths)

    def cleaning(self) -> Cleaning:
        """What was left out."""
        places = tuple(self._places[:MOST_PLACES])
        return Cleaning(skipped=len(self._places), noun=self._noun, places=places)
