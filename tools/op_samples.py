"""Sample calls of any op, drawn from its schema: for the registry's tests, and for the
measurements of ``report_declarations.py``.

Arguments are chosen by type and name; of several shapes those that the op accepts are
used. An op that accepts none is reported by test_registry.py.
"""

import itertools
from functools import cache

import numpy as np

import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
from pellucid_compiler import transforms
from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.declare.key import ListKey, TensorKey
from pellucid_compiler.ir.evaluate import round_to_bfloat16
from pellucid_compiler.ir.interpret import run
from pellucid_compiler.ir.primitives import LOOP
from pellucid_compiler.ir.traversal import conditions_checked

MAX_CALLS = 2
INDEX_NAMES = ("index", "indices", "target", "targets", "sorted_sequence", "repeats")
SHAPES = [
    [(2, 3)],
    [(3, 3)],
    [(3,)],
    [(2, 3, 4)],
    [(2, 3), (3, 4)],
    [(2, 3), (3,)],
    [(3,), (2, 3), (3,)],
    [(2,), (3,)],
    [(2, 3), (2,)],
    [(3, 4), (3, 2), (2, 4)],
    [(2, 2, 3), (2, 3, 4)],
    [(2, 4), (2, 2, 3), (2, 3, 4)],
    [(1, 2, 5, 5), (3, 2, 3, 3)],
    [(4, 2, 3), (2, 2), (2,), (2,)],
    [()],
]


LABELS = np.array([[1, 2], [2, 1]])
KEPT = np.arange(12).reshape(3, 4) % 5 > 0
PROBABILITIES = np.linspace(0.1, 0.9, 6).reshape(2, 3)
RAMP = np.linspace(-1, 1, 6).reshape(3, 2)
SQUARES = np.linspace(-2, 2, 12).reshape(3, 4) ** 2


def waves(*shape):
    """Distinct smooth numbers in (-1, 1)."""
    return np.sin(1.7 * np.arange(np.prod(shape)) + 0.3).reshape(shape)


