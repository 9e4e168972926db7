"""Arguments, as arrays, for op overloads whose schemas do not determine valid ones.

Additional forms of an op (``out=``, in place) are called with the same arguments. Read
by ``schema_calls.py``; omitted arguments have their defaults.
"""

import numpy as np
from tools.op_samples import GIVEN as OF_DECLARED
from tools.op_samples import waves

MATRIX, SQUARE = waves(4, 3), waves(3, 3) + 2 * np.eye(3)
LINE, IMAGE, VOLUME = waves(1, 2, 6), waves(1, 2, 6, 5), waves(1, 2, 4, 4, 4)
LABELS = np.array([1, 0, 2, 1])
ONE = np.array(0.75)
STEPS, STATE = waves(5, 2, 3), waves(1, 2, 4)
GATES = {"gru": 12, "lstm": 16, "rnn_relu": 4, "rnn_tanh": 4}
FILTER = {d: waves(3, 2, *[2] * d) for d in (1, 2, 3)}
PLACES = np.array([[0, 2, 1], [1, 0, 0]])
PIVOTS = np.array([1, 3, 3], "int32")


def weights(rows):
    return [waves(rows, 3), waves(rows, 4), waves(rows), waves(rows)]


def resampled(kind, dims, corners):
    """The gradient's arguments: a result of 4s of an image of 3s."""
    options = (False,) if corners else ()
    given = waves(1, 2, *[4] * dims), [4] * dims, [1, 2, *[3] * dims], *options
    return f"{kind}{dims}d_backward", given


def padded(kind, dims):
    image = (LINE, IMAGE, VOLUME)[dims - 1]
    grown = [n + 2 for n in image.shape[2:]]
    return f"{kind}_pad{dims}d_backward", (waves(1, 2, *grown), image, [1] * (2 * dims))


def pooled(dims):
    image, ones = (LINE, IMAGE, VOLUME)[dims - 1], [1] * dims
    space = "pellucid::" if dims == 1 else ""
    return f"{space}max_pool{dims}d_with_indices_backward", (
        *(image, image, ones, ones, [0] * dims, ones, False),
        np.zeros(image.shape, dtype=int),
    )


def recurrent(name):
    rows, state = GATES[name], [STATE, STATE] if name == "lstm" else STATE
    flags = [True, 1, 0.0, False, False]
    counts = np.array([2, 2, 1])
    return {
        f"{name}.input": (STEPS, state, weights(rows), *flags, False),
        f"{name}.data": (waves(5, 3), counts, state, weights(rows), *flags),
    }


CELL = STATE[0]
# An input, its weight and bias, and running statistics.
NORMALISED = *(waves(4, 3), waves(3), waves(3)), *(waves(3), waves(3) ** 2)
REGIONS = np.array([[0, 0.5, 0.5, 4.0, 4.0]])


def of_regions(*channels):
    """The gradient's arguments: of one region in 2 x 2 parts, of at most 3 x 3."""
    return (
        waves(1, channels[0], 2, 2),
        waves(1, channels[1], 6, 5),
        REGIONS,
        1.0,
        *[2] * 2,
        3,
        3,
    )


