#!/usr/bin/env python3
"""Runs random programs of any ops here and with an installed PyTorch, and compares.

    check_programs.py --programs 1000 --start 0
    check_programs.py --show 4711

Development only: needs torch. A program is 3 to 13 calls on a pool of a few small
tensors: functions, methods and in-place methods of every op in PyTorch's table, with
arguments drawn by type and name or known to fit together, with ``out=`` at times,
operators and indexing, layers, and transforms of calls, on tensors of many dtypes and
layouts (permuted, stepped, expanded, channels last), a few with gradients. After every
call it compares the type of an error, or a result's value, dtype, shape, whether it is
a view and whether it requires gradients; and the values of all tensors of the pool,
which reveals aliasing. At the end it compares gradients. A program ends at its first
difference. Prints the differences by op, with seeds that reproduce them.

Not compared: calls that PyTorch refuses for lack of a kernel or a derivative
(``WANTS``), values that it leaves unspecified (``OPEN``), and whether a result is a
view of memory that nothing else uses. A difference of values that vanishes once both
sides have the same operands is rounding of earlier calls, and ends the program.
"""

from __future__ import annotations

import argparse
import math
import random
import signal
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from tools import drawn_calls, drawn_modules, drawn_tensors, drawn_transforms

import pellucid

# Random draws, uninitialised memory, settings, results that are not unique.
LEFT_OUT = """
    empty new_empty empty_like empty_strided new_empty_strided empty_permuted rand
    rand_like randn randn_like randint randint_like randperm bernoulli cauchy
    dropout exponential geometric log_normal multinomial normal random uniform
    poisson binomial alpha_dropout feature_dropout feature_alpha_dropout
    native_dropout rrelu rrelu_with_noise fractional_max_pool2d
    fractional_max_pool3d resize resize_as set set_data is_pinned pin_memory
    to_mkldnn lstm gru rnn_tanh rnn_relu requires_grad_ manual_seed retain_grad
    rename align_to align_as align_tensors refine_names record_stream svd eig
    linalg_eig linalg_svd linalg_eigh linalg_qr qr geqrf ormqr _pack_padded
    hash_tensor linalg_eigvals linalg_eigvalsh linalg_svdvals backward item
    as_strided as_strided_ as_strided_copy as_strided_scatter set_ resize_
    linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve from_file
    scaled_dot_product_attention det logdet slogdet linalg_det linalg_slogdet
    linalg_inv linalg_inv_ex inverse linalg_solve linalg_solve_ex lu_solve lu_unpack
    linalg_lu linalg_lu_factor linalg_lu_factor_ex linalg_lu_solve linalg_pinv
    pinverse linalg_lstsq linalg_tensorinv linalg_tensorsolve linalg_cond
    linalg_matrix_rank cholesky_inverse cholesky_solve pca_lowrank svd_lowrank
    linalg_matrix_power matrix_power linalg_cross_entropy nuclear_norm histc
    triangular_solve linalg_solve_triangular sym_constrain_range
    sym_constrain_range_for_size linalg__powsum choose_qparams_optimized split
    unsafe_split unsafe_chunk unsafe_split_with_sizes detach_copy unique_consecutive
    index
"""
# PyTorch's errors for calls that are correct: lacking a kernel, or a derivative.
WANTS = (
    "Could not run",
    "does not support automatic differentiation",
    "derivative for",
    "is not differentiable with respect to",
    "MKL FFT error",
    "not implemented for '",
    "does not support complex dtypes",
    "Unsupported dtype BFloat16",
    "Autograd not support dtype",
    "Expected grad_output to have non-zero size",
)
SAVES_MORE = "modified by an inplace operation"
# Which of several equal elements is found, positions in unsorted rows, signs of NaN.
OPEN = (
    *("polygamma", "polygamma_"),  # which PyTorch computes less accurately near poles
    *("kthvalue", "median", "nanmedian", "searchsorted", "bucketize", "mode"),
    *("signbit", "copysign", "copysign_", "topk"),
    *(f"max_pool{d}d_with_indices" for d in (1, 2, 3)),  # of several NaN
    *(f"adaptive_max_pool{d}d" for d in (1, 2, 3)),
    *("cholesky_ex", "linalg_cholesky_ex"),  # of what has no factorization
)
# Ops of PyTorch that refuse a layout, by a `view` in their implementation.
REFUSES_LAYOUTS = "take_along_dim", "isin"
# Ops whose float64 values PyTorch computes less accurately: polygamma(1, 1) is pi**2/6.
COARSE = {"polygamma": 1e-8, "polygamma_": 1e-8}
# Of steps: calls with known arguments, of other forms, with out=, transforms, layers.
KNOWN_SHARE, OTHER_SHARE = 0.25, 0.13
OUT_SHARE, TRANSFORM_SHARE, LAYER_SHARE = 0.06, 0.06, 0.06
# Functions that take their tensors as separate arguments.
LOOSE = ("block_diag", "broadcast_tensors", "cartesian_prod", "chain_matmul")
CRASHES_PYTORCH = ["slice_inverse", "embedding_bag", "native_batch_norm"]
KINDS = (
    "sparse",
    "fbgemm",
    "quant",
    "mkldnn",
    "cudnn",
    "miopen",
    "nested",
    "coalesce",
    "values",
)
INDEX_WORDS = ("index", "indices", "target", "repeats", "sorted_sequence", "boundaries")
NOT_DRAWN = ("layout", "device", "alpha", "pin_memory", "memory_format", "generator")
DIMS = (
    "dim",
    "dims",
    "dim0",
    "dim1",
    "axis",
    "axis0",
    "axis1",
    "source",
    "destination",
)
OMITTED = {*LEFT_OUT.split(), *CRASHES_PYTORCH}
TOLERANCE = {
    **dict.fromkeys(("float32", "complex64"), 2e-5),
    **dict.fromkeys(("float64", "complex128"), 1e-10),
    "float16": 4e-3,
    "bfloat16": 3e-2,
}
SIDES = (torch, pellucid)


