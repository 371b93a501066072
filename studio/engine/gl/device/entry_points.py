"""Raw OpenGL functions that release Python's interpreter lock while the driver works.

moderngl keeps the lock inside every call, which on a software renderer freezes every other thread
for a whole kernel. The function pointers here are plain ctypes prototypes: ctypes drops the lock
around each call, and takes pointers and 64-bit sizes at full width.
"""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Any

from studio.engine.core.errors import BackendError
from studio.engine.gl.device import constants as const

if TYPE_CHECKING:
    from collections.abc import Callable

_UINT = ctypes.c_uint
_INT = ctypes.c_int
_SIZE = ctypes.c_ssize_t
_PTR = ctypes.c_void_p
_U64 = ctypes.c_uint64

# A signature of None leaves the argument types away: ctypes then converts small integers and arrays
# about three times faster, which counts on the dispatch path and is safe only where no argument is
# wider than 32 bits (arrays pass as pointers).
_Signature = tuple[str, Any, tuple[Any, ...] | None]

_CORE: dict[str, _Signature] = {
    "get_error": ("glGetError", _UINT, ()),
    "get_string_pointer": ("glGetString", ctypes.c_char_p, (_UINT,)),
    "get_indexed_string": ("glGetStringi", ctypes.c_char_p, (_UINT, _UINT)),
    "get_integerv": ("glGetIntegerv", None, (_UINT, _PTR)),
    "get_integer64v": ("glGetInteger64v", None, (_UINT, _PTR)),
    "get_indexed_integerv": ("glGetIntegeri_v", None, (_UINT, _UINT, _PTR)),
    "finish": ("glFinish", None, ()),
    "flush": ("glFlush", None, ()),
    "dispatch_compute": ("glDispatchCompute", None, None),
    "memory_barrier": ("glMemoryBarrier", None, (_UINT,)),
    "gen_buffers": ("glGenBuffers", None, (_INT, _PTR)),
    "delete_buffers": ("glDeleteBuffers", None, (_INT, _PTR)),
    "bind_buffer": ("glBindBuffer", None, None),
    "bind_buffer_range": ("glBindBufferRange", None, (_UINT, _UINT, _UINT, _SIZE, _SIZE)),
    "buffer_data": ("glBufferData", None, (_UINT, _SIZE, _PTR, _UINT)),
    "buffer_sub_data": ("glBufferSubData", None, (_UINT, _SIZE, _SIZE, _PTR)),
    "get_buffer_sub_data": ("glGetBufferSubData", None, (_UINT, _SIZE, _SIZE, _PTR)),
    "copy_buffer_sub_data": ("glCopyBufferSubData", None, (_UINT, _UINT, _SIZE, _SIZE, _SIZE)),
    "map_buffer_range": ("glMapBufferRange", _PTR, (_UINT, _SIZE, _SIZE, _UINT)),
    "unmap_buffer": ("glUnmapBuffer", ctypes.c_ubyte, (_UINT,)),
    "fence_sync": ("glFenceSync", _PTR, (_UINT, _UINT)),
    "delete_sync": ("glDeleteSync", None, (_PTR,)),
    "client_wait_sync": ("glClientWaitSync", _UINT, (_PTR, _UINT, _U64)),
    "wait_sync": ("glWaitSync", None, (_PTR, _UINT, _U64)),
    "create_shader": ("glCreateShader", _UINT, (_UINT,)),
    "delete_shader": ("glDeleteShader", None, (_UINT,)),
    "shader_source": ("glShaderSource", None, (_UINT, _INT, _PTR, _PTR)),
    "compile_shader": ("glCompileShader", None, (_UINT,)),
    "get_shaderiv": ("glGetShaderiv", None, (_UINT, _UINT, _PTR)),
    "get_shader_info_log": ("glGetShaderInfoLog", None, (_UINT, _INT, _PTR, _PTR)),
    "create_program": ("glCreateProgram", _UINT, ()),
    "delete_program": ("glDeleteProgram", None, (_UINT,)),
    "attach_shader": ("glAttachShader", None, (_UINT, _UINT)),
    "detach_shader": ("glDetachShader", None, (_UINT, _UINT)),
    "link_program": ("glLinkProgram", None, (_UINT,)),
    "use_program": ("glUseProgram", None, None),
    "get_programiv": ("glGetProgramiv", None, (_UINT, _UINT, _PTR)),
    "get_program_info_log": ("glGetProgramInfoLog", None, (_UINT, _INT, _PTR, _PTR)),
    "program_parameteri": ("glProgramParameteri", None, (_UINT, _UINT, _INT)),
    "get_program_binary": ("glGetProgramBinary", None, (_UINT, _INT, _PTR, _PTR, _PTR)),
    "program_binary": ("glProgramBinary", None, (_UINT, _UINT, _PTR, _INT)),
    "gen_queries": ("glGenQueries", None, (_INT, _PTR)),
    "delete_queries": ("glDeleteQueries", None, (_INT, _PTR)),
    "query_counter": ("glQueryCounter", None, None),
    "get_queryiv": ("glGetQueryiv", None, (_UINT, _UINT, _PTR)),
    "get_query_objectiv": ("glGetQueryObjectiv", None, (_UINT, _UINT, _PTR)),
    "get_query_objectui64v": ("glGetQueryObjectui64v", None, (_UINT, _UINT, _PTR)),
}

