"""The intermediate representation: scalar expressions, primitives, Graph.

Read expr.py, scalar_ops.py, graph.py, then primitives/loop.py. Imports nothing of the
project.
"""

from pellucid_compiler.ir import scalar_ops as scalar_ops
