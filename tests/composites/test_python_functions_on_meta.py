"""Functions written in Python return Meta tensors of the right shapes and dtypes: all
that ``overrides.get_overridable_functions`` lists besides ops.
"""

import math

import pytest
from tools.schema_calls import mapped, tensors

import pellucid as torch
from pellucid import overrides
from pellucid._package.offers import METHODS

pytestmark = pytest.mark.filterwarnings("ignore")  # some functions are deprecated
F = torch.nn.functional


def waves(*shape):
    count = math.prod(shape)
    return torch.linspace(0.3, 1.7 * count, count).sin().reshape(shape)


LINE, IMAGE, VOLUME = waves(1, 2, 6), waves(1, 2, 6, 6), waves(1, 2, 4, 4, 4)
ROWS, LABELS = waves(4, 3), torch.tensor([1, 0, 2, 1])
CHANCES = torch.full((4, 3), 0.25)
SIGNS = torch.tensor([1.0, -1.0, 1.0, -1.0])
GRID = waves(1, 3, 4, 2)
HEADS = waves(1, 2, 4, 3)
PLACES = [torch.arange(n).reshape(1, 1, -1).repeat(1, 2, 1) for n in (6, 36, 64)]
WEIGHTS = (waves(9, 3), waves(9), None, None, False, 0.0, waves(3, 3), waves(3))

