"""Compiles compute programs once per source, by calls that release the interpreter lock."""

from __future__ import annotations

import ctypes
import hashlib
import time
from collections import deque
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from studio.engine.gl.device import constants as const
from studio.engine.gl.device.line_map import parse_log, shader_error

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from studio.engine.gl.device.binary_cache import BinaryCache
    from studio.engine.gl.device.entry_points import EntryPoints

# Programs handed before the first answer is asked for to a driver that compiles as it is told to.
_AHEAD = 8
_MAX_LOG_BYTES = 1 << 20
_UNKNOWN_NAME = "glassbox_unknown_name"
_PROBE_LINE = 1001
_PROBE_TEXT = f"""#version 430
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Out {{ float y[]; }};
#line {_PROBE_LINE}
void main() {{ y[0] = {_UNKNOWN_NAME}; }}
"""


class KernelText(Protocol):
    """What the shader compiler hands over: the source of one kernel and where it came from."""

    @property
    def name(self) -> str:
        """What the kernel is called, as messages show it."""
        ...

    @property
    def text(self) -> str:
        """The source as the driver gets it, the local size and all bindings declared in it."""
        ...

    @property
    def local(self) -> tuple[int, int, int]:
        """Invocations per axis of a work group."""
        ...

    @property
    def files(self) -> Sequence[str]:
        """File names by block of a thousand line numbers; block 0 is generated text."""
        ...


@dataclass(frozen=True, slots=True)
class ComputeProgram:
    """A linked program.

    Attributes:
        handle: the driver's number of it.
        key: hash of source and local size.
        name: the kernel it was made from.
        local: invocations per axis of a work group.
    """

    handle: int
    key: str
    name: str
    local: tuple[int, int, int]


@dataclass(slots=True)
class ProgramCounters:
    """What the cache did.

    Attributes:
        programs: programs held.
        hits: requests answered from memory.
        compiled: programs made from source.
        loaded: programs taken from disk.
        refused: binaries from disk the driver did not take.
        seconds: time spent compiling and loading.
    """

    programs: int = 0
    hits: int = 0
    compiled: int = 0
    loaded: int = 0
    refused: int = 0
    seconds: float = 0.0

    def to_json(self) -> dict[str, float]:
        """The same as JSON-ready plain data."""
        return asdict(self)


@dataclass(slots=True)
class _Pending:
    """A program the driver may still be working on; without shader it came from disk."""

    source: KernelText
    instruction: str
    key: str
    program: int
    shader: int | None


def source_key(source: KernelText) -> str:
    """The cache key of a source: SHA-256 of the final text and the local size, hexadecimal."""
    return _key(source.text, source.local)


@lru_cache(maxsize=1 << 9)
def _key(text: str, local: tuple[int, int, int]) -> str:
    digest = hashlib.sha256(text.encode())
    digest.update(b"\x00%d,%d,%d" % local)
    return digest.hexdigest()


