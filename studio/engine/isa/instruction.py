"""The base of all instructions: what can be derived from a declaration is derived here."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, ClassVar, NamedTuple

from studio.engine.core.discovery import added, import_modules
from studio.engine.core.errors import ParameterError, quoted
from studio.engine.core.tensor import ABSENT, Ref, TensorType
from studio.engine.isa.fields import Access, Attr, Operand, names
from studio.engine.isa.meaning import (
    Activation,
    Meaning,
    check_activations,
    check_dtypes,
    read_meaning,
)

GRADIENT_OFFSET = 1000
"""A gradient instruction's opcode is its forward instruction's plus this."""

HOMES = ("studio.engine.isa.ops", "studio.engine.layers", "studio.engine.optim")
"""Packages whose modules declare instructions: a layer or loss may bring one of its own."""

TypeOf = Callable[[Ref], TensorType]

_BY_CODE: dict[int, type[Instruction]] = {}
_BY_MNEMONIC: dict[str, type[Instruction]] = {}


class Effects(NamedTuple):
    """The storages an instruction touches. ``accumulates`` is a subset of ``writes``."""

    reads: frozenset[Ref]
    writes: frozenset[Ref]
    accumulates: frozenset[Ref]


class Instruction:
    """One frozen line of a program.

    A subclass states ``code``, ``mnemonic`` and ``category`` on its class line and its operands and
    attributes as fields, in printing order. Its docstring is the manual entry: one line, then the
    formula, then behaviour at the edges. ``saves`` names the operands whose *data* the gradient
    instruction reads, besides the results that are declared ``kept``; a class without ``saves`` has
    no gradient of its own. ``since`` is the version of the file forms that has it.

    An element-wise instruction states ``formula``, how an element of its one result follows from
    those of its operands, and ``slopes``, what each operand's gradient gets (of ``dy``, ``y``,
    operands and attributes); these stand in place of ``saves``. An update states ``rule``
    instead, which may read ``lr`` and ``t``. `studio.engine.formula` describes the language;
    ``meaning`` is
    what was read. ``functions`` are the names under which layers know it as an activation.

    ``flat`` says that the result is constant but for jumps: there is no gradient instruction, and
    what stands before it gets the gradient 0.

    ``merges`` names operands that may have any number of leading dimensions, with the number of
    dimensions behind these; kernels see the leading ones as one.
    """

    code: ClassVar[int] = -1
    mnemonic: ClassVar[str] = ""
    category: ClassVar[str] = ""
    synopsis: ClassVar[str] = ""
    formula: ClassVar[str] = ""
    slopes: ClassVar[Mapping[str, str]] = {}
    flat: ClassVar[bool] = False
    rule: ClassVar[str] = ""
    meaning: ClassVar[Meaning | None] = None
    functions: ClassVar[Mapping[str, Activation]] = {}
    merges: ClassVar[Mapping[str, int]] = {}
    elementwise: ClassVar[bool] = False
    random: ClassVar[bool] = False
    since: ClassVar[int] = 1
    newer_operands: ClassVar[tuple[Operand, ...]] = ()
    newer_attrs: ClassVar[tuple[Attr[Any], ...]] = ()
    grad_class: ClassVar[type[GradInstruction] | None] = None
    operand_fields: ClassVar[tuple[Operand, ...]] = ()
    attr_fields: ClassVar[tuple[Attr[Any], ...]] = ()
    _names: ClassVar[Mapping[Access, tuple[str, ...]]] = dict.fromkeys(Access, ())
    _real: ClassVar[tuple[str, ...]] = ()

    __slots__ = ("_attrs", "_effects", "_operands", "owners")

    def __init_subclass__(
        cls,
        *,
        code: int = -1,
        mnemonic: str = "",
        category: str = "",
        saves: tuple[str, ...] | None = None,
        since: int = 1,
    ) -> None:
        super().__init_subclass__()
        if code < 0:
            if category:
                cls.category = category
            return
        fields = _fields_of(cls)
        cls.code, cls.mnemonic, cls.since = code, mnemonic, since
        cls.category = category or cls.category
        cls.operand_fields = tuple(f for f in fields if isinstance(f, Operand))
        cls.attr_fields = tuple(f for f in fields if isinstance(f, Attr))
        # Compilers ask every line for its effects again and again.
        cls._names = {
            access: tuple(f.name for f in cls.operand_fields if f.access is access)
            for access in Access
        }
        cls.newer_operands = tuple(f for f in cls.operand_fields if f.since > since)
        if not all(f.optional for f in cls.newer_operands):
            raise TypeError(f"{mnemonic}: operands newer than their class must be optional")
        cls.newer_attrs = tuple(f for f in cls.attr_fields if f.since > since)
        if not all(f.tail for f in cls.newer_attrs):
            raise TypeError(f"{mnemonic}: attributes newer than their class must be in the tail")
        if sum(f.variadic for f in cls.operand_fields) > 1:
            raise TypeError(f"{mnemonic}: at most one operand list")
        cls.meaning = read_meaning(mnemonic, fields, cls.formula, cls.slopes, cls.rule)
        check_activations(mnemonic, fields, cls.functions)
        if cls.meaning is not None and cls.meaning.slopes:
            if saves is not None:
                raise TypeError(f"{mnemonic}: slopes say what its gradient reads")
            saves = cls.meaning.saves
        if cls.meaning is not None and not _states(cls, "elementwise"):
            cls.elementwise = True
        kept = tuple(f.name for f in cls.operand_fields if f.kept)
        cls._real = tuple(name for name in cls._names[Access.WRITE] if name not in kept)
        if kept and saves is None and not issubclass(cls, GradInstruction):
            raise TypeError(f"{mnemonic}: {kept[0]} is kept for a gradient that it does not have")
        _register(cls)
        if saves is not None:
            cls.grad_class = _make_grad_class(cls, tuple(dict.fromkeys((*saves, *kept))))

    def __init__(self, *, owners: tuple[str, ...] = (), **fields: Any) -> None:
        operands = {
            spec.name: self._checked(spec, fields.pop(spec.name, ABSENT if spec.optional else None))
            for spec in self.operand_fields
        }
        attrs: dict[str, Any] = {
            # A default has its stored form.
            a.name: a.check(fields.pop(a.name), self.mnemonic) if a.name in fields else a.default
            for a in self.attr_fields
        }
        self._refuse_unknown(fields)
        self._settle(operands, attrs, owners)

    def _checked(self, spec: Operand, given: Any) -> tuple[Ref, ...]:
        if given is None:
            raise ParameterError(f"operand {spec.name!r} is missing", who=self.mnemonic)
        found = tuple(_as_ref(g) for g in given) if spec.variadic else (_as_ref(given),)
        if not found:
            raise ParameterError(f"operand list {spec.name!r} is empty", who=self.mnemonic)
        return found

    def _refuse_unknown(self, fields: Mapping[str, Any]) -> None:
        if fields:
            raise ParameterError(f"unknown field {quoted(next(iter(fields)))}", who=self.mnemonic)

    @classmethod
    def settled(
        cls,
        operands: dict[str, tuple[Ref, ...]],
        attrs: Mapping[str, Any],
        owners: tuple[str, ...] = (),
    ) -> Instruction:
        """An instruction of operands and attributes that were checked already.

        Args:
            operands: all operand fields in declared order.
            attrs: all attributes in declared order, in their stored form; may be shared.
            owners: the layers it came from.
        """
        made = object.__new__(cls)
        made._settle(operands, attrs, owners)
        return made

    def _settle(
        self,
        operands: dict[str, tuple[Ref, ...]],
        attrs: Mapping[str, Any],
        owners: tuple[str, ...],
    ) -> None:
        self._operands = operands
        self._attrs = attrs
        self._effects: Effects | None = None
        self.owners = owners

    # -- access ---------------------------------------------------------------------------------

    def ref(self, name: str) -> Ref:
        """The single operand of that field name."""
        return self._operands[name][0]

    def refs(self, name: str) -> tuple[Ref, ...]:
        """All operands of that field name (one, unless the field is a list)."""
        return self._operands[name]

    def value(self, name: str) -> Any:
        """The attribute of that name."""
        return self._attrs[name]

    @property
    def operands(self) -> tuple[Ref, ...]:
        """All operands in printing order."""
        return tuple(r for refs in self._operands.values() for r in refs)

    @property
    def attrs(self) -> Mapping[str, Any]:
        """Attributes by name, in declaration order."""
        return self._attrs

    def named_operands(self) -> Iterator[tuple[Operand, Ref]]:
        """Pairs of operand declaration and operand; lists yield one pair per operand."""
        for spec in self.operand_fields:
            for ref in self._operands[spec.name]:
                yield spec, ref

    def replace(self, **changes: Any) -> Instruction:
        """A copy with some operands, attributes or ``owners`` changed."""
        owners = changes.pop("owners", self.owners)
        operands = {
            spec.name: self._checked(spec, changes.pop(spec.name))
            if spec.name in changes
            else self._operands[spec.name]
            for spec in self.operand_fields
        }
        attrs = {
            a.name: a.check(changes.pop(a.name), self.mnemonic)
            if a.name in changes
            else self._attrs[a.name]
            for a in self.attr_fields
        }
        self._refuse_unknown(changes)
        return self.settled(operands, attrs, owners)

    def map_refs(self, change: Callable[[Ref], Ref]) -> Instruction:
        """A copy with every present operand passed through ``change``; itself if none changes."""
        operands = {
            name: tuple([change(r) if r.present else r for r in refs])
            for name, refs in self._operands.items()
        }
        if operands == self._operands:
            return self
        return self.settled(operands, self._attrs, self.owners)

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and isinstance(other, Instruction)
            and self._operands == other._operands
            and self._attrs == other._attrs
        )

    def __hash__(self) -> int:
        return hash((self.code, self.operands, tuple(self._attrs.values())))

    def __repr__(self) -> str:
        shown = " ".join(str(r) for r in self.operands)
        return f"<{self.mnemonic} {shown} {self._attrs}>"

    # -- meaning --------------------------------------------------------------------------------

    def results(self) -> tuple[Ref, ...]:
        """The written operands that may have a gradient: those present and not kept."""
        operands = self._operands
        return tuple([r for name in self._real for r in operands[name] if r.id >= 0])

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """Types of the written operands, in declared order and with those that are absent.

        Raises ShapeError when the reads do not fit.
        """
        return ()

    def types(self, of: TypeOf) -> tuple[TensorType, ...]:
        """As `infer`, behind a check that its formula takes operands of these dtypes.

        Raises:
            ShapeError: the shapes or types of what it reads do not fit.
            ParameterError: whole numbers meet what is made for floats.
        """
        found = self.infer(of)
        if self.meaning is not None:
            read = {s.name: r for s, r in self.named_operands() if s.access is not Access.WRITE}
            dtypes = {name: of(ref).dtype for name, ref in read.items() if ref.present}
            check_dtypes(self.meaning, self._attrs, dtypes, self.mnemonic)
        return found

    def merged(self, of: TypeOf) -> dict[int, int]:
        """Tensors whose leading dimensions kernels see as one, and the dimensions behind these.

        Those that have just one leading dimension are left out.
        """
        return {
            ref.id: behind
            for name, behind in self.merges.items()
            for ref in self._operands[name]
            if ref.present and len(of(ref).shape) > behind + 1
        }

    def types_since(self, of: TypeOf) -> int:
        """The version of the file forms that has operands of these types."""
        return 2 if self.merged(of) else 1

    def flops(self, of: TypeOf) -> int:
        """Arithmetic operations, with the symbols of ``of`` bound; default one per result."""
        return sum(of(ref).numel for ref in self._touched(Access.WRITE))

    def effects(self) -> Effects:
        """Storages read, written and accumulated into; found once, since compilers ask often."""
        if self._effects is None:
            self._effects = self._found_effects()
        return self._effects

    def _found_effects(self) -> Effects:
        """What ``effects`` says; where a class differs it says so here."""
        updated = self._touched(Access.UPDATE)
        return Effects(
            frozenset(self._touched(Access.READ) + updated),
            frozenset(self._touched(Access.WRITE) + updated),
            frozenset(),
        )

    def traffic(self, of: TypeOf) -> int:
        """Bytes read plus bytes written, each storage once per direction."""
        effects = self.effects()
        touched = [*effects.reads, *effects.writes]
        return sum(self.moved(r, of) * of(r).dtype.itemsize for r in touched)

    def moved(self, ref: Ref, of: TypeOf) -> int:
        """Elements of a storage that a run reads or writes; all, where a class says nothing else.

        Args:
            ref: a storage it touches.
            of: types with the symbols bound.
        """
        return of(ref).numel

    @classmethod
    def of_grad(cls, grad_ins: GradInstruction) -> Instruction:
        """The forward instruction a gradient instruction belongs to."""
        fields: dict[str, Any] = {
            spec.name: grad_ins.refs(spec.name) if spec.variadic else grad_ins.ref(spec.name)
            for spec in cls.operand_fields
        }
        fields.update({a.name: grad_ins.value(a.name) for a in cls.attr_fields})
        return cls(owners=grad_ins.owners, **fields)

    @classmethod
    def saved_statistics(cls, grad_ins: GradInstruction) -> frozenset[Ref]:
        """Storages the gradient reads besides dY and the operands named by ``saves``."""
        return frozenset()

    @classmethod
    def grad_flops(cls, grad_ins: GradInstruction, of: TypeOf) -> int:
        """Cost of the gradient: by default the forward cost once per gradient computed."""
        return cls.of_grad(grad_ins).flops(of) * max(1, len(grad_ins.targets()))

    def _touched(self, access: Access) -> tuple[Ref, ...]:
        operands = self._operands
        return tuple([r for name in self._names[access] for r in operands[name] if r.id >= 0])


class GradInstruction(Instruction):
    """A gradient instruction: same operands and scalars as its forward instruction.

    Reads the gradients of the forward instruction's results (and the data named in ``saves``, with
    the results that were kept) and accumulates into the gradients of its differentiable operands.
    ``set`` lists operands whose gradient is overwritten instead; ``skip`` lists those that are not
    computed.
    """

    forward: ClassVar[type[Instruction]]
    saves: ClassVar[tuple[str, ...]] = ()

    __slots__ = ()

    def targets(self) -> tuple[tuple[str, Ref], ...]:
        """Field name and gradient storage of every gradient this line computes."""
        skip = self.value("skip")
        return tuple(
            (spec.name, ref.gradient)
            for spec, ref in self.named_operands()
            if spec.access is Access.READ
            and spec.differentiable
            and ref.present
            and spec.name not in skip
        )

    def sets(self, name: str) -> bool:
        """Whether the gradient of that operand is overwritten rather than accumulated."""
        return name in self.value("set")

    def _found_effects(self) -> Effects:
        """Reads dY of every result and saved data; writes the gradients not skipped."""
        reads = {r.gradient for r in self.results()}
        for name in self.saves:
            reads.update(r for r in self.refs(name) if r.present)
        reads.update(self.forward.saved_statistics(self))
        targets = self.targets()
        accumulated = frozenset(r for n, r in targets if not self.sets(n))
        return Effects(
            frozenset(reads) | accumulated, frozenset(r for _, r in targets), accumulated
        )

    def flops(self, of: TypeOf) -> int:
        """Declared by the forward class; default its own cost once per gradient computed."""
        return self.forward.grad_flops(self, of)


def _as_ref(given: Ref | int) -> Ref:
    if isinstance(given, Ref):
        return given
    if isinstance(given, int) and not isinstance(given, bool):
        return Ref(given)
    raise ParameterError(f"an operand is a tensor reference: got {given!r}")


def _fields_of(cls: type) -> list[Operand | Attr[Any]]:
    fields = {
        name: value
        for base in reversed(cls.__mro__)
        for name, value in vars(base).items()
        if isinstance(value, Operand | Attr)
    }
    return sorted(fields.values(), key=lambda f: f.tail)


def _states(cls: type[Instruction], name: str) -> bool:
    """Whether a class or one it is made from sets what `Instruction` leaves at its default."""
    bases = cls.__mro__[: cls.__mro__.index(Instruction)]
    return any(name in vars(base) for base in bases)


def _register(cls: type[Instruction]) -> None:
    taken = _BY_CODE.get(cls.code) or _BY_MNEMONIC.get(cls.mnemonic)
    if taken is not None:
        raise TypeError(
            f"opcode {cls.code} or {cls.mnemonic} of {cls.__name__} is taken by {taken.__name__}"
        )
    wanted = _activation_names(cls)
    for other in _BY_CODE.values() if wanted else ():
        for name in sorted(wanted & _activation_names(other)):
            raise TypeError(
                f"the activation {name!r} of {cls.__name__} is taken by {other.__name__}"
            )

    def take_out() -> None:
        _BY_CODE.pop(cls.code, None)
        _BY_MNEMONIC.pop(cls.mnemonic, None)
        _by_opcode.cache_clear()

    _BY_CODE[cls.code] = cls
    _BY_MNEMONIC[cls.mnemonic] = cls
    _by_opcode.cache_clear()
    added(take_out)


def _activation_names(cls: type[Instruction]) -> set[str]:
    aliases = (alias for each in cls.functions.values() for alias in each.aliases)
    return {*cls.functions, *aliases}


def _make_grad_class(cls: type[Instruction], saves: tuple[str, ...]) -> type[GradInstruction]:
    targets = tuple(
        f.name for f in cls.operand_fields if f.access is Access.READ and f.differentiable
    )
    namespace: dict[str, Any] = {f.name: f for f in cls.operand_fields}
    namespace |= {a.name: a for a in cls.attr_fields}
    namespace["set"] = names("Gradients overwritten instead of accumulated into.", targets)
    namespace["skip"] = names("Gradients that are not computed.", targets)
    for name in ("set", "skip"):
        namespace[name].__set_name__(GradInstruction, name)
    namespace |= {
        "forward": cls,
        "saves": saves,
        "merges": cls.merges,
        "elementwise": cls.elementwise,
        "random": cls.random,
        "synopsis": f"gradient of {cls.synopsis}" if cls.synopsis else "",
        "__module__": cls.__module__,
        "__doc__": f"Gradient of {cls.mnemonic}.\n\nReads the gradient of what {cls.mnemonic} "
        "wrote and adds to the gradients of what it read.",
        "__slots__": (),
    }
    return types.new_class(
        f"Grads{cls.__name__}",
        (GradInstruction,),
        {
            "code": cls.code + GRADIENT_OFFSET,
            "mnemonic": f"GRADS_{cls.mnemonic}",
            "category": cls.category,
            "since": cls.since,
        },
        lambda body: body.update(namespace),
    )


def by_code(code: int) -> type[Instruction] | None:
    """The instruction class of an opcode, or ``None``."""
    if code not in _BY_CODE:
        _import_homes()
    return _BY_CODE.get(code)


def by_mnemonic(mnemonic: str) -> type[Instruction] | None:
    """The instruction class of a mnemonic, or ``None``."""
    if mnemonic not in _BY_MNEMONIC:
        _import_homes()
    return _BY_MNEMONIC.get(mnemonic)


@cache
def _import_homes() -> None:
    for package in HOMES:
        import_modules(package)


def all_instructions() -> tuple[type[Instruction], ...]:
    """Every declared instruction class by opcode, gradient instructions included."""
    _import_homes()
    return _by_opcode()


@cache
def _by_opcode() -> tuple[type[Instruction], ...]:
    return tuple(_BY_CODE[c] for c in sorted(_BY_CODE))
