"""Which functions of the package stand in modules that are imported when first asked
for, and which of them are methods of Tensor too.

Called by ``pellucid/__init__.py``; importing all these modules with the package would
cost more than the package itself.
"""

from __future__ import annotations

from importlib import import_module

from pellucid._tensor import Tensor

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any

_FUNCTIONS = {
    "_counts": ("binomial", "poisson"),
    "_functional_forms": (
        *("affine_grid_generator", "batch_norm", "binary_cross_entropy_with_logits"),
        *("cosine_embedding_loss", "hinge_embedding_loss", "instance_norm"),
        *("layer_norm", "margin_ranking_loss", "norm_except_dim", "poisson_nll_loss"),
        "triplet_margin_loss",
    ),
    "_low_rank": ("pca_lowrank", "svd_lowrank"),
    "_matrices": (
        *("chain_matmul", "cholesky", "cholesky_inverse", "cholesky_solve", "det"),
        *("frobenius_norm", "inverse", "logdet", "lu", "lu_solve", "lu_unpack"),
        *("matrix_exp", "matrix_power", "nuclear_norm", "orgqr", "ormqr", "pinverse"),
        *("qr", "slogdet", "svd", "triangular_solve"),
    ),
    "_native": (
        *("grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "native_batch_norm"),
    ),
    "_numeric": ("gradient", "histogram", "histogramdd", "ldexp", "mvlgamma"),
    "_questions": ("is_same_size", "is_signed", "range", "result_type"),
    "_older_functions": (
        *("_assert", "convolution", "dsmm", "embedding_renorm_"),
        *("get_device", "is_distributed", "kl_div", "ldexp_", "spmm"),
        *("sparse_bsc_tensor", "sparse_bsr_tensor", "sparse_compressed_tensor"),
        *("sparse_coo_tensor", "sparse_csc_tensor", "sparse_csr_tensor"),
    ),
    "_recurrent_forms": (
        *("gru", "gru_cell", "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell"),
        *("rnn_tanh", "rnn_tanh_cell"),
    ),
    "_settings": (
        *("get_deterministic_debug_mode", "has_lapack", "has_mkl", "has_openmp"),
        *("has_spectral", "init_num_threads", "is_vulkan_available"),
        *(
            "get_device_module",
            "is_warn_always_enabled",
            "set_anomaly_enabled",
            "set_flush_denormal",
        ),
        *("set_deterministic_debug_mode", "set_warn_always"),
    ),
    "_spectra": ("istft", "stft"),
    "_symbolic_numbers": (
        *("cond", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not"),
        *("sym_sqrt", "sym_sum"),
    ),
    "nn.functional": (
        *("bilinear", "conv_tbc", "max_pool1d_with_indices", "rrelu", "rrelu_"),
        "native_channel_shuffle",
    ),
}
_METHODS = {
    "_elements": (
        *("apply_", "float_power_", "is_nonzero", "map2_", "map_"),
        "renorm_",
    ),
    "_older_methods": (
        *("dim_order", "is_coalesced", "is_distributed", "new"),
        *("pin_memory", "to_dense"),
        *("ccol_indices", "coalesce", "col_indices", "const_data_ptr"),
        *("crow_indices", "dense_dim", "dequantize", "eig", "indices", "int_repr"),
        *("lstsq", "module_load", "q_per_channel_axis"),
        *("q_per_channel_scales", "q_per_channel_zero_points", "q_scale"),
        *("q_zero_point", "qscheme", "record_stream", "reinforce", "resize"),
        *("resize_as", "row_indices", "smm", "solve", "sparse_dim", "sparse_mask"),
        *("sparse_resize_", "sspaddmm", "symeig", "to_padded_tensor", "to_sparse"),
        *("to_sparse_bsc", "to_sparse_bsr", "to_sparse_coo", "to_sparse_csc"),
        *("to_sparse_csr", "values"),
    ),
    "_matrices": (
        *("cholesky", "cholesky_inverse", "cholesky_solve", "det", "inverse"),
        *("logdet", "lu", "lu_solve", "matrix_exp", "matrix_power", "orgqr", "ormqr"),
        *("pinverse", "qr", "slogdet", "svd", "triangular_solve"),
    ),
    "_numeric": (
        *("histogram", "ldexp", "ldexp_", "mvlgamma", "mvlgamma_"),
        *("polygamma", "polygamma_"),
    ),
    "_spectra": ("istft", "stft"),
}
# Where each function stands.
HOMES = {name: module for module, names in _FUNCTIONS.items() for name in names}


class _Later:
    """A method that replaces itself by its function at first use."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        function = getattr(import_module(f"pellucid.{self.module}"), self.name)
        setattr(Tensor, self.name, function)
        return function.__get__(instance, owner)


def bind_methods() -> None:
    """Puts the methods on Tensor."""
    for module, names in _METHODS.items():
        for name in names:
            setattr(Tensor, name, _Later(module, name))


def lists_forms() -> dict[str, str]:
    """Where the functions stand that apply an op to lists: one for each op with an
    in-place method, and in place, and those of a few others (``_foreach.py``).
    """
    methods = [name for name in vars(Tensor.__base__) if name[-1] == "_" != name[-2]]
    others = ("clone", "max", "mm", "norm", "powsum")
    pairs = ("maximum", "maximum_", "minimum", "minimum_")
    names = (*methods, *(name[:-1] for name in methods), *others, *pairs)
    return {f"_foreach_{name}": "_foreach" for name in names}