class ProgramCache:
    """Compute programs by the hash of their source; every method runs on the engine thread.

    Args:
        gl: entry points of the context.
        disk: where linked programs outlive the process; nowhere when None.
        debug_folder: where the source of a refused kernel is written.
    """

    def __init__(
        self,
        gl: EntryPoints,
        *,
        disk: BinaryCache | None = None,
        debug_folder: Path | None = None,
    ) -> None:
        self._gl = gl
        # A driver may offer program binaries and have no format for them.
        formats = gl.integer(const.NUM_PROGRAM_BINARY_FORMATS)
        self._disk = disk if formats > 0 else None
        self._debug_folder = debug_folder
        self._programs: dict[str, ComputeProgram] = {}
        self._requested: dict[str, _Pending] = {}
        self._counters = ProgramCounters()
        self._line_offset: int | None = None
        if gl.max_shader_compiler_threads is not None:
            gl.max_shader_compiler_threads(0xFFFFFFFF)

    def counters(self) -> ProgramCounters:
        """A copy of the counters; may be asked for from any thread."""
        return ProgramCounters(**asdict(self._counters))

    @property
    def compiles_aside(self) -> bool:
        """Whether the driver compiles on threads of its own, as many programs at once as it has."""
        return self._gl.max_shader_compiler_threads is not None

    def request(self, source: KernelText, instruction: str = "") -> None:
        """Hand a source that will be asked for to the driver, without waiting for its answer.

        Args:
            source: the kernel.
            instruction: the instruction it serves, for messages.
        """
        self._gl.check_thread()
        key = source_key(source)
        if key not in self._programs and key not in self._requested:
            begun = time.perf_counter()
            self._requested[key] = self._begin(source, instruction, key)
            self._counters.seconds += time.perf_counter() - begun

    def get(self, source: KernelText, instruction: str = "") -> ComputeProgram:
        """The program of a source, compiled now if it is new.

        Args:
            source: the kernel.
            instruction: the instruction it serves, as the listing prints it, for messages.

        Raises:
            ShaderError: the driver refused the kernel; names kernel file and line.
        """
        self._gl.check_thread()
        key = source_key(source)
        known = self._programs.get(key)
        if known is not None:
            self._counters.hits += 1
            return known
        begun = time.perf_counter()
        program = self._finish(self._begun(source, instruction, key))
        self._counters.seconds += time.perf_counter() - begun
        return program

    def precompile(
        self,
        sources: Iterable[tuple[KernelText, str]],
        progress: Callable[[int, int, str], None] | None = None,
        stopping: threading.Event | None = None,
    ) -> bool:
        """Compile what is new among the sources, several at a time where the driver can.

        Args:
            sources: kernels with the instruction each serves.
            progress: told (programs done, programs in all, name of the last) as they are done.
            stopping: when set, the rest is left.

        Returns:
            False when the rest was left.

        Raises:
            ShaderError: the driver refused a kernel; names kernel file and line.
        """
        self._gl.check_thread()
        fresh = {source_key(source): (source, instruction) for source, instruction in sources}
        todo = deque((key, *pair) for key, pair in fresh.items() if key not in self._programs)
        count = len(todo)
        ahead = count if self.compiles_aside else _AHEAD
        pending: deque[_Pending] = deque()
        begun = time.perf_counter()
        try:
            while todo or pending:
                if stopping is not None and stopping.is_set():
                    return False
                if todo and len(pending) < ahead:
                    key, source, instruction = todo.popleft()
                    pending.append(self._begun(source, instruction, key))
                    continue
                program = self._finish(pending.popleft())
                if progress is not None:
                    progress(count - len(todo) - len(pending), count, program.name)
        finally:
            for left in pending:
                self._discard(left)
            self._counters.seconds += time.perf_counter() - begun
        return True

    def close(self) -> None:
        """Delete all programs."""
        self._gl.use_program(0)
        for left in self._requested.values():
            self._discard(left)
        self._requested.clear()
        for program in self._programs.values():
            self._gl.delete_program(program.handle)
        self._programs.clear()
        self._counters.programs = 0
        if self._disk is not None:
            self._disk.prune()

    def _begun(self, source: KernelText, instruction: str, key: str) -> _Pending:
        """A source the driver has: from now on, or since it was requested."""
        pending = self._requested.pop(key, None)
        return self._begin(source, instruction, key) if pending is None else pending

    def _begin(self, source: KernelText, instruction: str, key: str) -> _Pending:
        """Hand a source to the driver without asking how it went."""
        gl = self._gl
        loaded = self._load(key)
        if loaded is not None:
            return _Pending(source, instruction, key, loaded, None)
        shader = _submit_shader(gl, source.text)
        program = gl.create_program()
        if self._disk is not None:
            gl.program_parameteri(program, const.PROGRAM_BINARY_RETRIEVABLE_HINT, 1)
        gl.attach_shader(program, shader)
        gl.link_program(program)
        return _Pending(source, instruction, key, program, shader)

    def _finish(self, pending: _Pending) -> ComputeProgram:
        """Wait for the driver's answer, keep the program or raise what it said."""
        gl, source, shader = self._gl, pending.source, pending.shader
        if shader is None:
            self._counters.loaded += 1
        else:
            log = _failure_log(gl, shader, pending.program)
            if log is not None:
                self._discard(pending)
                raise shader_error(
                    log,
                    name=source.name,
                    text=source.text,
                    files=source.files,
                    instruction=pending.instruction,
                    debug_folder=self._debug_folder,
                    line_offset=self._calibrated_offset(),
                )
            gl.detach_shader(pending.program, shader)
            gl.delete_shader(shader)
            self._counters.compiled += 1
            self._store(pending)
        gl.check(f"compiling {source.name}")
        made = ComputeProgram(pending.program, pending.key, source.name, source.local)
        self._programs[pending.key] = made
        self._counters.programs = len(self._programs)
        return made

    def _discard(self, pending: _Pending) -> None:
        if pending.shader is not None:
            self._gl.delete_shader(pending.shader)
        self._gl.delete_program(pending.program)

    def _load(self, key: str) -> int | None:
        """A program from disk that the driver took, else None."""
        entry = self._disk.load(key) if self._disk is not None else None
        if self._disk is None or entry is None:
            return None
        gl = self._gl
        form, payload = entry
        program = gl.create_program()
        gl.program_binary(program, form, ctypes.c_char_p(payload), len(payload))
        # An unknown format is an error besides an unlinked program; both mean: compile it.
        refused = gl.get_error() != const.NO_ERROR
        if refused or not _status(gl.get_programiv, program, const.LINK_STATUS):
            gl.delete_program(program)
            self._disk.drop(key)
            self._counters.refused += 1
            return None
        return program

    def _store(self, pending: _Pending) -> None:
        if self._disk is None:
            return
        gl = self._gl
        length = _status(gl.get_programiv, pending.program, const.PROGRAM_BINARY_LENGTH)
        if length <= 0:
            return
        room = (ctypes.c_ubyte * length)()
        written, form = ctypes.c_int(), ctypes.c_uint()
        gl.get_program_binary(
            pending.program, length, ctypes.byref(written), ctypes.byref(form), room
        )
        if gl.get_error() == const.NO_ERROR and 0 < written.value <= length:
            self._disk.store(pending.key, form.value, bytes(room)[: written.value])

    def _calibrated_offset(self) -> int:
        """What this driver adds to numbers after ``#line``: old ones count from the directive."""
        if self._line_offset is None:
            log = compile_log(self._gl, _PROBE_TEXT) or ""
            lines = [found.line - _PROBE_LINE for found in parse_log(log) if found.is_error]
            self._line_offset = lines[0] if lines and abs(lines[0]) <= 1 else 0
        return self._line_offset