POOLS = {
    f"{kind}{d}d{rest}": (image, 2)
    for d, image in ((1, LINE), (2, IMAGE), (3, VOLUME))
    for kind in ("adaptive_avg_pool", "adaptive_max_pool", "max_pool")
    for rest in ("", "_with_indices")
    if not (kind == "adaptive_avg_pool" and rest)
}
UNPOOLS = {
    f"max_unpool{d}d": (image, places.reshape(image.shape), 1)
    for d, image, places in zip((1, 2, 3), (LINE, IMAGE, VOLUME), PLACES, strict=True)
}
LP_POOLS = {
    f"lp_pool{d}d": (image, 2.0, 2) for d, image in ((1, LINE), (2, IMAGE), (3, VOLUME))
}
FRACTIONAL = {
    f"fractional_max_pool{d}d{rest}": (image, 2, 2)
    for d, image in ((2, IMAGE), (3, VOLUME))
    for rest in ("", "_with_indices")
}
OF_ONE = (
    *(
        "alpha_dropout",
        "celu",
        "dropout",
        "elu",
        "feature_alpha_dropout",
        "hardsigmoid",
    ),
    *("hardswish", "hardtanh", "leaky_relu", "logsigmoid", "mish", "relu", "relu6"),
    *("rrelu", "selu", "sigmoid", "silu", "softsign", "tanh", "normalize"),
    *("gumbel_softmax",),
)
OF_A_DIM = ("log_softmax", "softmax", "softmin")
LOSSES = (
    *("hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "mse_loss"),
    *("poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss"),
    *("multilabel_soft_margin_loss", "binary_cross_entropy_with_logits"),
)
FUNCTIONAL = {
    **POOLS,
    **UNPOOLS,
    **LP_POOLS,
    **FRACTIONAL,
    **dict.fromkeys(OF_ONE, (ROWS,)),
    **dict.fromkeys(OF_A_DIM, (ROWS, 1)),
    **dict.fromkeys(LOSSES, (ROWS, CHANCES)),
    **{f"dropout{d}d": (x,) for d, x in ((1, LINE), (2, IMAGE), (3, VOLUME))},
    **dict.fromkeys(("upsample", "upsample_bilinear", "upsample_nearest"), (IMAGE, 3)),
    "affine_grid": (waves(1, 2, 3), [1, 2, 3, 4], False),
    "batch_norm": (ROWS, waves(3), CHANCES[0]),
    "binary_cross_entropy": (CHANCES, CHANCES),
    "cosine_embedding_loss": (ROWS, CHANCES, SIGNS),
    "cross_entropy": (ROWS, LABELS),
    "ctc_loss": (waves(5, 2, 4), LABELS.reshape(2, 2) + 1, (5, 5), (2, 2)),
    "embedding": (LABELS, ROWS),
    "embedding_bag": (LABELS.reshape(2, 2), ROWS),
    "fold": (waves(1, 8, 25), [6, 6], [2, 2]),
    "gaussian_nll_loss": (ROWS, CHANCES, 0.3),  # reads the signs of a tensor
    "glu": (waves(4, 6),),
    "grouped_mm": (waves(2, 4, 3), waves(2, 3, 5)),
    "grid_sample": (IMAGE, GRID),
    "instance_norm": (LINE,),
    "interpolate": (IMAGE, None, 1.5, "bilinear"),
    "linear_cross_entropy": (ROWS, waves(5, 3), LABELS),
    "local_response_norm": (LINE, 2),
    "margin_ranking_loss": (SIGNS, CHANCES[:, 0], SIGNS),
    "multi_head_attention_forward": (waves(4, 2, 3),) * 3 + (3, 1, *WEIGHTS),
    "multi_margin_loss": (ROWS, LABELS),
    "multilabel_margin_loss": (ROWS, LABELS[:, None].repeat(1, 3)),
    "nll_loss": (ROWS, LABELS),
    "pad": (LINE, [1, 2], "reflect"),
    "scaled_dot_product_attention": (HEADS, HEADS, HEADS),
    "threshold": (ROWS, 0.1, 0.2),
    "triplet_margin_loss": (ROWS, CHANCES, ROWS + 1),
    "triplet_margin_with_distance_loss": (ROWS, CHANCES, ROWS + 1),
    "unfold": (IMAGE, [2, 2]),
}
TORCH = {
    "_segment_reduce": (ROWS, "sum", {"lengths": LABELS, "unsafe": True}),
    "asarray": (ROWS,),
    "cdist": (ROWS, CHANCES),
    "einsum": ("ij,kj->ik", ROWS, CHANCES),
    "conj": (ROWS,),
    **dict.fromkeys(
        ("get_device", "is_complex", "is_conj", "is_floating_point", "is_inference"),
        (ROWS,),
    ),
    **dict.fromkeys(("is_neg", "is_signed", "numel"), (ROWS,)),
    "lu": (ROWS[:3],),
    "max_pool1d_with_indices": (LINE, 2),
    "meshgrid": (SIGNS, CHANCES[:, 0]),
    "norm": (ROWS,),
    "pca_lowrank": (ROWS, 2),
    "svd_lowrank": (ROWS, 2),
    "tensordot": (ROWS, CHANCES, ([0], [0])),
    "unravel_index": (LABELS, (2, 3)),
}
TENSOR = {
    **dict.fromkeys(("bfloat16", "bool", "byte", "cdouble", "cfloat"), (ROWS,)),
    **dict.fromkeys(
        ("char", "double", "float", "half", "int", "long", "short"), (ROWS,)
    ),
    "norm": (ROWS,),
    "__deepcopy__": (ROWS, {"memo": {}}),
    "__reversed__": (ROWS,),
    "as_subclass": (ROWS, torch.nn.Parameter),
    "lu": (ROWS[:3],),
    "new_tensor": (ROWS, [1.0, 2.0]),
    "type": (ROWS, torch.float64),
}
# Functions that are not compared with the CPU's, by reason.
NOT_COMPARED = {
    "reads values, which Meta tensors do not have": {
        *("__array__", "__contains__", "__format__", "_assert"),
        *("cond", "cpu", "lobpcg", "numpy", "while_loop"),
    },
    "shows or describes the tensor itself": {"__dir__", "__reduce_ex__", "__repr__"},
    "gives other objects than tensors": {"__iter__"},
    "takes an array": {"__array_wrap__"},
    "needs CUDA": {"cuda"},
    "takes dtypes that NumPy lacks: quantized/test_narrow_weights.py": {"scaled_mm"},
    "has no operand: see test_a_range_on_meta": {"range"},
    "sets or asks a state of the package": {
        *("_register_device_module", "get_deterministic_debug_mode"),
        *("get_device_module", "init_num_threads", "is_vulkan_available"),
        *("is_warn_always_enabled", "set_anomaly_enabled"),
        *("set_deterministic_debug_mode", "set_flush_denormal", "set_warn_always"),
    },
    "takes numbers": {
        *("sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not"),
        *("sym_sqrt", "sym_sum"),
    },
    "of sparse tensors, which have no Meta form": {
        *("sparse_bsc_tensor", "sparse_bsr_tensor", "sparse_coo_tensor"),
        *("sparse_compressed_tensor", "sparse_csc_tensor", "sparse_csr_tensor"),
    },
    "of nested tensors, which have no Meta form": {
        *("_nested_tensor_from_tensor_list", "_nested_view_from_buffer"),
        "_nested_view_from_jagged",
    },
    "of quantized tensors: PyTorch has no Meta kernels of these": {
        *("_choose_qparams_per_tensor", "_empty_affine_quantized"),
        "_empty_per_channel_affine_quantized",
        "_fake_quantize_learnable_per_channel_affine",
        "_fake_quantize_learnable_per_tensor_affine",
        *("_make_per_channel_quantized_tensor", "_make_per_tensor_quantized_tensor"),
    },
}
OTHERS = {name: reason for reason, names in NOT_COMPARED.items() for name in names}
TABLES = ((torch, TORCH), (F, FUNCTIONAL), (torch.Tensor, TENSOR))


def written_in_python(namespace):
    listed = overrides.get_overridable_functions()[namespace]
    kinds = ("overridable", "function")
    actual = {f.__name__ for f in listed if type(f).__name__ in kinds}
    return actual - METHODS.keys()


@pytest.mark.parametrize(("namespace", "table"), TABLES)
def test_every_function_is_tried(namespace, table):
    tried = table.keys() - METHODS.keys()
    assert written_in_python(namespace) - OTHERS.keys() == tried


def test_every_exception_is_needed():
    assert sum(map(len, NOT_COMPARED.values())) == len(OTHERS)
    listed = set().union(*(written_in_python(namespace) for namespace, _ in TABLES))
    tried = set().union(*(table for _, table in TABLES))
    assert listed >= OTHERS.keys() and not tried & OTHERS.keys()


def test_a_range_on_meta():
    known, actual = torch.range(1, 7, 2), torch.range(1, 7, 2, device="meta")
    assert facts(actual) == facts(known) and actual.is_meta


def facts(results):
    actual = tensors(results)
    return [(tuple(t.shape), t.dtype) for t in actual] if actual else results


CASES = [
    (namespace, name, given)
    for namespace, table in TABLES
    for name, given in table.items()
]


@pytest.mark.parametrize(
    ("namespace", "name", "given"), CASES, ids=lambda v: str(v)[:40]
)
def test_meta_results_are_those_of_the_cpu(namespace, name, given):
    function = getattr(namespace, name)
    options = given[-1] if isinstance(given[-1], dict) else {}
    values = given[:-1] if options else given

    def call(move):
        def change(value):  # a class has a tensor's attributes, too
            return move(value) if isinstance(value, torch.Tensor) else value

        own = {name: mapped(change, value) for name, value in options.items()}
        return function(*mapped(change, values), **own)

    known, actual = call(torch.clone), call(lambda t: t.to("meta"))
    assert facts(actual) == facts(known)
    assert all(t.device.type == "meta" for t in tensors(actual))