TIMES = np.array([[True, True], [True, False], [True, False]])
STEPS = waves(3, 2, 8), waves(2, 2)  # (time, batch, features) and a state
LINE, PLANE, SOLID = waves(1, 2, 6), waves(1, 2, 5, 6), waves(1, 1, 4, 5, 3)
FIELDS = waves(2, 8, 5, 6)  # images of 8 channels, and boxes in them
REGIONS = np.array([[0, 0.4, 0.3, 4.6, 3.9], [1, 1.2, 0.7, 5.1, 4.4]])
BOXES = np.array([[0, 0, 4, 4], [1, 1, 4, 5], [3, 3, 7, 7], [0, 0, 4, 3.5]])
SUMS = np.arange(-3, 3, dtype=np.int32).reshape(2, 3)
BYTES = np.arange(-12, 12, dtype=np.int8)
NIBBLES = np.arange(100, 108, dtype=np.uint8).reshape(2, 4)
GIVEN = {  # where the schema does not tell what fits together
    "pellucid::_quantize": [(RAMP, np.array(20.0), np.array(3), False, "int8")],
    "pellucid::_requantize": [
        (SUMS, SUMS[0], RAMP[:, 0].repeat(2)[:3], RAMP[:, 0], 3, 1, -128, "int8")
    ],
    "pellucid::_scale_sums": [(SUMS, SUMS[0], RAMP[:, 0], RAMP[:, 1], 3)],
    "pellucid::_scale_products": [(SUMS, RAMP[:2, 0], RAMP[:, 0], RAMP[:, 1])],
    "pellucid::_int8_rows": [(RAMP.T, BYTES.reshape(8, 3), RAMP[:, 0].repeat(3)[:8])],
    "pellucid::_int4_rows": [
        (np.linspace(-1, 1, 8).reshape(1, 8), NIBBLES, np.ones((2, 2, 2)))
    ],
    "pellucid::_roi_align": [
        (FIELDS, REGIONS, 0.9, 2, 2, 3, 3, True, False),
        (FIELDS, REGIONS, 0.9, 2, 3, 2, 2, False, True),
    ],
    "pellucid::_ps_roi_align": [(FIELDS, REGIONS, 0.9, 2, 2, 3, 3, True)],
    "pellucid::_roi_pool": [(FIELDS, REGIONS, 0.9, 2, 2, 4, 4)],
    "pellucid::_ps_roi_pool": [(FIELDS, REGIONS, 0.9, 2, 2, 4, 4)],
    "pellucid::_deform_columns": [
        (
            *(waves(1, 2, 4, 5), 1.3 * waves(1, 8, 3, 4), waves(1, 4, 3, 4)),
            *([2, 2], [1, 1], [0, 0], [1, 1], 1, True),
        )
    ],
    "pellucid::_nms_kept": [(BOXES, 0.4)],
    "pellucid::_sparse_product": [
        (waves(4), np.array([0, 2, 0, 1]), np.array([1, 0, 3, 1]), waves(4, 3), 3)
    ],
    "pellucid::_compressed_product": [
        (
            *(waves(4), np.array([0, 2, 2, 4]), np.array([1, 0, 3, 1]), waves(4, 3)),
            2,
        )
    ],
    "clamp": [(np.linspace(-2, 2, 6), -1.0, 1.0)],
    "clamp.Tensor": [(np.linspace(-2, 2, 6), np.full(6, -1.1), np.full(6, 0.9))],
    "pellucid::_attend": [
        (waves(2, 3, 4), waves(2, 4, 2)),
        (waves(3, 4), waves(4, 2), KEPT, 0.25),
    ],
    "pellucid::_attention_with_dropout": [
        (waves(3, 2), waves(4, 2), waves(4, 2), KEPT, 0.25, None, True)
    ],
    "linear": [
        (waves(3, 5), waves(4, 5), waves(4)),
        (waves(2, 3, 5), waves(4, 5)),
    ],
    "conv1d": [
        (LINE, waves(3, 2, 3), waves(3)),
        (LINE, waves(4, 1, 2), waves(4), [2], [1], [2], 2),
    ],
    "conv1d.padding": [(LINE, waves(3, 2, 3), waves(3), [1], "same")],
    "conv2d": [
        (PLANE, waves(3, 2, 2, 3), waves(3)),
        (PLANE, waves(4, 1, 2, 2), waves(4), [2, 1], [1, 0], [1, 2], 2),
    ],
    "conv2d.padding": [(PLANE, waves(3, 2, 2, 3), waves(3), [1, 1], "valid")],
    "conv_transpose1d": [(LINE, waves(2, 3, 2), waves(3), [2])],
    "binary_cross_entropy": [
        (PROBABILITIES, PROBABILITIES[::-1] ** 2),
        (PROBABILITIES, PROBABILITIES[::-1] ** 2, np.array([0.5, 1.5, 1.0])),
    ],
    "binary_cross_entropy_with_logits": [
        (waves(2, 3), PROBABILITIES),
        (waves(2, 3), PROBABILITIES, np.full(3, 0.5), np.array([0.5, 1.5, 1.0])),
    ],
    "cross_entropy_loss": [
        (waves(3, 4), np.array([1, 0, 3])),
        (waves(3, 4), np.array([1, 0, 3]), np.linspace(0.2, 1.4, 4)),
    ],
    "nll_loss": [
        (waves(3, 4), np.array([1, 0, 3])),
        (waves(3, 4), np.array([1, 0, 3]), np.linspace(0.2, 1.4, 4)),
    ],
    "view_as_real_copy": [(RAMP + 1j * RAMP[::-1],)],
    "rms_norm": [(SQUARES, [4]), (SQUARES, [4], waves(4))],
    "pellucid::_one_hot": [(np.array([0, 2, 1]), 3)],
    "layer_norm": [(SQUARES, [4]), (SQUARES, [4], waves(4), waves(4)[::-1])],
    "pellucid::_batch_norm_with_batch": [
        (waves(3, 4, 2), None, None, 1e-5),
        (waves(3, 4, 2), waves(4), waves(4)[::-1], 1e-5),
    ],
    "pellucid::_batch_norm_with_statistics": [
        (waves(3, 4, 2), waves(4), waves(4) ** 2 + 0.5, None, None, 1e-5),
        (waves(3, 4, 2), waves(4), waves(4) ** 2, waves(4), waves(4)[::-1], 1e-5),
    ],
    "group_norm": [
        (waves(2, 4, 3), 2),
        (waves(2, 4, 3), 2, waves(4), waves(4)[::-1]),
    ],
    # no index twice: PyTorch's gradient gives every writer the whole gradient
    "index_copy": [(RAMP, 0, np.array([2, 0]), RAMP[:2] + 3.0)],
    "scatter.src": [(RAMP, 0, np.array([[2, 0], [0, 1]]), RAMP[:2] + 3.0)],
    "index_put": [(RAMP, [np.array([2, 0])], RAMP[:2] + 3.0)],
    "put": [(RAMP, np.array([[4, 0], [2, 1]]), RAMP[:2] + 3.0)],
    "_fft_c2c": [(RAMP + 1j * RAMP[::-1], [1, 0], 1, True)],
    "_fft_r2c": [(RAMP, [0, 1], 2, True), (RAMP, [1], 0, False)],
    "_fft_c2r": [(RAMP + 1j * RAMP[::-1], [1, 0], 0, 5)],
    "pellucid::_linalg_permutation": [(np.array([2, 2, 3]), 3)],
    "linalg_ldl_solve": [(waves(3, 3) + np.eye(3), np.array([1, -3, -3]), waves(3, 2))],
    "pellucid::_linalg_pinv": [(RAMP, np.array(1e-9), False)],
    "pellucid::_linalg_lstsq": [(RAMP, RAMP[:, :1] + 1.0, np.array(1e-9))],
    "pellucid::_searchsorted": [(np.arange(5.0), waves(2, 3) * 4, False)],
    "pellucid::_linalg_cholesky": [(RAMP.T @ RAMP + np.eye(2),)],
    "scatter.reduce": [(RAMP, 0, np.array([[2, 0]]), RAMP[:1] + 3.0, "add")],
    "scatter.value_reduce": [(RAMP, 0, np.array([[2, 0]]), 2.0, "multiply")],
    "_int_mm": [
        (np.arange(-6, 9, dtype="i1").reshape(3, 5), np.full((5, 2), -3, "i1")),
        (np.arange(250, 256, dtype="u1").reshape(2, 3), np.full((3, 4), 7, "i1")),
    ],
    "addmv": [(np.ones(2), np.linspace(0, 1, 6).reshape(2, 3), np.linspace(1, 2, 3))],
    "upsample_bilinear2d": [
        (np.linspace(0, 1, 32).reshape(1, 2, 4, 4), [3, 6], False),
        (np.linspace(0, 1, 40).reshape(1, 2, 5, 4), [2, 3], False, 0.4, 0.75),
    ],
    **{
        f"{mode}_pad{dims}d": [(image, [1, 0] * dims)]
        for mode in ("reflection", "replication")
        for dims, image in ((1, LINE), (2, PLANE), (3, SOLID))
    },
    "conv3d": [(SOLID, waves(2, 1, 2, 2, 2), waves(2))],
    "conv3d.padding": [(SOLID, waves(2, 1, 2, 2, 2), None, [1] * 3, "same")],
    "conv_transpose2d.input": [(PLANE, waves(2, 3, 2, 2), waves(3), [2, 1])],
    "conv_transpose3d.input": [(SOLID, waves(1, 2, 2, 2, 2))],
    "col2im": [(waves(1, 8, 12), [4, 5], [2, 2], [1, 1], [0, 0], [1, 1])],
    "pixel_shuffle": [(waves(2, 8, 3, 2), 2)],
    "pixel_unshuffle": [(waves(2, 2, 4, 6), 2)],
    "adaptive_avg_pool1d": [(LINE, [4])],
    "adaptive_max_pool1d": [(LINE, [4])],
    "adaptive_avg_pool2d": [(PLANE, [3, 4])],
    "_adaptive_avg_pool2d": [(PLANE, [3, 4])],
    "convolution": [
        (PLANE, waves(2, 2, 2, 2), waves(2), [1], [1], [1], False, [0], 1),
        (PLANE, waves(2, 3, 2, 2), None, [2], [0], [1], True, [0], 1),
    ],
    "native_layer_norm": [(waves(3, 4), [4], waves(4), None, 1e-5)],
    "native_group_norm": [(waves(2, 4, 3), waves(4), None, 2, 4, 3, 2, 1e-5)],
    "nll_loss_forward": [(waves(3, 4), np.array([1, 0, 3]), None, 1, -100)],
    "nll_loss2d_forward": [
        (waves(2, 3, 2, 2), np.array([[[1, 0], [2, 1]]] * 2), None, 2, -100)
    ],
    "adaptive_max_pool2d": [(PLANE, [3, 4])],
    "adaptive_avg_pool3d": [(SOLID, [2, 3, 2])],
    "_adaptive_avg_pool3d": [(SOLID, [2, 3, 2])],
    "adaptive_max_pool3d": [(SOLID, [2, 3, 2])],
    "upsample_linear1d": [(LINE, [9], False)],
    "upsample_bicubic2d": [(PLANE, [7, 4], False)],
    "upsample_trilinear3d": [(SOLID, [5, 3, 6], False)],
    "upsample_nearest1d": [(LINE, [9])],
    "upsample_nearest2d": [(PLANE, [7, 4])],
    "upsample_nearest3d": [(SOLID, [5, 3, 6])],
    "_upsample_nearest_exact1d": [(LINE, [9])],
    "_upsample_nearest_exact2d": [(PLANE, [7, 4])],
    "_upsample_nearest_exact3d": [(SOLID, [5, 3, 6])],
    "pellucid::_lstm": [
        (*STEPS, waves(2, 2), waves(8, 2), None, None, False),
        (*STEPS, waves(2, 2), waves(8, 2), waves(2, 2), TIMES, True),
    ],
    "pellucid::_gru": [
        (waves(3, 2, 6), STEPS[1], waves(6, 2), waves(6), None, True),
        (waves(3, 2, 6), STEPS[1], waves(6, 2), None, TIMES, False),
    ],
    "pellucid::_rnn": [
        (waves(3, 2, 2), STEPS[1], waves(2, 2), None, False, "tanh"),
        (waves(3, 2, 2), STEPS[1], waves(2, 2), TIMES, True, "relu"),
    ],
    "_scaled_dot_product_flash_attention_for_cpu": [(waves(1, 2, 3, 4),) * 3],
    "fill.Tensor": [(RAMP, np.array(0.5)), (waves(4), np.array(2.0))],
    "huber_loss": [(RAMP, waves(3, 2)), (waves(4), waves(4) ** 2)],
    "kl_div": [(np.log(PROBABILITIES), PROBABILITIES[::-1])],
    "ctc_loss.Tensor": [
        (
            np.linspace(-3, -1, 24).reshape(4, 2, 3),
            LABELS,
            np.array([4, 3]),
            np.array([2, 1]),
        )
    ],
}


