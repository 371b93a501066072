"""What a session cannot hold and an executable cannot give is refused in one voice everywhere."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import ABSENT, BATCH, ROWS, Ref, Role, Tensor
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops.activation import Relu
from studio.engine.isa.ops.function import Exp
from studio.engine.isa.ops.group import End, Fuse
from studio.engine.isa.program import Program
from studio.engine.runtime.backend import Backend

DATA = Tensor(0, "data/x", (ROWS, 2), role=Role.DATA)


def test_a_session_keeps_what_it_holds_unless_it_is_data(backend: Backend) -> None:
    session = backend.open_session()
    kernel = Tensor(0, "kernel", (2, 3), role=Role.PARAM)
    session.ensure([kernel])
    session.write("kernel", np.ones((2, 3), np.float32))
    for changed in ({"shape": (3, 2)}, {"dtype": DType.int32}):
        with pytest.raises(BackendError, match=r"holds float32\[2,3\]: expected"):
            session.ensure([kernel.replace(**changed)])
    assert (session.read("kernel").result(timeout=60) == 1).all()
    session.ensure([DATA], rows=3)
    session.write("data/x", np.ones((3, 2), np.float32))
    for rows in (0, 3):
        session.ensure([DATA], rows=rows)
        assert (session.read("data/x").result(timeout=60) == 1).all()
    session.ensure([DATA], rows=5)
    fresh = session.read("data/x").result(timeout=60)
    assert fresh.shape == (5, 2)
    assert not fresh.any()
    session.close()


def test_a_tensor_without_a_length_is_refused_and_nothing_is_lost(backend: Backend) -> None:
    session = backend.open_session()
    with pytest.raises(BackendError, match=r"rows of .* must be given: got 0"):
        session.ensure([DATA])
    with pytest.raises(BackendError, match="no batch dimension"):
        session.ensure([Tensor(0, "kernel", (BATCH, 2), role=Role.PARAM)])
    assert session.names() == ()
    session.close()


def chain() -> Program:
    """Four lines whose middle results share storage, then two fused ones."""
    b = ProgramBuilder("chain", "infer")
    x = b.tensor("x", (BATCH, 64), role=Role.INPUT)
    y = x
    for name in ("first", "second", "third", "fourth"):
        z = b.tensor(name, (BATCH, 64))
        b.append("forward", Exp(x=y, y=z))
        y = z
    inside = b.tensor("inside", (BATCH, 64), register=True)
    last, unused = b.tensor("last", (BATCH, 64)), b.tensor("unused", (BATCH, 64))
    for ins in (Fuse(kind="chain"), Exp(x=y, y=inside), Relu(x=inside, y=last), End()):
        b.append("forward", ins)
    assert unused.id == 7
    return b.finish((x,), (last,))


@pytest.mark.parametrize(
    ("ref", "words"),
    [
        (Ref(1), "first.*gave its storage to another tensor"),
        (Ref(5), "inside.*only inside a fused kernel"),
        (Ref(7), "unused.*no instruction touches its data"),
        (Ref(1, grad=True), "first.*no instruction touches its gradient"),
        (Ref(99), "0x63 is not in the program"),
        (ABSENT, "is no tensor"),
    ],
)
def test_what_is_not_there_at_the_end_is_not_fetched(
    backend: Backend, ref: Ref, words: str
) -> None:
    program = chain()
    session = backend.open_session()
    executable = backend.compile(program, session, 2)
    executable.feed(0, np.zeros((2, 64), np.float32))
    executable.run()
    with pytest.raises(BackendError, match=words):
        executable.fetch(ref).result(timeout=60)
    assert executable.fetch(Ref(6)).result(timeout=60).shape == (2, 64)
    executable.close()
    session.close()