# name: (signature, OpenGL version that has it, extension that brings it earlier). A loader may hand
# out a pointer for any name at all (EGL does), so presence is decided by version and extension.
_OPTIONAL: dict[str, tuple[_Signature, tuple[int, int], str]] = {
    "bind_buffers_range": (
        ("glBindBuffersRange", None, None),
        (4, 4),
        "GL_ARB_multi_bind",
    ),
    "buffer_storage": (
        ("glBufferStorage", None, (_UINT, _SIZE, _PTR, _UINT)),
        (4, 4),
        "GL_ARB_buffer_storage",
    ),
    "get_graphics_reset_status": (
        ("glGetGraphicsResetStatus", _UINT, ()),
        (4, 5),
        "GL_KHR_robustness",
    ),
    "max_shader_compiler_threads": (
        ("glMaxShaderCompilerThreadsKHR", None, (_UINT,)),
        (99, 0),
        "GL_KHR_parallel_shader_compile",
    ),
}


class ContextLostError(BackendError):
    """The driver gave the context up (a reset, a removed device): the engine must be rebuilt."""

    code = "context_lost"


def prototype(result: Any, arguments: tuple[Any, ...]) -> Any:
    """The ctypes prototype of a driver function (64-bit Windows has one calling convention too)."""
    return ctypes.CFUNCTYPE(result, *arguments)


