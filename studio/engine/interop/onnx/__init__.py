"""Inference programs as ONNX graphs.

`program.py` walks over the lines of a program, `nodes.py` says which nodes an instruction becomes,
`formulas.py` makes them of the formula of an element-wise one, `graph_writer.py` keeps the values
with their two layouts.
"""
