"""Attention and its gradient as blocks: their kernels, launches and exact results."""

import functools
from dataclasses import dataclass

import numpy as np

import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
from pellucid_compiler.abi.plan import BlockStep
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.declare.op import REGISTRY
from pellucid_compiler.devices.launch import Launch, Operand
from pellucid_compiler.gpu.grid import Shape
from pellucid_compiler.specialise.derivatives import derive
from pellucid_compiler.specialise.graphs import declared_graph
from pellucid_compiler.specialise.requests import TensorLike

KINDS = ("plain", "causal", "boolean", "additive")


@functools.cache
def block(kind: str, dtype: str = "float32", *, backward: bool = False):
    """The block step of attention, its kernel, and how many inputs the plan has. The
    gradient of an additive mask is wanted too."""
    heads = TensorLike(dtype, (2, 3, 70, 16))
    masks = {"boolean": TensorLike("bool", (70, 70))}
    masks["additive"] = TensorLike(dtype, (70, 70))
    arguments = heads, heads, heads, masks.get(kind), 0.0, kind == "causal"
    graph = declared_graph(REGISTRY["scaled_dot_product_attention"], arguments)
    if backward:
        graph = derive(graph, 15 if kind == "additive" else 7).op
    lowered = graph.lower()
    (step,) = [s for s in lowered.plan.steps if isinstance(s, BlockStep)]
    return step, lowered.kernels[step.kernel.id], lowered.plan.num_inputs


def shape_of(kernel: Kernel, width: int) -> Shape:
    return Shape(kernel.form.parallel, width, (*kernel.outputs, *kernel.inputs))


@dataclass(frozen=True)
class Case:
    """A call of attention: heads, queries, keys, and features of each."""

    kind: str
    sizes: tuple[int, int, int, int]
    dtype: str = "float32"
    backward: bool = False

    def inputs(self):
        """q, k, v, the mask if there is one, and the gradient of the result. The mask
        excludes all keys of one query."""
        heads, queries, keys, features = self.sizes
        rng = np.random.default_rng(0)
        q, k, v, grad = (
            rng.standard_normal((1, heads, n, features)).astype(self.dtype)
            for n in (queries, keys, keys, queries)
        )
        mask = rng.standard_normal((queries, keys))
        if self.kind == "boolean":
            mask = mask > 0.3
            mask[1] = False
        elif self.kind == "causal":
            mask = np.tril(np.ones((queries, keys), bool))
        elif self.kind == "additive":
            mask = mask.astype(self.dtype)
        else:
            mask = np.ones((queries, keys), bool)
        return q, k, v, mask, grad

    def launch(self):
        """The launch, and the results' arrays by the number of their class of columns,
        filled with NaN."""
        step, kernel, num_inputs = block(self.kind, self.dtype, backward=self.backward)
        q, k, v, mask, grad = self.inputs()
        has_mask = self.kind in ("boolean", "additive")
        given = [q, k, v, *[mask] * has_mask, *[grad] * self.backward]
        extents = [self.sizes[3]] * kernel.form.num_classes
        extents[0], extents[1], extents[2] = 1, *self.sizes[:2]
        columns = next(m for m in kernel.form.members if "rows" in m.kernel.text)
        extents[columns.classes[-1]] = self.sizes[2]

        def sizes(operand):
            return [extents[d.terms[0][0]] if d.terms else 1 for d in operand.dims]

        arrays = [
            np.full(sizes(operand), np.nan, dtype)
            for operand, dtype in zip(step.outputs, kernel.outputs, strict=True)
        ]
        results = list(arrays)
        for operand in step.inputs:
            is_index = operand.value >= num_inputs
            index = np.arange(sizes(operand)[0]) if is_index else None
            arrays.append(index if is_index else given[operand.value])
        operands = tuple(
            Operand(array.ctypes.data, str(array.dtype), tuple(extents), strides)
            for array, strides in (
                (array, _along(operand, array, len(extents)))
                for operand, array in zip(
                    (*step.outputs, *step.inputs), arrays, strict=True
                )
            )
        )
        scale = np.float64(1 / np.sqrt(self.sizes[3])).view(np.int64).item()
        params = (scale,) * len(kernel.params)
        stored = kernel.form.parallel + (not kernel.form.in_order)
        made = Launch("test", kernel, 0, tuple(extents), stored, operands, params)
        return made, results, arrays

    def expected(self):
        """The results in the order of the block's, in float64."""
        q, k, v, mask, grad = (a.astype(np.float64) for a in self.inputs())
        scale = 1 / np.sqrt(self.sizes[3])
        scores = np.einsum("...ie,...je->...ij", q * scale, k)
        is_additive = self.kind == "additive"
        scores = scores + mask if is_additive else np.where(mask > 0, scores, -np.inf)
        top = scores.max(-1, keepdims=True)
        weights = np.exp(scores - np.where(np.isinf(top), 0, top))
        total = weights.sum(-1, keepdims=True)
        weights /= np.where(total == 0, 1, total)
        if not self.backward:
            return [weights @ v]
        along = np.einsum("...ie,...je->...ij", grad, v)
        of_scores = weights * (along - (weights * along).sum(-1, keepdims=True))
        of_q = scale * of_scores @ k
        of_k = scale * np.swapaxes(of_scores, -1, -2) @ q
        of_v = np.swapaxes(weights, -1, -2) @ grad
        return [of_v, *[of_scores] * is_additive, of_k, of_q]


def _along(operand, array, count: int) -> tuple[int, ...]:
    """The strides of an array along the classes."""
    strides = [0] * count
    for dim, step in zip(operand.dims, array.strides, strict=True):
        if dim.terms:
            strides[dim.terms[0][0]] = step
    return tuple(strides)