class Step:
    """One call: how it is made, and its arguments; tensors are numbers of the pool."""

    def __init__(self, form: str, name: str, args: list[Any], kwargs: dict[str, Any]):
        self.form, self.name, self.args, self.kwargs = form, name, args, kwargs

    def __str__(self) -> str:
        shown = [repr(x) for x in self.args]
        shown += [f"{k}={v!r}" for k, v in self.kwargs.items()]
        if self.form == "method":
            return f"{shown[0]}.{self.name}({', '.join(shown[1:])})"
        return f"{self.form}.{self.name}({', '.join(shown)})"

    def operands(self) -> list[int]:
        items = flat([self.args, list(self.kwargs.values())])
        return [int(x) for x in items if isinstance(x, Pooled)]

    def run(self, side: Any, pool: list[Any]) -> Any:
        args = [on(side, pool, x) for x in self.args]
        kwargs = {name: on(side, pool, x) for name, x in self.kwargs.items()}
        if self.form == "method":
            return getattr(args[0], self.name)(*args[1:], **kwargs)
        if self.form in drawn_calls.FORMS:
            return drawn_calls.operation(self.form, self.name, args)
        if self.form == "torch":
            return getattr(side, self.name)(*args, **kwargs)
        module = side.nn.functional if self.form == "F" else None
        module = module or getattr(side, self.form)
        return getattr(module, self.name)(*args, **kwargs)


class Pooled(int):
    def __repr__(self) -> str:
        return f"t{int(self)}"


class Word(str):
    """The name of a dtype or of a memory format."""

    def __repr__(self) -> str:
        return f"torch.{self}"


def on(side: Any, pool: list[Any], item: Any) -> Any:
    """An argument as one side takes it."""
    if isinstance(item, Pooled):
        return pool[item]
    if isinstance(item, Word):
        return getattr(side, item)
    if isinstance(item, (list, tuple)):
        return type(item)(on(side, pool, x) for x in item)
    return item


def schemas() -> list[tuple[str, Any]]:
    """All overloads of PyTorch's table that a program may call: form and schema."""
    found = []
    dispatched = set(torch._C._dispatch_get_all_op_names())
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        base = name.removesuffix("_")
        if (
            space != "aten"
            or name.startswith("_")
            or base in OMITTED
            or name in OMITTED
        ):
            continue
        if f"{schema.name}.{schema.overload_name}".rstrip(".") not in dispatched:
            continue  # TorchScript's own, for numbers
        if any(k in name for k in KINDS):
            continue
        if "backward" in name or any(
            "Dimname" in str(a.type) for a in schema.arguments
        ):
            continue
        if any("Generator" in str(a.type) for a in schema.arguments):
            continue
        for form in forms(name, schema):
            if not is_out(schema) or form != "method":
                found.append((form, schema))
    return found