GIVEN = {
    **{name: known[0] for name, known in OF_DECLARED.items()},
    **dict(resampled("upsample_nearest", d, False) for d in (1, 2, 3)),
    **dict(resampled("_upsample_nearest_exact", d, False) for d in (1, 2, 3)),
    **dict(
        resampled(f"upsample_{kind}", d, True)
        for kind, d in (
            ("linear", 1),
            ("bilinear", 2),
            ("bicubic", 2),
            ("trilinear", 3),
        )
    ),
    **dict(padded(k, d) for k in ("reflection", "replication") for d in (1, 2, 3)),
    **dict(pooled(d) for d in (1, 2, 3)),
    **{k: v for name in GATES for k, v in recurrent(name).items()},
    "_grouped_mm": (waves(2, 4, 3), waves(2, 3, 5)),
    "pellucid::_roi_align_backward": (*of_regions(2, 2), False, False),
    "pellucid::_roi_pool_backward": of_regions(2, 2),
    "pellucid::_ps_roi_align_backward": (*of_regions(1, 4), False),
    "pellucid::_ps_roi_pool_backward": of_regions(1, 4),
    "gru_cell": (STEPS[0], CELL, waves(12, 3), waves(12, 4)),
    "lstm_cell": (STEPS[0], [CELL, CELL], waves(16, 3), waves(16, 4)),
    "_native_batch_norm_legit": (*NORMALISED, True, 0.1, 1e-5),
    "_native_batch_norm_legit_functional": (*NORMALISED, True, 0.1, 1e-5),
    "batch_norm": (
        MATRIX,
        ONE.repeat(3),
        None,
        waves(3),
        waves(3) ** 2,
        True,
        0.1,
        1e-5,
        False,
    ),
    "native_group_norm_backward": (
        *(waves(2, 4, 3), waves(2, 4, 3), waves(2, 2), ONE * np.ones((2, 2)), None),
        *(2, 4, 3, 2, [True, True, True]),
    ),
    "_scaled_dot_product_flash_attention_for_cpu_backward": (
        *(waves(1, 2, 5, 3) for _ in range(5)),
        *(waves(1, 2, 5), 0.0, False),
    ),
    "avg_pool2d_backward": (IMAGE, IMAGE, [1, 1], [1, 1], [0, 0], False, True, None),
    "avg_pool3d_backward": (
        VOLUME,
        VOLUME,
        [1] * 3,
        [1] * 3,
        [0] * 3,
        False,
        True,
        None,
    ),
    "affine_grid_generator": (waves(1, 2, 3), [1, 1, 3, 4], False),
    "affine_grid_generator_backward": (waves(1, 3, 4, 2), [1, 1, 3, 4], False),
    "bilinear": (waves(2, 3), waves(2, 4), waves(5, 3, 4)),
    "binary_cross_entropy_backward": (
        *(waves(2, 3), np.full((2, 3), 0.25), np.full((2, 3), 0.5), None, 0),
    ),
    "cholesky": (SQUARE @ SQUARE.T,),
    "linalg_householder_product": (MATRIX, waves(3)),
    "orgqr": (MATRIX, waves(3)),
    "linalg_cholesky": (SQUARE @ SQUARE.T,),
    "linalg_lu_solve": (SQUARE, PIVOTS, waves(3, 2)),
    "lu_solve": (waves(3, 2), SQUARE, PIVOTS),
    "lu_unpack": (SQUARE, PIVOTS),
    "ormqr": (MATRIX, waves(3), waves(4, 2)),
    "conv_depthwise3d": (
        *(VOLUME, waves(2, 1, 2, 2, 2), [2] * 3, None, [1] * 3, [0] * 3, [1] * 3),
    ),
    "conv_tbc_backward": (waves(5, 2, 6), waves(5, 2, 4), waves(1, 4, 6), waves(6), 0),
    "convolution_overrideable": (
        *(IMAGE, FILTER[2], None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
    ),
    "convolution_backward": (
        *(waves(1, 3, 5, 4), IMAGE, FILTER[2], [3], [1, 1], [0, 0], [1, 1], False),
        *([0, 0], 1, [True, True, True]),
    ),
    "convolution_backward_overrideable": (
        *(waves(1, 3, 5, 4), IMAGE, FILTER[2], [1, 1], [0, 0], [1, 1], False),
        *([0, 0], 1, [True, True, True]),
    ),
    "cosine_embedding_loss": (MATRIX, MATRIX[::-1] + 1, np.array([1, -1, 1, -1])),
    "count_nonzero.dim_IntList": (MATRIX, [0]),
    "diagonal_backward": (waves(3), [4, 3], 0, 0, 1),
    "einsum": ("ij,jk->ki", [MATRIX, SQUARE]),
    "embedding_bag": (MATRIX, np.array([0, 3, 1]), np.array([0, 2])),
    "embedding_bag.padding_idx": (
        *(
            MATRIX,
            np.array([0, 3, 1]),
            np.array([0, 2]),
            False,
            0,
            False,
            None,
            False,
            0,
        ),
    ),
    "empty_permuted": ([2, 3], [1, 0]),
    "fractional_max_pool2d": (IMAGE, [2, 2], [3, 2], np.full((1, 2, 2), 0.5)),
    "fractional_max_pool3d": (VOLUME, [2] * 3, [2] * 3, np.full((1, 2, 3), 0.5)),
    "glu_backward_jvp": (waves(2, 4), *[waves(2, 2), waves(2, 4)] * 2, 1),
    "squeeze.dims": (waves(2, 1, 3, 1), [1, -1]),
    "squeeze_copy.dims": (waves(2, 1, 3, 1), [1, -1]),
    "ctc_loss.IntList": (waves(5, 2, 4), LABELS.reshape(2, 2) + 1, [5, 5], [2, 2]),
    "gradient.array": (MATRIX, [1]),
    "gradient.scalararray": (MATRIX, 0.5, [1]),
    "gradient.scalarrayarray": (MATRIX, [0.5], [1]),
    "gradient.tensorarray": (MATRIX, [np.arange(4.0)], [0]),
    "gradient.tensorarrayint": (MATRIX, [np.arange(4.0)], 0),
    "grid_sampler": (IMAGE, waves(1, 3, 4, 2), 0, 0, False),
    "grid_sampler_2d": (IMAGE, waves(1, 3, 4, 2), 0, 0, False),
    "grid_sampler_3d": (VOLUME, waves(1, 3, 4, 2, 3), 0, 0, False),
    "grid_sampler_2d_backward": (
        *(waves(1, 2, 3, 4), IMAGE, waves(1, 3, 4, 2), 0, 0, False, [True, True]),
    ),
    "grid_sampler_3d_backward": (
        *(waves(1, 2, 3, 4, 2), VOLUME, waves(1, 3, 4, 2, 3), 0, 0, False),
        [True, True],
    ),
    "index_reduce": (MATRIX, 0, np.array([3, 1]), MATRIX[:2], "prod"),
    "scatter_reduce.two": (MATRIX, 0, PLACES, MATRIX[:2], "amax"),
    "istft": (waves(5, 4) + 1j * waves(5, 4), 8),
    "stft": (waves(2, 20), 8, None, None, None, False, None, True),
    "stft.center": (
        *(waves(2, 20), 8, None, None, None, True, "reflect", False, None, True),
    ),
    "max_unpool2d": (LINE[None], np.arange(12).reshape(1, 1, 2, 6), [3, 5]),
    "max_unpool3d": (
        *(VOLUME, np.arange(64).reshape(1, 1, 4, 4, 4).repeat(2, 1)),
        *([4] * 3, [1] * 3, [0] * 3),
    ),
    "meshgrid.indexing": ([waves(2), waves(3)], "ij"),
    "moveaxis.intlist": (MATRIX, [0], [1]),
    "movedim.intlist": (MATRIX, [0], [1]),
    "multi_margin_loss_backward": (ONE, MATRIX, LABELS, 1, 1.0),
    "multilabel_margin_loss_backward": (
        ONE,
        MATRIX,
        PLACES[[0, 1, 0, 1]],
        1,
        0 * MATRIX,
    ),
    "batch_norm_backward_reduce": (
        *(IMAGE, IMAGE, waves(2), waves(2), waves(2), True, True, True),
    ),
    "linear_backward": (waves(4, 3), waves(4, 2), waves(2, 3), [True] * 3),
    "matmul_backward": (waves(4, 2), waves(4, 3), waves(3, 2), [True] * 2),
    "narrow.Tensor": (MATRIX, 0, np.array(1), 2),
    "nll_loss2d": (waves(2, 3, 4, 2), np.ones((2, 4, 2), int)),
    "nll_loss2d_backward": (
        *(ONE, waves(2, 3, 4, 2), np.ones((2, 4, 2), int), None, 1, -100),
        np.array(16.0),
    ),
    "nll_loss_backward": (ONE, MATRIX, LABELS, None, 1, -100, np.array(4.0)),
    "norm.ScalarOpt_dim_dtype": (MATRIX.astype("float32"), 2, [0], False, "float32"),
    "norm.ScalarOpt_dtype": (MATRIX.astype("float32"), 2, "float32"),
    "nuclear_norm.dim": (MATRIX, [0, 1]),
    "randint.low": (1, 4, [2, 3]),
    "randint.low_generator": (1, 4, [2, 3]),
    "randint_like.low_dtype": (MATRIX, 1, 4),
    "randint_like.low_generator_dtype": (MATRIX, 1, 4),
    "segment_reduce": (MATRIX, "sum", np.array([1, 3])),
    "select_backward": (waves(3), [4, 3], 0, 1),
    "select_scatter": (MATRIX, waves(3), 0, 1),
    "slice_backward": (waves(2, 3), [4, 3], 0, 1, 3, 1),
    "unfold_backward": (waves(3, 3, 2), [4, 3], 0, 2, 1),
    "slow_conv3d": (VOLUME, FILTER[3], [2] * 3),
    "slow_conv3d_forward": (VOLUME, FILTER[3], [2] * 3, None, [1] * 3, [0] * 3),
    "slow_conv_dilated2d": (IMAGE, FILTER[2], [2, 2]),
    "slow_conv_dilated3d": (VOLUME, FILTER[3], [2] * 3),
    "slow_conv_transpose2d": (IMAGE, waves(2, 3, 2, 2), [2, 2]),
    "slow_conv_transpose3d": (VOLUME, waves(2, 3, 2, 2, 2), [2] * 3),
    "thnn_conv2d": (IMAGE, FILTER[2], [2, 2]),
    "trace_backward": (ONE, [3, 3]),
    "unflatten_dense_tensors": (waves(7), [waves(2, 2), waves(3)]),
}