class EntryPoints:
    """The OpenGL functions of one context; to be used by the thread the context is current on.

    Each attribute is one driver function under its name in snake case without ``gl``; those that
    need more than OpenGL 4.3 are None where the driver has neither the version nor the extension.

    Args:
        load: the platform's address lookup (``eglGetProcAddress`` and its kin), 0 when unknown.

    Raises:
        BackendError: a function of the OpenGL 4.3 baseline is missing, or the version is older.
    """

    get_error: Callable[[], int]
    get_string_pointer: Callable[[int], bytes | None]
    get_indexed_string: Callable[[int, int], bytes | None]
    get_integerv: Callable[..., None]
    get_integer64v: Callable[..., None]
    get_indexed_integerv: Callable[..., None]
    finish: Callable[[], None]
    flush: Callable[[], None]
    dispatch_compute: Callable[[int, int, int], None]
    memory_barrier: Callable[[int], None]
    gen_buffers: Callable[..., None]
    delete_buffers: Callable[..., None]
    bind_buffer: Callable[[int, int], None]
    bind_buffer_range: Callable[[int, int, int, int, int], None]
    buffer_data: Callable[..., None]
    buffer_sub_data: Callable[..., None]
    get_buffer_sub_data: Callable[..., None]
    copy_buffer_sub_data: Callable[[int, int, int, int, int], None]
    map_buffer_range: Callable[[int, int, int, int], int | None]
    unmap_buffer: Callable[[int], int]
    fence_sync: Callable[[int, int], int | None]
    delete_sync: Callable[[int], None]
    client_wait_sync: Callable[[int, int, int], int]
    wait_sync: Callable[[int, int, int], None]
    create_shader: Callable[[int], int]
    delete_shader: Callable[[int], None]
    shader_source: Callable[..., None]
    compile_shader: Callable[[int], None]
    get_shaderiv: Callable[..., None]
    get_shader_info_log: Callable[..., None]
    create_program: Callable[[], int]
    delete_program: Callable[[int], None]
    attach_shader: Callable[[int, int], None]
    detach_shader: Callable[[int, int], None]
    link_program: Callable[[int], None]
    use_program: Callable[[int], None]
    get_programiv: Callable[..., None]
    get_program_info_log: Callable[..., None]
    program_parameteri: Callable[[int, int, int], None]
    get_program_binary: Callable[..., None]
    program_binary: Callable[..., None]
    gen_queries: Callable[..., None]
    delete_queries: Callable[..., None]
    query_counter: Callable[[int, int], None]
    get_queryiv: Callable[..., None]
    get_query_objectiv: Callable[..., None]
    get_query_objectui64v: Callable[..., None]
    bind_buffers_range: Callable[..., None] | None
    buffer_storage: Callable[..., None] | None
    get_graphics_reset_status: Callable[[], int] | None
    max_shader_compiler_threads: Callable[[int], None] | None

    def __init__(self, load: Callable[[str], int]) -> None:
        self.owner_thread = threading.get_ident()
        for attribute, signature in _CORE.items():
            setattr(self, attribute, self._bind(load, signature))
        self.version = (
            self.integer(const.MAJOR_VERSION),
            self.integer(const.MINOR_VERSION),
        )
        if self.version < (4, 3):
            raise BackendError(
                f"the driver offers OpenGL {self.version[0]}.{self.version[1]}, "
                "compute shaders need 4.3",
                who="gl",
                hint="update the graphics driver, or train with --backend cpu",
            )
        self.extensions = self._read_extensions()
        for attribute, (signature, version, extension) in _OPTIONAL.items():
            present = self.version >= version or extension in self.extensions
            setattr(self, attribute, self._bind(load, signature) if present else None)

    @staticmethod
    def _bind(load: Callable[[str], int], signature: _Signature) -> Any:
        name, result, arguments = signature
        address = load(name)
        if not address:
            raise BackendError(
                f"the OpenGL driver has no function {name}, which OpenGL 4.3 asks for",
                who="gl",
                hint="update the graphics driver, or train with --backend cpu",
            )
        return prototype(result, arguments or ())(address)

    def _read_extensions(self) -> frozenset[str]:
        count = self.integer(const.NUM_EXTENSIONS)
        names = (self.get_indexed_string(const.EXTENSIONS, index) for index in range(count))
        return frozenset(name.decode("ascii", "replace") for name in names if name)

    def integer(self, name: int) -> int:
        """The value of an integer limit or state (32 bits)."""
        # Some names answer with up to four values, so the room is for four.
        values = (ctypes.c_int * 4)()
        self.get_integerv(name, values)
        return int(values[0])

    def integer64(self, name: int) -> int:
        """The value of an integer limit that may exceed 32 bits."""
        values = (ctypes.c_int64 * 4)()
        self.get_integer64v(name, values)
        return int(values[0])

    def indexed_integer(self, name: int, index: int) -> int:
        """One axis of a limit that has three (work-group counts and sizes)."""
        value = ctypes.c_int()
        self.get_indexed_integerv(name, index, ctypes.byref(value))
        return int(value.value)

    def string(self, name: int) -> str:
        """A driver string such as the renderer's name; empty when the driver gives none."""
        text = self.get_string_pointer(name)
        return text.decode("utf-8", "replace") if text else ""

    def check(self, what: str) -> None:
        """Raise if the driver recorded an error since the last check.

        Args:
            what: what was being done, as it should read in the message.

        Raises:
            ContextLostError: the context is gone.
            BackendError: any other recorded error, by name.
        """
        if self.get_graphics_reset_status is not None and self.get_graphics_reset_status():
            raise self._lost(what)
        code = self.get_error()
        if code == const.NO_ERROR:
            return
        names = []
        # A lost context reports for ever, so the number of pending errors read here is bounded.
        for _ in range(8):
            names.append(const.ERROR_NAMES.get(code, hex(code)))
            if code == const.CONTEXT_LOST:
                raise self._lost(what)
            code = self.get_error()
            if code == const.NO_ERROR:
                break
        raise BackendError(f"the driver reported {', '.join(names)} while {what}", who="gl")

    @staticmethod
    def _lost(what: str) -> ContextLostError:
        return ContextLostError(
            f"the graphics driver dropped the context while {what}",
            who="gl",
            hint="resume from the last checkpoint; if it happens again use --backend cpu",
        )

    def check_thread(self) -> None:
        """Assert our own rule that only the thread owning the context calls OpenGL.

        Raises:
            RuntimeError: called from another thread; a fault of the program, not the user's.
        """
        if threading.get_ident() != self.owner_thread:
            raise RuntimeError("OpenGL was called outside the engine thread")