def forms(name: str, schema: Any) -> list[str]:
    known = []
    arguments = schema.arguments
    first = bool(arguments) and str(arguments[0].type) == "Tensor"
    if first and arguments[0].name == "self" and hasattr(torch.Tensor, name):
        known.append("method")
    if hasattr(torch, name) and not isinstance(getattr(torch, name), type):
        known.append("torch")
    for space in ("linalg", "special", "fft"):
        if name.startswith(space + "_") and hasattr(
            getattr(torch, space), name.removeprefix(space + "_")
        ):
            known.append(space)
    if not known and hasattr(torch.nn.functional, name):
        known.append("F")
    return known


def is_out(schema: Any) -> bool:
    return any(a.is_out for a in schema.arguments)


class Maker:
    """Draws programs; PyTorch's side determines which calls fit."""

    def __init__(self, seed: int, table: list[tuple[str, Any]]) -> None:
        self.draw = random.Random(seed)
        self.table = [x for x in table if not is_out(x[1])]
        self.outs = [x for x in table if is_out(x[1])]
        self.pools: tuple[list[Any], list[Any]] = ([], [])
        self.leaves: list[int] = []
        self.hidden: set[int] = set()  # views on one side, of memory of their own
        self.shown: list[str] = []
        shape = self.draw.choice(drawn_tensors.SHAPES)
        for _ in range(self.draw.randint(2, 4)):
            if self.draw.random() < 0.35:
                shape = self.draw.choice(drawn_tensors.SHAPES)
            self.add_leaf(shape)
        self.add_leaf(self.draw.choice([(3,), (2,), (2, 3)]), "int64")

    def add_leaf(self, shape: tuple[int, ...], dtype: str | None = None) -> None:
        dtype = dtype or self.draw.choice(drawn_tensors.DTYPES)
        self.add_array(drawn_tensors.values(self.draw, shape, dtype), dtype)

    def add_array(self, array: Any, dtype: str, role: str = "") -> None:
        """A leaf with these values; of some layout and with a gradient at random,
        unless it is a parameter or constant.
        """
        draw, shape = self.draw, array.shape
        layout = drawn_tensors.as_drawn if role else drawn_tensors.layout(draw, shape)
        wide = "complex128" if array.dtype.kind == "c" else "float64"
        gradient = dtype[:2] in ("fl", "bf", "co") and draw.random() < 0.45
        gradient = gradient and role != "constant"
        for side, pool in zip(SIDES, self.pools, strict=True):
            tensor = side.tensor(array.tolist(), dtype=getattr(side, wide))
            tensor = tensor.reshape(shape).to(getattr(side, dtype))
            tensor = layout(side, tensor)
            pool.append(tensor.detach().requires_grad_(gradient))
        index = len(self.pools[0]) - 1
        if gradient:
            self.leaves.append(index)
        values = self.pools[0][index].detach().tolist()
        self.shown.append(
            f"t{index} = torch.tensor({values}, dtype=torch.{dtype}, "
            f"requires_grad={gradient})  # {tuple(self.pools[0][index].shape)} "
            f"{self.pools[0][index].stride()}"
        )

    def keep(self, results: list[list[Any]]) -> None:
        """Adds new results to the pools."""
        for a, b in zip(*results, strict=True):
            is_new = is_tensor(a) and not any(a is x for x in self.pools[0])
            if is_new and a.numel() < 200 and a.layout == torch.strided:
                self.shown.append(f"t{len(self.pools[0])} = result")
                if a._is_view() != b._is_view():
                    self.hidden.add(len(self.pools[0]))
                self.pools[0].append(a)
                self.pools[1].append(b)

    def step(self) -> Step:
        kind = self.draw.random()
        if kind < OTHER_SHARE:
            return self.other_step()
        kind -= OTHER_SHARE
        if kind < LAYER_SHARE:
            return self.layer_step()
        kind -= LAYER_SHARE
        if kind < TRANSFORM_SHARE:
            return self.transform_step()
        kind -= TRANSFORM_SHARE
        if kind < OUT_SHARE and self.outs:
            return self.schema_step(*self.draw.choice(self.outs))
        form, schema = self.draw.choice(self.table)
        if kind < OUT_SHARE + KNOWN_SHARE:
            name = schema.name.partition("::")[2]
            known = drawn_calls.known_call(name, schema.overload_name)
            if known is not None:
                return self.known_step(form, name, *known)
        return self.schema_step(form, schema)

    def layer_step(self) -> Any:
        """A layer of ``torch.nn``; its parameters, buffers and inputs become leaves."""
        name, given, shapes = drawn_modules.drawn(self.draw)
        state: dict[str, int] = {}
        try:
            layer = getattr(torch.nn, name)(**given)
        except Exception:
            layer = torch.nn.Identity()  # both sides refuse the arguments
        for key, tensor in layer.state_dict().items():
            dtype = str(tensor.dtype).rpartition(".")[2]
            array = tensor.numpy(force=True)
            if dtype == "float32":
                array = drawn_tensors.values(self.draw, tuple(tensor.shape), dtype)
            if "running_var" in key:
                array = np.abs(array)
            self.add_array(
                array, dtype, "constant" if "running" in key else "parameter"
            )
            state[key] = len(self.pools[0]) - 1
        inputs = []
        for shape in shapes:
            self.add_leaf(shape, "float32")
            inputs.append(len(self.pools[0]) - 1)
        training = self.draw.random() < 0.5
        return drawn_modules.Layer(name, given, state, inputs, training)

    def transform_step(self) -> Any:
        """A transform of a call that writes nothing, as a function of an operand."""
        for _ in range(50):
            form, schema = self.draw.choice(self.table)
            name = schema.name.partition("::")[2]
            known = drawn_calls.known_call(name, schema.overload_name)
            if name.endswith("_") or form == "special":
                continue  # PyTorch's gradients of some special functions are zeros
            if known is not None and self.draw.random() < 0.6:
                step = self.known_step(form, name, *known)
            else:
                step = self.schema_step(form, schema)
            if step.operands():
                varied = self.draw.choice(step.operands())
                return drawn_transforms.Transformed(self.draw, step, varied)
        return self.other_step()

    def schema_step(self, form: str, schema: Any) -> Step:
        """A call with arguments drawn by type and name."""
        name = schema.name.partition("::")[2]
        if form in ("linalg", "special", "fft"):
            name = name.removeprefix(form + "_")
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        skipped = False
        outs: list[Pooled] = []
        for k, argument in enumerate(schema.arguments):
            if argument.is_out:
                outs.append(self.destination(args))
                continue
            has_default = argument.has_default_value()
            is_left_out = has_default and argument.name != "reduction"
            if is_left_out and self.draw.random() < 0.65:
                skipped = True
                continue
            value = self.value(argument, args, k)
            if value is Ellipsis:
                skipped = True
            elif argument.kwarg_only or skipped:
                kwargs[argument.name] = value
            else:
                args.append(value)
        if name in LOOSE:
            args = [*args[0], *args[1:]]
        if outs:
            kwargs["out"] = outs[0] if len(outs) == 1 else tuple(outs)
        return Step(form, name, args, kwargs)

    def destination(self, args: list[Any]) -> Pooled:
        """A tensor to write a result to: one of the pool, or an empty one."""
        if self.draw.random() < 0.4 or not (args and isinstance(args[0], Pooled)):
            return self.tensor("")
        dtype = str(self.pools[0][args[0]].dtype).rpartition(".")[2]
        self.add_array(np.zeros((0,)), dtype, "constant")
        return Pooled(len(self.pools[0]) - 1)

    def other_step(self) -> Step:
        """An operator, or a read or write at an index."""
        draw = self.draw
        form = draw.choice(drawn_calls.FORMS)
        x = self.tensor("")
        if form == "operator":
            name = draw.choice(drawn_calls.OPERATORS)
            args: list[Any] = [x]
            if name not in drawn_calls.UNARY:
                is_number = draw.random() < 0.4
                args.append(
                    draw.choice(drawn_calls.NUMBERS) if is_number else self.tensor("")
                )
                if is_number and draw.random() < 0.5 and not name.startswith("i"):
                    args.reverse()
            return Step(form, name, args, {})
        pool = self.pools[0]
        indices = [
            Pooled(k)
            for k, t in enumerate(pool)
            if t.dtype in (torch.int64, torch.bool)
        ]
        where = drawn_calls.index(draw, tuple(pool[x].shape), indices)
        value = draw.choice([self.tensor(""), draw.choice(drawn_calls.NUMBERS)])
        return Step(form, "", [x, where, value][: 2 if form == "getitem" else 3], {})

    def known_step(self, form: str, name: str, args: Any, kwargs: Any) -> Step:
        """A call with arguments that an op takes; its tensors become leaves."""
        dtype = self.draw.choice(["float32"] * 4 + ["float64", "bfloat16"])

        def drawn(item: Any) -> Any:
            if isinstance(item, (list, tuple)):
                return [drawn(x) for x in item]
            if isinstance(item, (pellucid.dtype, pellucid.memory_format)):
                return Word(str(item).rpartition(".")[2])
            if not is_tensor(item):
                return item
            own = str(item.dtype).rpartition(".")[2]
            self.add_array(item.numpy(), dtype if own == "float64" else own)
            return Pooled(len(self.pools[0]) - 1)

        if form in ("linalg", "special", "fft"):
            name = name.removeprefix(form + "_")
        args = [drawn(x) for x in args]
        if name in LOOSE:
            args = [*args[0], *args[1:]]
        named = {k: drawn(x) for k, x in kwargs.items() if x is not None}
        return Step(form, name, args, named)

    def value(self, argument: Any, args: list[Any], position: int) -> Any:
        draw, name, kind = self.draw, argument.name, str(argument.type)
        rank = (
            self.pools[0][args[0]].dim() if args and isinstance(args[0], Pooled) else 2
        )
        if name in NOT_DRAWN:
            return Ellipsis
        if kind.startswith("Optional["):
            if draw.random() < 0.3:
                return None
            kind = kind[9:-1]
        if kind == "Tensor":
            return self.tensor(name)
        if kind in ("List[Tensor]", "List[Optional[Tensor]]"):
            return [self.tensor(name) for _ in range(draw.randint(1, 3))]
        if name == "dtype" or name.endswith("_dtype"):
            return Word(draw.choice(drawn_tensors.DTYPES))
        if kind == "bool":
            return draw.random() < 0.5
        if kind in ("int", "SymInt"):
            if name in DIMS:
                return draw.randint(-rank - (draw.random() < 0.05), max(rank - 1, 0))
            if name == "reduction":
                return draw.choice([0, 1, 2])
            return draw.choice([0, 1, 1, 2, 2, 3, -1])
        if kind in ("List[int]", "List[SymInt]"):
            return self.numbers(name, args, rank)
        if kind == "float":
            return draw.choice([0.5, 1.0, 2.0, 0.0, -1.5])
        if kind == "number" or kind == "Scalar":
            return draw.choice([0, 1, 2, -1, 0.5, 2.5, True, -0.5])
        if kind == "List[float]":
            return [draw.choice([0.5, 1.0, 2.0]) for _ in range(draw.randint(1, 2))]
        if kind == "str":
            return draw.choice(
                ["mean", "none", "sum", "floor", "trunc", "ij", "linear"]
            )
        if kind == "List[bool]":
            return [draw.random() < 0.5 for _ in range(2)]
        return Ellipsis

    def tensor(self, name: str) -> Pooled:
        pool = self.pools[0]
        fits = range(len(pool))
        if name in INDEX_WORDS and self.draw.random() < 0.85:
            fits = [k for k in fits if pool[k].dtype == torch.int64] or fits
        if name in ("mask", "condition") and self.draw.random() < 0.85:
            fits = [k for k in fits if pool[k].dtype == torch.bool] or fits
        return Pooled(self.draw.choice(list(fits)))

    def numbers(self, name: str, args: list[Any], rank: int) -> list[int]:
        draw = self.draw
        if name in DIMS or name == "dim":
            dims = list(range(rank))
            draw.shuffle(dims)
            dims = dims[
                : draw.randint(0 if draw.random() < 0.1 else min(1, rank), rank)
            ]
            return [d - rank if draw.random() < 0.3 else d for d in dims]
        if name in ("size", "shape", "normalized_shape") and args:
            shape = list(self.pools[0][args[0]].shape) if args[0] is not None else [2]
            how = draw.random()
            if how < 0.3:
                return [math.prod(shape)]
            if how < 0.5:
                return [-1, *shape[1:]]
            if how < 0.7:
                return shape[::-1]
            return [2, *shape] if how < 0.85 else shape
        return [draw.choice([0, 1, 1, 2, 2, 3]) for _ in range(draw.randint(1, 3))]


