"""Sound programs pass; a program with one planted fault is refused for that fault."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from studio.engine.autodiff.differentiate import differentiate
from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.target import CPU
from studio.engine.compiler.verify import breaches, verify
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import VerifyError
from studio.engine.core.tensor import BATCH, Role, Tensor, TensorMap
from studio.engine.isa.line import parse_line
from studio.engine.isa.program import Program
from tests.engine.compiler.networks import NETWORKS

N4 = (BATCH, 4)
LINES: dict[str, tuple[str, ...]] = {
    "forward": (
        "LINEAR 0x1 0x2 0x0 0x3",
        "FUSE {kind=chain}",
        "RELU 0x3 0x4",
        "SCALE 0x4 0x5 2",
        "END",
        "SIGMOID 0x6 0x7",
    ),
    "loss": ("LOSS_MSE 0x7 0x8 0x9",),
    "backward": (
        "FILL 0x9.grad 1",
        "GRADS_LOSS_MSE 0x7 0x8 0x9 {set=p}",
        "ZERO 0x5.grad",
        "GRADS_SIGMOID 0x6 0x7",
        "ZERO 0x4.grad",
        "GRADS_SCALE 0x4 0x5 2",
        "GRADS_RELU 0x3 0x4 {set=x}",
        "GRADS_LINEAR 0x1 0x2 0x0 0x3 {set=w,b skip=x}",
    ),
    "update": (
        "FUSE {kind=update}",
        "UPDATE_SGD 0x1 0x1.grad 0xa 0xb",
        "UPDATE_SGD 0x2 0x2.grad 0xa 0xb",
        "END",
        "BEGIN_UPDATE 0xa",
    ),
}


def tensors() -> dict[int, Tensor]:
    listed = [
        Tensor(0, "x", N4, role=Role.INPUT),
        Tensor(1, "w", (4, 4), role=Role.PARAM, trainable=True),
        Tensor(2, "b", (4,), role=Role.PARAM, trainable=True),
        Tensor(3, "pre", N4),
        Tensor(4, "act", N4),
        Tensor(5, "scaled", N4),
        Tensor(6, "view", (BATCH, 2, 2), view_of=5),
        Tensor(7, "y", (BATCH, 2, 2)),
        Tensor(8, "t", (BATCH, 2, 2), role=Role.TARGET),
        Tensor(9, "loss", ()),
        Tensor(10, "step", (8,), DType.int32, Role.STEP),
        Tensor(11, "rates", (4,), role=Role.STEP),
        Tensor(12, "one", (), role=Role.CONST, value=(1.0,)),
    ]
    return {t.id: t for t in listed}


def program(
    lines: dict[str, tuple[str, ...]] | None = None,
    changed: dict[int, dict[str, object]] | None = None,
    extra: tuple[Tensor, ...] = (),
    inputs: tuple[int, ...] = (0, 8),
    outputs: tuple[int, ...] = (7,),
) -> Program:
    found = tensors()
    for key, change in (changed or {}).items():
        found[key] = found[key].replace(**change)
    found |= {t.id: t for t in extra}
    sections = {
        name: tuple(parse_line(text) for text in texts)
        for name, texts in {**LINES, **(lines or {})}.items()
    }
    return Program("p", "train", TensorMap(found.values()), sections, inputs, outputs)


def replaced(section: str, old: str, *new: str) -> dict[str, tuple[str, ...]]:
    """The lines with one of them replaced by others."""
    assert old in LINES[section]
    at = LINES[section].index(old)
    return {section: (*LINES[section][:at], *new, *LINES[section][at + 1 :])}


def with_attribute(name: str, value: object) -> Program:
    """A program with a CLIP_VALUE whose attribute no constructor would let pass."""
    made = program({"update": ("CLIP_VALUE 0x1.grad 1", *LINES["update"])})
    line = made.section("update")[0]
    line._attrs = {**line.attrs, name: value}
    return made


NORMALISATION = "BATCHNORM 0x3 0xf 0x- 0x- 0xd 0xe 0.001 0.1"
SUMS = "COLUMN_PRODUCTS 0xf.grad 0x3 0xd.grad 0x12"


def normalised(stats: str = "COLUMN_STATS 0x3 0x11", *products: str) -> Program:
    """The program with a normalisation of the dense layer by sums that other lines made."""
    lines = replaced("backward", "FILL 0x9.grad 1", "FILL 0x9.grad 1", "FILL 0x10.grad 1",
                     "GRADS_SCALE 0xf 0x10 2 {set=x}", *(products or (SUMS,)),
                     f"GRADS_{NORMALISATION} {{stats=0x12 set=x}}")  # fmt: skip
    lines["backward"] = tuple(
        line.replace(" {set=x}", "") if line.startswith("GRADS_RELU") else line
        for line in lines["backward"]
    )
    lines["forward"] = (*LINES["forward"], stats, f"{NORMALISATION} {{stats=0x11}}",
                        "SCALE 0xf 0x10 2")  # fmt: skip
    state = [Tensor(13 + k, name, (4,), role=Role.STATE) for k, name in enumerate(("mean", "var"))]
    results = [Tensor(15, "normalised", N4), Tensor(16, "twice", N4)]
    sums = [Tensor(17 + k, name, (2, 4), partial=True) for k, name in enumerate(("s", "ds"))]
    return program(lines, extra=(*state, *results, *sums))


FAULTS: dict[str, tuple[Callable[[], Program], str, str]] = {
    "an operand that is no tensor": (
        lambda: program(replaced("forward", "SIGMOID 0x6 0x7", "SIGMOID 0x6 0x7", "RELU 0x6 0x77")),
        "operands are tensors", "line 6",
    ),
    "a section of another name": (
        lambda: program({"later": ()}), "sections are", "tensor map",
    ),
    "an output that is no tensor": (
        lambda: program(outputs=(99,)), "outputs are tensors", "tensor map",
    ),
    "an input that is no tensor": (
        lambda: program(inputs=(0, 8, 99)), "inputs are tensors", "tensor map",
    ),
    "a view without a base": (
        lambda: program(changed={6: {"view_of": 99}}), "a view's base exists", "tensor map",
    ),
    "views in a circle": (
        lambda: program(changed={5: {"view_of": 6}}), "views end at a storage", "tensor map",
    ),
    "a view of another size": (
        lambda: program(changed={6: {"shape": (BATCH, 2, 3)}}),
        "a view has the elements of its base", "tensor map",
    ),
    "a padded view": (
        lambda: program(changed={6: {"pad": ((0, 0), (1, 1), (0, 0))}}),
        "view class are dense", "tensor map",
    ),
    "a padded base of a view": (
        lambda: program(changed={5: {"pad": ((0, 0), (1, 1))}}),
        "view class are dense", "tensor map",
    ),
    "a halo for some dimensions": (
        lambda: program(changed={3: {"pad": ((0, 0),)}}), "a halo has two counts", "tensor map",
    ),
    "a halo round the batch": (
        lambda: program(changed={3: {"pad": ((1, 0), (0, 0))}}), "batch dimension", "tensor map",
    ),
    "a constant that is too short": (
        lambda: program(changed={12: {"value": ()}}), "a value for every element", "tensor map",
    ),
    "an output in a register": (
        lambda: program(changed={7: {"register": True}}), "kept, fed or fetched", "tensor map",
    ),
    "a partial parameter": (
        lambda: program(changed={1: {"partial": True}}), "a partial tensor is", "tensor map",
    ),
    "a partial input": (
        lambda: program(changed={0: {"partial": True}}), "a partial tensor is", "tensor map",
    ),
    "a partial output": (
        lambda: program(changed={7: {"partial": True}}), "a partial tensor is", "tensor map",
    ),
    "a partial register": (
        lambda: program(changed={3: {"partial": True, "register": True}}),
        "a partial tensor is", "tensor map",
    ),
    "a partial tensor with a halo": (
        lambda: program(changed={3: {"partial": True, "pad": ((0, 0), (1, 1))}}),
        "a partial tensor is", "tensor map",
    ),
    "a partial view": (
        lambda: program(changed={6: {"partial": True}}), "a partial tensor is", "tensor map",
    ),
    "a partial base of a view": (
        lambda: program(changed={5: {"partial": True}}), "a partial tensor is", "tensor map",
    ),
    "a number out of range": (
        lambda: with_attribute("limit", -1.0), "attributes are in range", "line 15",
    ),
    "a number that is not float32": (
        lambda: with_attribute("limit", 0.1), "stored form", "line 15",
    ),
    "shapes that do not fit": (
        lambda: program(changed={2: {"shape": (5,)}}), "operands fit", "line 0",
    ),
    "a result of another shape": (
        lambda: program(changed={3: {"shape": (BATCH, 5)}}), "inferred type float32[N,4]", "line 0",
    ),
    "a copy of the step block of another type": (
        lambda: program(
            replaced("update", "BEGIN_UPDATE 0xa", "BEGIN_UPDATE 0xa {now=0xd}"),
            extra=(Tensor(13, "now", (4,), DType.int32),),
        ),
        "inferred type int32[8]", "line 19",
    ),
    "a copy over another step block": (
        lambda: program(
            replaced("update", "BEGIN_UPDATE 0xa", "BEGIN_UPDATE 0xa {now=0xd}"),
            extra=(Tensor(13, "test/step", (8,), DType.int32, Role.STEP),),
        ),
        "persistent tensors are only changed in place", "line 19",
    ),
    "a copy read before it is made": (
        lambda: program(
            replaced("update", "BEGIN_UPDATE 0xa", "UPDATE_SGD 0x1 0x1.grad 0xd 0xb",
                     "BEGIN_UPDATE 0xa {now=0xd}"),
            extra=(Tensor(13, "now", (8,), DType.int32),),
        ),
        "written before it is read", "line 19",
    ),
    "a copy of the step block in its own place": (
        lambda: program(replaced("update", "BEGIN_UPDATE 0xa", "BEGIN_UPDATE 0xa {now=0xa}")),
        "persistent tensors are only changed in place", "line 19",
    ),
    "a step block of another type": (
        lambda: program(changed={10: {"dtype": DType.float32}}),
        "a step block is int32[8]", "line 16",
    ),
    "a result of another dtype": (
        lambda: program(changed={9: {"dtype": DType.int32}}), "inferred type float32[]", "line 6",
    ),
    "a slot of another shape": (
        lambda: program(
            replaced("update", "END", "END", "UPDATE_MOMENTUM 0x1 0x1.grad 0xa 0xb 0xd 0.9"),
            extra=(Tensor(13, "m", (4,), role=Role.SLOT),),
        ),
        "the parameter's type", "line 19",
    ),
    "a gradient instruction in the loss": (
        lambda: program({"loss": (*LINES["loss"], "GRADS_SIGMOID 0x6 0x7")}),
        "stand in backward", "line 7",
    ),
    "an update outside its section": (
        lambda: program({"metrics": ("UPDATE_SGD 0x1 0x1.grad 0xa 0xb",)}),
        "update section", "line 20",
    ),
    "a tensor read before it is written": (
        lambda: program(
            {"forward": (LINES["forward"][-1], *LINES["forward"][:-1])}
        ),
        "written before it is read", "line 0",
    ),
    "a fed tensor that is not fed": (
        lambda: program(inputs=(0,)), "written before it is read", "line 6",
    ),
    "a gradient read before it is written": (
        lambda: program(replaced("backward", "FILL 0x9.grad 1")),
        "written before it is read", "line 7",
    ),
    "an output that nothing writes": (
        lambda: program(outputs=(7, 13), extra=(Tensor(13, "lost", N4),)),
        "outputs are written", "tensor map",
    ),
    "data with two writers": (
        lambda: program(replaced("forward", "END", "END", "TANH 0x0 0x3")), "one writer", "line 5",
    ),
    "data with a second writer through a view": (
        lambda: program(replaced("forward", "END", "END", "TANH 0x6 0x6")), "one writer", "line 5",
    ),
    "a fed tensor written": (
        lambda: program(replaced("forward", "END", "END", "TANH 0x3 0x0")), "fed tensors", "line 5",
    ),
    "a parameter overwritten": (
        lambda: program({"metrics": ("ZERO 0x1",)}), "only changed in place", "line 20",
    ),
    "an activation changed in place": (
        lambda: program({"metrics": ("CLIP_VALUE 0x3 1",)}), "only persistent tensors", "line 20",
    ),
    "an accumulation into nothing": (
        lambda: program(replaced("backward", "ZERO 0x4.grad")), "cleared or set before", "line 11",
    ),
    "a gradient set after it was added to": (
        lambda: program(
            replaced("backward", "GRADS_SIGMOID 0x6 0x7", "GRADS_SIGMOID 0x6 0x7 {set=x}")
        ),
        "set only once", "line 10",
    ),
    "a gradient cleared after it was added to": (
        lambda: program(
            replaced("backward", "ZERO 0x4.grad", "ZERO 0x5.grad", "ZERO 0x4.grad")
        ),
        "set only once", "line 11",
    ),
    "a register used outside": (
        lambda: program(changed={5: {"register": True}}), "dense and stored", "tensor map",
    ),
    "a register read after its group": (
        lambda: program(
            replaced("forward", "END", "END", "TANH 0x4 0xd"),
            {4: {"register": True}}, (Tensor(13, "late", N4),),
        ),
        "lives inside one group", "line 5",
    ),
    "a register read before it is written": (
        lambda: program(
            {"forward": ("FUSE {kind=chain}", "SCALE 0x4 0x5 2", "RELU 0x0 0x4", "END",
                         "LINEAR 0x1 0x2 0x0 0x3", "SIGMOID 0x6 0x7")},
            {4: {"register": True}},
        ),
        "before it is read", "line 1",
    ),
    "a group that is not ended": (
        lambda: program(replaced("update", "END")), "has an END", "line 15",
    ),
    "a group that was not begun": (
        lambda: program(replaced("forward", "FUSE {kind=chain}")), "has a FUSE", "line 3",
    ),
    "a group in a group": (
        lambda: program(replaced("forward", "SCALE 0x4 0x5 2", "FUSE", "SCALE 0x4 0x5 2")),
        "do not nest", "line 3",
    ),
    "a group of one": (
        lambda: program(replaced("forward", "RELU 0x3 0x4", "END", "RELU 0x3 0x4",
                                 "FUSE {kind=chain}")),
        "at least two parts", "line 1",
    ),
    "a product in a chain": (
        lambda: program(
            {"forward": ("FUSE {kind=chain}", *LINES["forward"][:1], *LINES["forward"][2:])}
        ),
        "is element-wise", "line 1",
    ),
    "an epilogue without a producer": (
        lambda: program(replaced("forward", "FUSE {kind=chain}", "FUSE")),
        "follows a producer", "line 2",
    ),
    "a tail of another shape than its producer's": (
        lambda: program(
            {"forward": ("FUSE", LINES["forward"][0], "TANH 0xd 0xe", "END", "RELU 0x3 0x4",
                         "SCALE 0x4 0x5 2", "SIGMOID 0x6 0x7")},
            extra=(Tensor(13, "wide", (BATCH, 5), role=Role.INPUT), Tensor(14, "z", (BATCH, 5))),
            inputs=(0, 8, 13),
        ),
        "a tail has the shape [N,4]", "line 2",
    ),
    "a tail behind a gradient that is not wanted": (
        lambda: program(
            replaced("backward", "GRADS_LINEAR 0x1 0x2 0x0 0x3 {set=w,b skip=x}", "FUSE",
                     "GRADS_LINEAR 0x1 0x2 0x0 0x3 {set=w,b skip=x}", "TANH 0x0 0xd", "END"),
            extra=(Tensor(13, "z", N4),),
        ),
        "follows a producer", "line 15",
    ),
    "sums of another tensor": (
        lambda: normalised("COLUMN_STATS 0x0 0x11"), "stats are what COLUMN_STATS finds", "line 7",
    ),
    "sums for a gradient that are those of a tensor": (
        lambda: normalised("COLUMN_STATS 0x3 0x11", "COLUMN_STATS 0x3 0x12"),
        "stats are what COLUMN_PRODUCTS finds", "line 14",
    ),
    "sums of a gradient that is added to since": (
        lambda: normalised(
            "COLUMN_STATS 0x3 0x11", "COLUMN_PRODUCTS 0xf.grad 0x3 0xd.grad 0x12",
            "GRADS_SCALE 0xf 0x10 2",
        ),
        "stats are what COLUMN_PRODUCTS finds", "line 15",
    ),
    "updates that differ in one group": (
        lambda: program(
            replaced("update", "UPDATE_SGD 0x2 0x2.grad 0xa 0xb",
                     "UPDATE_SGD 0x2 0x2.grad 0xa 0xb {decay=0.5}")
        ),
        "all alike", "line 17",
    ),
}  # fmt: skip


def test_the_programs_faults_are_planted_in_are_sound() -> None:
    verify(program())
    verify(normalised())


def test_data_flow_orders_lines_of_sections_that_alternate() -> None:
    made = program(
        {"loss": (*LINES["loss"], "FUSE {kind=chain}", "SCALE 0x3 0xd 2", "END"),
         "metrics": ("RELU 0xd 0xe",)},
        extra=(Tensor(13, "scaled again", N4), Tensor(14, "act again", N4)),
    )  # fmt: skip
    tagged = [(section, ins) for section, _, ins in made.located()]
    seed, end, metric = tagged[10], tagged[9], tagged[-1]
    assert (seed[0], end[1].mnemonic, metric[0]) == ("backward", "END", "metrics")
    # The seed goes before the forward pass, and the metrics into a group of the loss.
    order = [seed, *tagged[:9], metric, ("metrics", end[1]), *tagged[11:-1]]
    verify(made.with_lines(order))
    for late, message in ((0, "cleared or set before|before it is read"), (1, "before it is read")):
        wrong = [line for place, line in enumerate(order) if place != late]
        with pytest.raises(VerifyError, match=message):
            verify(made.with_lines([*wrong, order[late]]))
    for begin, last in (("loss", "loss"), ("metrics", "metrics")):
        wrong = [*order[:8], (begin, order[8][1]), *order[9:11], (last, end[1]), *order[12:]]
        with pytest.raises(VerifyError, match=f"first part.*they are in {begin} and {last}"):
            verify(made.with_lines(wrong))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught_for_what_it_is(fault: str) -> None:
    make, rule, place = FAULTS[fault]
    faulty = make()
    with pytest.raises(VerifyError) as caught:
        verify(faulty, after="my_pass")
    assert rule in caught.value.message
    assert caught.value.origin.startswith(place)
    assert caught.value.who == "after my_pass"


def with_owners(*first: str) -> Program:
    """The program with owners everywhere; those of the first line are given."""
    made = program().map_instructions(lambda ins: ins.replace(owners=("dense",)))
    line, *rest = made.section("forward")
    return made.with_sections(forward=(line.replace(owners=first), *rest))


@pytest.mark.parametrize(
    ("owners", "rule"),
    [
        ((), "every instruction has an owner"),
        (("",), "owners have names"),
        (("dense", " "), "owners have names"),
        (("dense", "dense"), "each owner once"),
    ],
)
def test_a_line_that_belongs_to_nobody_is_caught(owners: tuple[str, ...], rule: str) -> None:
    verify(with_owners("dense"), owned=True)
    with pytest.raises(VerifyError) as caught:
        verify(with_owners(*owners), after="my_pass", owned=True)
    assert rule in caught.value.message
    assert caught.value.origin.startswith("line 0")


def test_hand_written_lines_need_no_owner_but_owners_have_names() -> None:
    verify(with_owners())
    with pytest.raises(VerifyError, match="owners have names"):
        verify(with_owners(""))


def test_the_pipeline_names_the_step_that_lost_an_owner() -> None:
    def orphaned(made: Program) -> Program:
        return made.with_sections(
            forward=tuple(ins.replace(owners=()) for ins in made.section("forward"))
        )

    with pytest.raises(VerifyError, match=r"\[after emit_updates\] every instruction has an owner"):
        compile_program(NETWORKS["mlp"](), CPU, emit_updates=orphaned, verify=True)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("mode", ["train", "infer"])
def test_networks_and_their_gradients_are_sound(name: str, mode: str) -> None:
    plain = NETWORKS[name](mode)
    assert list(breaches(plain)) == []
    if mode == "train":
        for prune in (True, False):
            assert list(breaches(differentiate(plain, prune=prune))) == []


def test_one_operand_may_set_what_the_next_adds_to() -> None:
    lines = {
        "forward": (*LINES["forward"][:4], "END", "ADD 0x6 0x6 0x7 1 1"),
        "backward": (*LINES["backward"][:2], "GRADS_ADD 0x6 0x6 0x7 1 1 {set=x1}",
                     *LINES["backward"][4:]),
    }  # fmt: skip
    verify(program(lines))
    lines["backward"] = tuple(x.replace("{set=x1}", "{set=x1,x2}") for x in lines["backward"])
    with pytest.raises(VerifyError, match="set only once"):
        verify(program(lines))