class Drawing:
    """Deterministic operands; ``positive`` keeps them in (0.2, 0.9)."""

    def __init__(self, op, dtype, positive):
        self.op, self.dtype, self.positive = op, dtype, positive
        self.random = np.random.default_rng(sum(map(ord, op.full_name)))

    def tensor(self, name, shape):
        if name in INDEX_NAMES or name.endswith("_lengths"):
            high = 3 if name.endswith("_lengths") else 2
            return self.random.integers(high - 1 if high > 2 else 0, high, shape)
        if name in ("condition", "mask"):
            return self.random.integers(0, 2, shape).astype(bool)
        if self.dtype == "bool":
            return self.random.integers(0, 2, shape).astype(bool)
        if np.dtype(self.dtype).kind in "iu":
            return self.random.integers(1, 6, shape).astype(self.dtype)
        low, high = (0.2, 0.9) if self.positive else self.op.options.domain or (-2, 2)
        values = self.random.uniform(max(low, -9), min(high, 9), shape)
        return np.asarray(values, self.dtype)


def arguments(op, drawing, shapes, rank):
    values, given = [], 0
    for argument in op.schema.arguments:
        if argument.optional and not (argument.is_tensor and argument.element_optional):
            values.append(None)
        elif argument.is_tensor:
            shape = shapes[min(given, len(shapes) - 1)]
            given += 1
            tensor = drawing.tensor(argument.name, shape)
            values.append(list_of_tensors(drawing, argument, tensor, shape))
        else:
            values.append(plain_value(argument, shapes[0], rank))
    return values