def flat(result: Any) -> Iterator[Any]:
    if isinstance(result, (list, tuple)):
        for item in result:
            yield from flat(item)
    else:
        yield result


def holds_values(item: Any) -> bool:
    return not is_tensor(item) or item.numel() > 0


def is_tensor(item: Any) -> bool:
    return isinstance(item, (torch.Tensor, pellucid.Tensor))


def array_of(tensor: Any, side: Any) -> np.ndarray:
    tensor = tensor.detach()
    if tensor.layout != side.strided:
        tensor = tensor.to_dense()
    if side is torch:
        tensor = tensor.resolve_conj().resolve_neg()
    if tensor.dtype in (side.bfloat16, side.float16):
        tensor = tensor.to(side.float64)
    if tensor.dtype == side.complex32:
        tensor = tensor.to(side.complex128)
    # Of a copy: numpy() forbids the resizing of a tensor from then on.
    return tensor.clone().numpy(force=True)


def close(
    a: np.ndarray, b: np.ndarray, dtype: str, tolerance: float | None = None
) -> bool:
    if a.dtype.kind in "biu":
        return bool(np.array_equal(a, b))
    tolerance = tolerance or TOLERANCE.get(dtype, 1e-4)
    with np.errstate(all="ignore"):
        finite = np.abs(a[np.isfinite(a)])
        scale = max(1.0, float(finite.max())) if finite.size else 1.0
        if a.dtype.kind == "c":
            return all(
                np.allclose(
                    x, y, rtol=tolerance, atol=tolerance * scale, equal_nan=True
                )
                for x, y in ((a.real, b.real), (a.imag, b.imag))
            )
        return bool(
            np.allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
        )


