"""The names of the package that are imported when they are first used.

``pellucid/__init__.py`` calls ``bind_lazy``; importing the modules of these tables with
the package would take longer than the package itself. ``lazy.py`` holds the objects
that take the names' places until then.
"""

from __future__ import annotations

from pellucid._package.lazy import LazyMethod, put_modules, put_values

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any

# Submodules, as attributes of the package.
MODULES = (
    *("__config__", "_dynamo", "accelerator", "amp", "ao", "autograd", "backends"),
    *(
        "compiler",
        "cpu",
        "cuda",
        "devices",
        "diagnose",
        "distributed",
        "distributions",
        "explain",
        "export",
        "fft",
    ),
    *("func", "functional", "futures", "fx", "hub", "jit", "library", "linalg"),
    *("masked", "memory", "mps", "mtia", "multiprocessing", "nn", "onnx", "optim"),
    "overrides",
    "profiler",
    *("quantization", "quasirandom", "random", "return_types", "serialization"),
    *("signal", "sparse", "special", "storage", "testing", "tour", "types", "utils"),
    *("version", "viz"),
    "xpu",
)
# Functions, classes and numbers, by their modules.
VALUES = {
    "_dynamo.compile": ("compile",),
    "_ops": ("Tag", "ops"),
    "_serialization.file_reader": ("PyTorchFileReader",),
    "_tensor.legacy_types": (
        *("BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor"),
        *("FloatTensor", "HalfTensor", "IntTensor", "LongTensor", "ShortTensor"),
        "set_default_tensor_type",
    ),
    "_tensor.printing": ("set_printoptions",),
    "amp": ("autocast", "GradScaler"),
    "amp.autocast_mode": (
        *("autocast_decrement_nesting", "autocast_increment_nesting"),
        *("clear_autocast_cache", "get_autocast_cpu_dtype", "get_autocast_dtype"),
        *("get_autocast_gpu_dtype", "is_autocast_cache_enabled"),
        *("is_autocast_cpu_enabled", "is_autocast_enabled"),
        *("set_autocast_cache_enabled", "set_autocast_cpu_dtype"),
        *("set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled"),
        "set_autocast_gpu_dtype",
    ),
    "diagnose.roofline": ("roofline",),
    "func": ("vmap",),
    "futures": ("Future",),
    "jit": ("ScriptModule", "fork", "wait"),
    "overrides": ("DisableTorchFunction", "DisableTorchFunctionSubclass"),
    "random": (
        *("fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed"),
        "set_rng_state",
    ),
    "serialization": ("load", "save"),
    "storage": (
        *("BFloat16Storage", "BoolStorage", "ByteStorage", "CharStorage"),
        *("ComplexDoubleStorage", "ComplexFloatStorage", "DoubleStorage"),
        *("FloatStorage", "HalfStorage", "IntStorage", "LongStorage", "ShortStorage"),
        *("TypedStorage", "UntypedStorage"),
    ),
    "types": ("SymBool", "SymFloat", "SymInt"),
    "utils._device": ("get_default_device", "set_default_device"),
}
# Functions that ``__torch_function__`` sees.
FUNCTIONS = {
    "_functions.dtype_queries": (*("is_same_size", "is_signed", "range"),),
    "_functions.legacy": (
        *("_assert", "_assert_async", "_segment_reduce", "dsmm", "get_device"),
        *("is_distributed", "spmm"),
    ),
    "_quantized.construct": (
        *("_choose_qparams_per_tensor", "_empty_affine_quantized"),
        *("_empty_per_channel_affine_quantized", "_make_per_channel_quantized_tensor"),
        *("_make_per_tensor_quantized_tensor", "dequantize", "int_repr"),
        *("q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points"),
        *("q_scale", "q_zero_point", "quantize_per_channel", "quantize_per_tensor"),
        "quantize_per_tensor_dynamic",
    ),
    "_quantized.fake": (
        "_fake_quantize_learnable_per_channel_affine",
        "_fake_quantize_learnable_per_tensor_affine",
        *("fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine"),
        "fused_moving_avg_obs_fake_quant",
    ),
    "_sparse.construct": (
        *("sparse_bsc_tensor", "sparse_bsr_tensor"),
        *("sparse_compressed_tensor", "sparse_coo_tensor"),
        *("sparse_csc_tensor", "sparse_csr_tensor"),
    ),
    "_functions.eigenpairs": ("lobpcg",),
    "_functions.low_rank": (*("pca_lowrank", "svd_lowrank"),),
    "_functions.symbolic_numbers": (
        *("sym_float", "sym_int", "sym_ite", "sym_max", "sym_min"),
        *("sym_not", "sym_sqrt", "sym_sum"),
    ),
    "_sparse.methods": ("hspmm", "resize_as_sparse_", "smm", "sspaddmm"),
    "_higher_order_ops.cond": ("cond",),
    "_higher_order_ops.while_loop": ("while_loop",),
    "_package.settings": (
        *("get_deterministic_debug_mode", "has_lapack", "has_mkl"),
        *("has_openmp", "has_spectral", "init_num_threads"),
        *("_register_device_module", "is_vulkan_available", "get_device_module"),
        *("is_warn_always_enabled", "set_anomaly_enabled"),
        *("set_flush_denormal", "set_deterministic_debug_mode"),
        *("set_warn_always",),
    ),
    "nn.functional": (*("max_pool1d_with_indices",),),
}
# Functions that are methods of Tensor.
METHODS = {
    "_functions.storage_methods": (*("set_", "storage", "storage_type"),),
    "_tensor.element_methods": (
        *("apply_", "map2_", "map_", "polygamma", "polygamma_"),
    ),
    "_tensor.legacy_methods": (
        *("dim_order", "is_distributed", "new"),
        *("const_data_ptr", "eig", "lstsq", "module_load"),
        *("record_stream", "reinforce", "resize", "resize_as"),
        *("solve", "symeig", "to_padded_tensor"),
    ),
    "_quantized.methods": (
        *("dequantize", "int_repr", "q_per_channel_axis", "q_per_channel_scales"),
        *("q_per_channel_zero_points", "q_scale", "q_zero_point", "qscheme"),
    ),
    "_sparse.methods": (
        *("_coalesced_", "_indices", "_nnz", "_values", "ccol_indices", "coalesce"),
        *("col_indices", "crow_indices", "dense_dim", "indices", "is_coalesced"),
        *("hspmm", "resize_as_sparse_"),
        *("row_indices", "smm", "sparse_dim", "sparse_mask", "sparse_resize_"),
        *("sparse_resize_and_clear_", "sspaddmm", "to_dense", "to_sparse"),
        *("to_sparse_bsc", "to_sparse_bsr", "to_sparse_coo", "to_sparse_csc"),
        *("to_sparse_csr", "values"),
    ),
}
# What libraries find in ``torch._C`` and is written in Python.
OF_RUNTIME: dict[str, tuple[str, ...]] = {
    "overrides": ("DisableTorchFunction", "DisableTorchFunctionSubclass"),
}


