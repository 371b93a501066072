"""Operations: one table of functions that write instruction lines.

An operation is a name, its names elsewhere, options with defaults, and lines. Types and gradients
come from the instructions: nothing here differentiates. Families are modules of this folder, found
by themselves; composites stand beside the plain ones of their family.
"""

from studio.engine.operations.lines import Lines
from studio.engine.operations.table import LIBRARIES, OPERATIONS, Operation, find, operation, plain

__all__ = ["LIBRARIES", "OPERATIONS", "Lines", "Operation", "find", "operation", "plain"]