def aliased(results: list[Any], pool: list[Any]) -> list[list[int]]:
    """For every result, the tensors of the pool with which it shares elements."""
    storages = [x.untyped_storage().data_ptr() for x in pool]
    return [
        [
            k
            for k, x in enumerate(pool)
            if is_tensor(r)
            and storages[k]
            and r.untyped_storage().data_ptr() == storages[k]
            and not addresses(r).isdisjoint(addresses(x))
        ]
        for r in results
    ]


def addresses(tensor: Any) -> set[int]:
    """Where the bytes of the elements are."""
    places = np.zeros(tuple(tensor.shape), np.int64)
    for n, stride, index in zip(
        tensor.shape, tensor.stride(), np.indices(tensor.shape), strict=True
    ):
        places += index * stride if n else 0
    size, start = tensor.element_size(), tensor.data_ptr()
    return {start + int(p) * size + b for p in places.flat for b in range(size)}


def short(*pair: Any) -> str:
    """Both results in one line, as far as they can be printed."""
    if any(x is None or not is_tensor(x) or x.numel() > 24 for x in pair):
        return ""
    return " | ".join(
        str(array_of(x, s).tolist()) for x, s in zip(pair, SIDES, strict=True)
    )


def asked(tensor: Any, name: str) -> Any:
    try:  # views of several results raise once their base is written
        return getattr(tensor, name)
    except RuntimeError as error:
        return type(error).__name__


