"""Sums of products of two operands as matrix products: C = A B (+ bias), batched.

Not written yet for GEMM kernels: every contraction is lowered as an affine reduction.
"""
from pellucid.compiler.lower.builder import PlanBuilder
from pellucid.ir.graph import Node
def lower_contraction(node: Node, builder: PlanBuilder) -> bool:
    return False