def list_of_tensors(drawing, argument, tensor, shape):
    if not argument.is_list:
        return tensor
    return [tensor, drawing.tensor(argument.name, shape)]


def plain_value(argument, shape, rank):
    if argument.has_default:
        return argument.default
    if argument.name.startswith("dim") and argument.type == "int":
        return [0] if argument.is_list else {"dim1": rank - 1}.get(argument.name, 0)
    if argument.is_list:
        return list_value(argument, shape)
    return {
        "bool": False,
        "int": 0,
        "SymInt": 1,
        "str": "mean",
        "ScalarType": "float32",
    }.get(argument.type, 0.5)


def list_value(argument, shape):
    if argument.name in ("size", "shape", "output_size"):
        return list(shape)
    if argument.name in ("dims", "order"):
        return list(reversed(range(len(shape))))
    return [1] * (argument.length or max(len(shape), 1))


def candidates(op, dtype):
    """Argument lists to try, the likely ones first."""
    if op.full_name in GIVEN:
        yield from GIVEN[op.full_name]
        return
    for kind, positive, shapes in itertools.product(
        (dtype, "int64"), (False, True), SHAPES
    ):
        yield arguments(op, Drawing(op, kind, positive), shapes, len(shapes[0]))


def calls(name, dtype="float64"):
    """Up to two (call, traced, tensors, outputs) of an op with finite outputs."""
    return [found for _, *found in samples(name, dtype)]