def form_has_no_gradient(step: Any) -> bool:
    """Whether PyTorch lacks derivatives, so that it also takes ``out=`` for operands
    that require them.
    """
    return step.form == "special" or step.name.endswith("_copy")


def has_gradients(theirs: Any) -> bool:
    """Whether a result of PyTorch can have a gradient: not if it consists of integers,
    which it nevertheless marks when they are written in place, nor if PyTorch lacks the
    derivative.
    """
    if not theirs.is_floating_point() and not theirs.is_complex():
        return False
    node = asked(theirs, "grad_fn")
    return not getattr(node, "name", str)().endswith("NotImplemented")


def difference(
    theirs: Any,
    ours: Any,
    is_alone: bool = False,
    accuracy: str = "",
    tolerance: float | None = None,
) -> str:
    """The difference between PyTorch's result and ours; empty if there is none.
    ``is_alone``: nothing else uses its memory. ``accuracy``: the dtype whose rounding
    is allowed, by default the result's own.
    """
    if is_tensor(theirs) != is_tensor(ours):
        return f"type {type(theirs).__name__} | {type(ours).__name__}"
    if not is_tensor(theirs):
        both = isinstance(theirs, float) and isinstance(ours, float)
        if both and (math.isclose(theirs, ours, rel_tol=1e-5) or theirs != theirs):
            return ""
        return "" if str(theirs) == str(ours) else f"value {theirs!r} | {ours!r}"[:80]
    dtypes = [str(x.dtype).rpartition(".")[2] for x in (theirs, ours)]
    if dtypes[0] != dtypes[1]:
        return f"dtype {dtypes[0]} | {dtypes[1]}"
    shapes = [tuple(x.shape) for x in (theirs, ours)]
    if shapes[0] != shapes[1]:
        return f"shape {shapes[0]} | {shapes[1]}"
    for ask in ("requires_grad", "is_leaf") if has_gradients(theirs) else ():
        answers = [asked(x, ask) for x in (theirs, ours)]
        if answers[0] != answers[1]:
            return f"{ask} {answers[0]} | {answers[1]}"
    is_hidden = is_alone and not ours._is_view()
    if theirs._is_view() != ours._is_view() and not is_hidden:
        return f"_is_view {theirs._is_view()} | {ours._is_view()}"
    arrays = [array_of(x, s) for x, s in zip((theirs, ours), SIDES, strict=True)]
    return "" if close(*arrays, accuracy or dtypes[0], tolerance) else "values"


def copied(pool: list[Any]) -> list[np.ndarray]:
    return [array_of(x, torch).copy() for x in pool]


