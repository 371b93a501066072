"""How many threads BLAS takes for a program: small products are slower, not faster, on several."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

from studio.engine.isa.ops.linear import Linear, MatMul
from studio.engine.isa.program import Program

WORTH_SHARING = 50_000_000
"""Operations of one product from which a second thread pays.

Below it the threads wait for one another longer than they work, and when another process holds a
core they wait for its time slice: a small CNN took seven times as long on two threads of a busy
two-core machine as on one. Convolutions do not count: they are cut into products that fit the
cache.
"""


def shares_work(program: Program, batch: int, rows: int) -> bool:
    """Whether some product of a program is large enough for all BLAS threads."""
    of = program.bound(batch, rows)
    products = (ins for ins in program if isinstance(ins, Linear | MatMul))
    return any(ins.flops(of) >= WORTH_SHARING for ins in products)


@contextmanager
def blas_threads(many: bool) -> Iterator[None]:
    """Run with BLAS on one thread, unless ``many`` leaves it as it is."""
    if many:
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    # Looking through the loaded libraries takes milliseconds; it is done once.
    return ThreadpoolController()