def compile_log(gl: EntryPoints, text: str) -> str | None:
    """Compile and link a source for its log alone.

    Returns:
        What the driver said when it refused, None when it took the source.
    """
    shader = _submit_shader(gl, text)
    program = gl.create_program()
    gl.attach_shader(program, shader)
    gl.link_program(program)
    log = _failure_log(gl, shader, program)
    gl.delete_shader(shader)
    gl.delete_program(program)
    return log


def _submit_shader(gl: EntryPoints, text: str) -> int:
    shader = gl.create_shader(const.COMPUTE_SHADER)
    encoded = text.encode("ascii", "replace")
    strings = (ctypes.c_char_p * 1)(encoded)
    lengths = (ctypes.c_int * 1)(len(encoded))
    gl.shader_source(shader, 1, strings, lengths)
    gl.compile_shader(shader)
    return shader


def _failure_log(gl: EntryPoints, shader: int, program: int) -> str | None:
    """What the driver said about a failed compile or link; None when both went well."""
    if not _status(gl.get_shaderiv, shader, const.COMPILE_STATUS):
        return _log(gl.get_shaderiv, gl.get_shader_info_log, shader)
    if not _status(gl.get_programiv, program, const.LINK_STATUS):
        return _log(gl.get_programiv, gl.get_program_info_log, program)
    return None


def _status(ask: Callable[..., None], handle: int, name: int) -> int:
    value = ctypes.c_int()
    ask(handle, name, ctypes.byref(value))
    return int(value.value)


def _log(ask: Callable[..., None], fetch: Callable[..., None], handle: int) -> str:
    length = min(max(_status(ask, handle, const.INFO_LOG_LENGTH), 1), _MAX_LOG_BYTES)
    room = ctypes.create_string_buffer(length)
    fetch(handle, length, None, room)
    return room.value.decode("utf-8", "replace")