def is_rounding(step: Step, maker: Maker, before: list[np.ndarray]) -> bool:
    """Whether both sides agree once the call has the same operands on both."""
    pools: list[list[Any]] = []
    for side in SIDES:
        made = [
            side.tensor(array.tolist(), dtype=getattr(side, str(array.dtype)))
            .reshape(array.shape)
            .to(getattr(side, str(x.dtype).rpartition(".")[2]))
            for array, x in zip(before, maker.pools[0], strict=False)
        ]
        pools.append(made)
    found, errors = zip(
        *(attempt(step, s, p) for s, p in zip(SIDES, pools, strict=True)), strict=True
    )
    if any(errors):
        return False
    pairs = [*zip(*map(list, map(flat, found)), strict=True), *zip(*pools, strict=True)]
    tolerance = COARSE.get(step.name)
    return not any(
        difference(a, b, is_alone=True, tolerance=tolerance) == "values"
        for a, b in pairs
    )


def is_spread(step: Step, before: list[np.ndarray]) -> bool:
    """Whether infinities and NaN spread through a Fourier transform, in an order that
    depends on its algorithm.
    """
    operands = [before[k] for k in step.operands()]
    return step.form == "fft" and any(
        x.dtype.kind in "fc" and not np.isfinite(x).all() for x in operands
    )


def attempt(step: Step, side: Any, pool: list[Any]) -> tuple[Any, Exception | None]:
    try:
        return step.run(side, pool), None
    except TimeoutError:
        raise TimeoutError(f"{side.__name__}: {step}") from None
    except Exception as error:
        return None, error


def changes(maker: Maker) -> dict[int, str]:
    """The differences between the tensors of both pools."""
    pairs = enumerate(zip(*maker.pools, strict=True))
    found = {k: difference(a, b, is_alone=k in maker.hidden) for k, (a, b) in pairs}
    return {k: what for k, what in found.items() if what}


def run(
    seed: int,
    table: list[tuple[str, Any]],
    refused: list[Any],
    show: bool = False,
) -> Any:
    """The first difference of a program as (op, what, step), or None."""
    maker = Maker(seed, table)
    lines = maker.shown
    if show:
        print(*lines, sep="\n")
    calls = 0
    wanted = maker.draw.randint(3, 13)
    for _ in range(60):
        if calls == wanted:
            break
        step = maker.step()
        if show:
            print(step, end=" ", flush=True)
        before = copied(maker.pools[0])
        if any(x.requires_grad and not has_gradients(x) for x in maker.pools[0]):
            return None  # integers that PyTorch marks when they are written
        found, errors = zip(
            *(attempt(step, s, p) for s, p in zip(SIDES, maker.pools, strict=True)),
            strict=True,
        )
        if show:
            print([str(e).splitlines()[:2] if e else "" for e in errors], flush=True)
        kinds = [type(e).__name__ if e else "" for e in errors]
        lacks_transform = step.form == "func" and errors[0]
        if form_has_no_gradient(step) and "with out=" in str(errors[1]):
            return None
        takes_no_out = kinds[0] == "TypeError" and "out" in getattr(step, "kwargs", ())
        if (
            any(text in str(errors[0]) for text in WANTS)
            or lacks_transform
            or takes_no_out
        ):
            kinds = kinds[:1] * 2
        if step.name in REFUSES_LAYOUTS and "view size" in str(errors[0]):
            return None
        if all(kinds) and kinds[0] != kinds[1]:
            what = f"error {kinds[0]} | {kinds[1]}"
            refused.append((step.name, what, str(errors[0])[:120], [str(step)]))
        elif kinds[0] != kinds[1]:
            if not kinds[0] and not any(holds_values(x) for x in flat(found[0])):
                return None  # PyTorch looks for a kernel only if there are elements
            lines.append(str(step))
            why = str(errors[0] or errors[1]).splitlines()[:1]
            what = f"error {kinds[0] or 'none'} | {kinds[1] or 'none'}"
            return step.name, what, why, lines
        if errors[0]:
            if any(
                difference(a, b, is_alone=True)
                for a, b in zip(*maker.pools, strict=True)
            ):
                return None  # an operand of a refused call has been written or resized
            continue
        calls += 1
        lines.append(str(step))
        results = [list(flat(x)) for x in found]
        if len(results[0]) != len(results[1]):
            return step.name, "number of results", "", lines
        shared = [aliased(r, p) for r, p in zip(results, maker.pools, strict=True)]
        if shared[0] != shared[1]:
            return step.name, f"aliases {shared[0]} | {shared[1]}", "", lines
        for a, b, known in zip(*results, shared[0], strict=True):
            what = difference(a, b, is_alone=maker.hidden.issuperset(known))
            if what == "values" and (
                step.name in OPEN
                or is_spread(step, before)
                or is_rounding(step, maker, before)
            ):
                return None
            if what == "requires_grad False | True" and step.form == "special":
                return None  # PyTorch lacks the derivative
            if what:
                shown = short(a, b)
                return (
                    step.name,
                    what.split("(")[0] if "shape" in what else what,
                    shown,
                    lines,
                )
        changed = changes(maker)
        if "values" in (changed.get(k) for k in step.operands()) and is_rounding(
            step, maker, before
        ):
            return None
        for k, what in changed.items():
            shown = short(*(pool[k] for pool in maker.pools))
            return step.name, f"then an operand's {what}", shown, [*lines, f"t{k}"]
        maker.keep(results)
    return gradients(maker, lines)


