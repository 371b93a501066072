"""Views of tensors with a clock turned by hand, and a CPU backend."""

from tests.session.live.conftest import cpu, studio

__all__ = ["cpu", "studio"]
