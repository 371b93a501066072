"""One worker on OpenGL, as a process: what ``test_opengl_workers.py`` starts several of."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from pathlib import Path

from studio.engine.compiler.passes import bucket_gradients
from studio.engine.core.errors import NumericError
from studio.engine.gl.device.entry_points import EntryPoints
from studio.engine.optim.optimizers import SGD, Adam
from studio.engine.scale.parallel.mpi_exchange import MpiExchange
from studio.engine.train.project.task import Task
from tests.engine.scale.parallel import test_profile
from tests.engine.scale.parallel.test_synchronized import digits, normalised
from tests.engine.scale.parallel.trained import train
from tests.engine.train.small_tasks import mlp, task


def made(way: str = "") -> Task:
    """What is trained."""
    if way in ("synchronized", "masked"):
        return digits(1, normalised(masked=way == "masked"))
    optimizer = Adam(0.01, global_clipnorm=0.5)
    return task(mlp(rate=0.3), epochs=3, batch_size=12, optimizer=optimizer)


def trained(exchange: MpiExchange, way: str = "") -> dict[str, object]:
    """All that a training ends with."""
    found = train(made(way), exchange, device="gl")
    result = found.result
    return {
        "weights": dict(found.weights), "history": result.history, "measured": found.measured,
        "steps": result.steps,
    }  # fmt: skip


def of_many_buckets(exchange: MpiExchange) -> dict[str, object]:
    """The same by small buckets, so that several are on their way at once."""
    bucket_gradients.BUCKET_BYTES = 40
    return trained(exchange)


def without_mapping(exchange: MpiExchange) -> dict[str, object]:
    """The same where the driver cannot keep memory mapped."""
    plain: Callable[..., None] = EntryPoints.__init__

    def limited(self: EntryPoints, load: Callable[[str], int]) -> None:
        plain(self, load)
        self.buffer_storage = None

    EntryPoints.__init__ = limited  # type: ignore[method-assign]
    return of_many_buckets(exchange)


def failed(exchange: MpiExchange) -> dict[str, object]:
    """Where a training ends that finds a loss that is no number."""
    made = task(mlp(), epochs=3, batch_size=12, optimizer=SGD(3e38))
    try:
        train(made, exchange, device="gl")
    except NumericError as error:
        return {"origin": error.origin}
    return {}


def synchronized(exchange: MpiExchange) -> dict[str, object]:
    """A network whose normalisations take the statistics of all rows."""
    return trained(exchange, "synchronized")


def masked(exchange: MpiExchange) -> dict[str, object]:
    """The same of rows that a mask leaves out."""
    return trained(exchange, "masked")


def profiled(exchange: MpiExchange) -> dict[str, object]:
    """Weights behind a profile that says all of exchanges."""
    bucket_gradients.BUCKET_BYTES = 40
    found = test_profile.profiled("gl", exchange)
    test_profile.require_exchanges(found.program, found.profile)
    return {"weights": dict(found.weights)}


WAYS: dict[str, Callable[[MpiExchange], dict[str, object]]] = {
    each.__name__: each
    for each in (
        trained, of_many_buckets, without_mapping, failed, synchronized, masked, profiled,
    )
}  # fmt: skip

if __name__ == "__main__":
    joined = MpiExchange()
    answer = WAYS[sys.argv[1]](joined)
    Path(sys.argv[2], str(joined.rank)).write_bytes(pickle.dumps(answer))
    joined.close()