def gradients(maker: Maker, lines: list[str]) -> Any:
    """Compares the gradients of the last results."""
    found = []
    for side, pool in zip(SIDES, maker.pools, strict=True):
        ends = [x for x in pool[-4:] if x.requires_grad]
        leaves = [pool[k] for k in maker.leaves if pool[k].is_leaf]
        if not ends or not leaves:
            return None
        try:
            total = sum((x.abs() if x.is_complex() else x).double().sum() for x in ends)
            found.append(side.autograd.grad(total, leaves, allow_unused=True))
        except Exception as error:
            found.append(error)
    if any(isinstance(x, Exception) for x in found):
        kinds = [type(x).__name__ if isinstance(x, Exception) else "" for x in found]
        if kinds[0] == kinds[1] or any(
            text in str(found[0]) for text in (*WANTS, SAVES_MORE)
        ):
            return None
        why = next(str(x) for x in found if isinstance(x, Exception)).splitlines()[:1]
        return (
            "gradient",
            f"error {kinds[0] or 'none'} | {kinds[1] or 'none'}",
            why,
            lines,
        )
    # PyTorch computes parts of a gradient in the least accurate operand's dtype.
    dtypes = [str(x.dtype).rpartition(".")[2] for x in maker.pools[0]]
    coarsest = max(dtypes, key=lambda name: TOLERANCE.get(name, 0.0))
    for a, b in zip(*found, strict=True):
        what = "None" if (a is None) != (b is None) else ""
        what = what or ("" if a is None else difference(a, b, accuracy=coarsest))
        what = "" if what.startswith("_is_view") else what
        if what:
            return "gradient", what, short(a, b), lines
    return None


def kind(what: str) -> int:
    """The order in which differences are printed: the most severe first."""
    if not what.startswith("error"):
        return 0
    theirs, _, ours = what.removeprefix("error ").partition(" | ")
    return 1 if theirs == "none" else 2 if ours == "none" else 3


def too_long(*_: Any) -> None:
    raise TimeoutError


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--show", type=int)
    parser.add_argument("--trace", action="store_true", help="print seeds as they run")
    parser.add_argument("--only", default="", help="ops whose name holds this")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    pellucid.set_num_threads(1)
    table = [x for x in schemas() if options.only in x[1].name]
    if options.show is not None:
        found = run(options.show, table, [], show=True)
        print(found[:3] if found else "agrees")
        return
    counts: dict[tuple[str, str], list[Any]] = defaultdict(list)
    differing = 0
    signal.signal(signal.SIGPROF, too_long)
    start = time.perf_counter()
    for seed in range(options.start, options.start + options.programs):
        if options.trace:
            print(seed, file=sys.stderr, flush=True)
        refused: list[Any] = []
        signal.setitimer(signal.ITIMER_PROF, 5)
        try:
            found = run(seed, table, refused)
        except TimeoutError as error:
            found = "a program", "takes more than 5 s", str(error), [""]
        signal.setitimer(signal.ITIMER_PROF, 0)
        if found:
            differing += 1
        for op, what, detail, lines in [*refused, *([found] if found else [])]:
            counts[op, what].append((seed, detail, lines[-1]))
    for (op, what), seen in sorted(
        counts.items(), key=lambda x: (kind(x[0][1]), -len(x[1]))
    ):
        _, detail, line = seen[0]
        seeds = ", ".join(str(seed) for seed, _, _ in seen[:4])
        print(f"{len(seen):5} {op}: {what}  [{seeds}] {line} {str(detail)[:160]}")
    seconds = time.perf_counter() - start
    print(f"{differing} of {options.programs} programs differ; {seconds:.0f} s")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
