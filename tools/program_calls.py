"""The calls of the programs of ``check_programs.py``: how either side makes one, and
which overloads of PyTorch's table a program may call.
"""

from __future__ import annotations

from typing import Any

import torch
from tools import drawn_calls
from tools.compared_tensors import flat

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
OMITTED = {*LEFT_OUT.split(), *CRASHES_PYTORCH}


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