def bind_lazy(namespace: dict[str, Any]) -> None:
    """Put all of it into the package's namespace and on its Tensor class."""
    tensor = namespace["Tensor"]
    put_modules(namespace, MODULES)
    put_values(namespace, _module_of(VALUES), overridable=False)
    put_values(namespace, _list_functions(namespace, tensor), overridable=False)
    put_values(namespace, _module_of(FUNCTIONS), overridable=True)
    put_values(vars(namespace["_C"]), _module_of(OF_RUNTIME), overridable=False)
    for name, module in _module_of(METHODS).items():
        setattr(tensor, name, LazyMethod(tensor, module, name))


def _module_of(table: dict[str, tuple[str, ...]]) -> dict[str, str]:
    return {name: module for module, names in table.items() for name in names}


def _list_functions(namespace: dict[str, Any], tensor: Any) -> dict[str, str]:
    """``_foreach_`` functions: for each in-place method, and plain where the op is a
    function, too; and for a few others (``_functions/foreach.py``).
    """
    methods = [name for name in vars(tensor.__base__) if name[-1] == "_" != name[-2]]
    others = ("clone", "max", "mm", "norm", "powsum")
    pairs = ("maximum", "maximum_", "minimum", "minimum_")
    plain = [name[:-1] for name in methods if name[:-1] in namespace]
    names = (*methods, *plain, *others, *pairs)
    return {f"_foreach_{name}": "_functions.foreach" for name in names}
