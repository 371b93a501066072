"""Every instruction: each module of this folder is a family, imported with the folder."""

from studio.engine.core.discovery import import_modules

__all__ = [name.rpartition(".")[2] for name in import_modules(__name__)]