@cache
def samples(name, dtype="float64"):
    """``calls``, each after its arguments."""
    op = REGISTRY[name]
    found, keys = [], set()
    for args in candidates(op, dtype):
        try:
            call = op.specialise(*args)
            if call.key in keys and name not in GIVEN:
                continue
            traced = op.trace(call.key, call.env)
            words = random_words(traced.graph, call)
            outputs = run(traced.graph, [*call.tensors, *words], call.env)
        except Exception:
            if name in GIVEN:
                raise  # these are meant to run; others are tried
            continue
        if all(np.isfinite(o).all() for o in outputs if o.dtype.kind == "f"):
            keys.add(call.key)
            found.append((args, call, traced, [*call.tensors, *words], outputs))
        if len(found) == MAX_CALLS:
            break
    return found


def differentiable_inputs(graph):
    """The numbers of the inputs with respect to which an op has a derivative."""
    return [
        k
        for k, value in enumerate(graph.inputs)
        if value.differentiable and not refuses_derivative(graph, k)
    ]


def refuses_derivative(graph, operand):
    """Whether the op refuses a derivative with respect to an operand, as in PyTorch:
    when it is derived, or when it runs.
    """
    try:
        tangent = transforms.jvp(graph, [operand])
    except NotImplementedError:
        return True
    bodies = [
        store.body
        for node in tangent.nodes
        if node.primitive is LOOP
        for store in node.attrs.stores
    ]
    checks = [check for check, _ in conditions_checked(*bodies)]
    return any(check.error is NotImplementedError for check in checks)


def random_words(graph, call):
    """The words of the random stream for the Graph's last inputs."""
    from pellucid_compiler.ir.sizes import shape_value

    random = np.random.default_rng(7)
    return [
        random.integers(-(2**31), 2**31, shape_value(v.shape, call.env)).astype("int32")
        for v in graph.inputs
        if (v.name or "").startswith("random[")
    ]


def as_dtype(array, dtype):
    if array.dtype != np.float64:
        return array
    if dtype == "bfloat16":
        return round_to_bfloat16(np, np.asarray(array, "float32"))
    return np.asarray(array).astype(dtype)


def with_dtype(item, dtype):
    """An argument's key with ``dtype`` in place of float64."""
    if isinstance(item, TensorKey) and item.dtype == "float64":
        return item._replace(dtype=dtype)
    if isinstance(item, ListKey):
        return ListKey(tuple(with_dtype(i, dtype) for i in item.items))
    return item
