"""Layers of networks as single calls: convolutions, pooling, norms, losses, attention.

`breadth.py` says how a row becomes cases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Row = tuple[Callable[..., Any], tuple[int, ...] | list[tuple[int, ...]]]
Table = dict[str, Row]

# name -> (image, weight, options)
IMAGES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "3x3": ((8, 64, 28, 28), (64, 64, 3, 3), {"padding": 1}),
    "3x3 of 3 channels": ((8, 3, 64, 64), (32, 3, 3, 3), {"padding": 1}),
    "1x1": ((8, 64, 28, 28), (128, 64, 1, 1), {}),
    "1x1 strided": ((8, 64, 28, 28), (128, 64, 1, 1), {"stride": 2}),
    "3x3 strided": ((8, 64, 28, 28), (128, 64, 3, 3), {"stride": 2, "padding": 1}),
    "3x3 dilated": ((8, 64, 28, 28), (64, 64, 3, 3), {"dilation": 2, "padding": 2}),
    "5x5": ((8, 32, 28, 28), (64, 32, 5, 5), {"padding": 2}),
    "5x5 of 14": ((8, 64, 14, 14), (64, 64, 5, 5), {"padding": 2}),
    "7x7 strided": ((4, 3, 112, 112), (64, 3, 7, 7), {"stride": 2, "padding": 3}),
    "7x7 of 14": ((8, 32, 14, 14), (32, 32, 7, 7), {"padding": 3}),
    "7x7 of 32": ((16, 3, 32, 32), (32, 3, 7, 7), {"padding": 3}),
    "4x4 strided": ((16, 64, 16, 16), (128, 64, 4, 4), {"stride": 2, "padding": 1}),
    "16x16 patches": ((8, 3, 112, 112), (96, 3, 16, 16), {"stride": 16}),
    "3x3 in 4 groups": ((8, 64, 28, 28), (64, 16, 3, 3), {"groups": 4, "padding": 1}),
    "3x3 in 32 groups": ((8, 64, 28, 28), (64, 2, 3, 3), {"groups": 32, "padding": 1}),
    "depthwise": ((8, 64, 28, 28), (64, 1, 3, 3), {"groups": 64, "padding": 1}),
    "depthwise strided": (
        (8, 64, 28, 28),
        (64, 1, 3, 3),
        {"groups": 64, "padding": 1, "stride": 2},
    ),
    "depthwise 7x7": ((8, 64, 28, 28), (64, 1, 7, 7), {"groups": 64, "padding": 3}),
}
SIGNALS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "1d of 10, strided": ((4, 1, 16000), (64, 1, 10), {"stride": 5}),
    "1d of 3, strided": ((4, 64, 3199), (64, 64, 3), {"stride": 2}),
    "1d of 3": ((8, 64, 512), (64, 64, 3), {"padding": 1}),
    "1d of 3, dilated": ((8, 64, 512), (64, 64, 3), {"padding": 8, "dilation": 8}),
    "1d of 31, depthwise": ((8, 64, 512), (64, 1, 31), {"padding": 15, "groups": 64}),
    "1d of 128 in 16 groups": (
        (2, 256, 199),
        (256, 16, 128),
        {"padding": 64, "groups": 16},
    ),
}
VOLUMES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "3d": ((2, 16, 16, 28, 28), (32, 16, 3, 3, 3), {"padding": 1}),
    "3d strided": ((2, 16, 16, 28, 28), (32, 16, 3, 3, 3), {"padding": 1, "stride": 2}),
    "3d 1x3x3": ((2, 16, 16, 28, 28), (32, 16, 1, 3, 3), {"padding": (0, 1, 1)}),
}
TRANSPOSED: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "4x4 strided": ((8, 128, 16, 16), (128, 64, 4, 4), {"stride": 2, "padding": 1}),
    "4x4 strided of 4": (
        (16, 512, 4, 4),
        (512, 256, 4, 4),
        {"stride": 2, "padding": 1},
    ),
    "4x4 of 1": ((16, 100, 1, 1), (100, 256, 4, 4), {}),
    "3x3 strided": (
        (8, 64, 28, 28),
        (64, 32, 3, 3),
        {"stride": 2, "padding": 1, "output_padding": 1},
    ),
    "2x2 strided": ((8, 64, 28, 28), (64, 32, 2, 2), {"stride": 2}),
    "3x3": ((8, 64, 28, 28), (64, 64, 3, 3), {"padding": 1}),
}


def layers(torch: Any) -> Table:
    table: Table = {}
    functional = torch.nn.functional
    kinds = [(IMAGES, "conv2d"), (SIGNALS, "conv1d"), (VOLUMES, "conv3d")]
    for rows, name in [*kinds, (TRANSPOSED, "conv_transpose2d")]:
        prefix = "transposed convolution" if "trans" in name else "convolution"
        function = getattr(functional, name)
        for label, (image, weight, options) in rows.items():
            table[f"{prefix} {label}"] = (
                lambda x, w, f=function, o=options: f(x, w, **o),
                [image, weight],
            )
    return table | _pooling(torch) | _norms(torch) | _resampling(torch) | _heads(torch)


def _pooling(torch: Any) -> Table:
    functional, image = torch.nn.functional, (8, 64, 28, 28)
    layouts = {"": torch.contiguous_format, ", channels last": torch.channels_last}
    table: Table = {}
    for suffix, layout in layouts.items():
        for name, options in (
            ("max_pool2d", {"kernel_size": 2}),
            ("max_pool2d", {"kernel_size": 3, "stride": 2, "padding": 1}),
            ("avg_pool2d", {"kernel_size": 2}),
            ("avg_pool2d", {"kernel_size": 3, "stride": 1, "padding": 1}),
            ("adaptive_avg_pool2d", {"output_size": 7}),
            ("adaptive_avg_pool2d", {"output_size": 1}),
        ):
            size = options.get("kernel_size", options.get("output_size"))
            function = getattr(functional, name)
            table[f"{name} {size}{suffix}"] = (
                lambda x, f=function, o=options, m=layout: f(
                    x.contiguous(memory_format=m), **o
                ),
                image,
            )
    table["max_pool1d"] = (lambda x: functional.max_pool1d(x, 2), (8, 64, 512))
    return table


def _norms(torch: Any) -> Table:
    functional, image, words = torch.nn.functional, (8, 64, 28, 28), (8, 64, 256)

    def last(x: Any) -> Any:
        return x.contiguous(memory_format=torch.channels_last)

    return {
        "batch_norm, channels last": (
            lambda x, w, b: functional.batch_norm(last(x), None, None, w, b, True),
            [image, (64,), (64,)],
        ),
        "group_norm, channels last": (
            lambda x, w, b: functional.group_norm(last(x), 8, w, b),
            [image, (64,), (64,)],
        ),
        "instance_norm, channels last": (
            lambda x: functional.instance_norm(last(x)),
            image,
        ),
        "batch_norm": (
            lambda x, w, b: functional.batch_norm(x, None, None, w, b, True),
            [image, (64,), (64,)],
        ),
        "group_norm": (
            lambda x, w, b: functional.group_norm(x, 8, w, b),
            [image, (64,), (64,)],
        ),
        "group_norm of a signal": (
            lambda x, w, b: functional.group_norm(x, 64, w, b),
            [(4, 64, 3199), (64,), (64,)],
        ),
        "instance_norm": (functional.instance_norm, image),
        "layer_norm": (
            lambda x, w, b: functional.layer_norm(x, (256,), w, b),
            [words, (256,), (256,)],
        ),
        "rms_norm": (
            lambda x, w: functional.rms_norm(x, (256,), w),
            [words, (256,)],
        ),
        "local_response_norm": (
            lambda x: functional.local_response_norm(x, 5),
            image,
        ),
        "normalize": (functional.normalize, words),
    }


def _resampling(torch: Any) -> Table:
    functional, image = torch.nn.functional, (8, 16, 32, 32)
    layouts = {"": torch.contiguous_format, ", channels last": torch.channels_last}
    table: Table = {}
    for suffix, layout in layouts.items():
        for mode in ("nearest", "bilinear", "bicubic"):
            table[f"interpolate {mode}{suffix}"] = (
                lambda x, m=mode, to=layout: functional.interpolate(
                    x.contiguous(memory_format=to), scale_factor=2, mode=m
                ),
                image,
            )
    for mode in ("bilinear", "nearest"):
        table[f"grid_sample {mode}"] = (
            lambda x, g, m=mode: functional.grid_sample(
                x, g.tanh(), mode=m, align_corners=False
            ),
            [(8, 16, 32, 32), (8, 32, 32, 2)],
        )
    table["affine_grid"] = (
        lambda t: functional.affine_grid(t, [8, 3, 64, 64], align_corners=False),
        (8, 2, 3),
    )
    table["pixel_shuffle"] = (lambda x: functional.pixel_shuffle(x, 2), (8, 64, 28, 28))
    return table


def _heads(torch: Any) -> Table:
    """Linear layers, attention, recurrence and losses."""
    functional, nn = torch.nn.functional, torch.nn
    labels = torch.randint(0, 1000, (64,))
    target = torch.randn(64, 1000)
    heads, long = (4, 8, 64, 32), (1, 4, 2048, 32)
    lstm, gru, wide = nn.LSTM(32, 64), nn.GRU(32, 64), nn.LSTM(32, 256)
    return {
        "linear": (functional.linear, [(256, 256), (512, 256), (512,)]),
        "attention": (functional.scaled_dot_product_attention, [heads] * 3),
        "causal attention": (
            lambda q, k, v: functional.scaled_dot_product_attention(
                q, k, v, is_causal=True
            ),
            [heads] * 3,
        ),
        "attention over 2048 keys": (
            functional.scaled_dot_product_attention,
            [long] * 3,
        ),
        "lstm": (lambda x: lstm(x)[0], (32, 16, 32)),
        "lstm of width 256": (lambda x: wide(x)[0], (20, 64, 32)),
        "gru": (lambda x: gru(x)[0], (32, 16, 32)),
        "cross_entropy": (lambda x: functional.cross_entropy(x, labels), (64, 1000)),
        "mse_loss": (lambda x: functional.mse_loss(x, target), (64, 1000)),
        "smooth_l1_loss": (lambda x: functional.smooth_l1_loss(x, target), (64, 1000)),
        "kl_div": (
            lambda x: functional.kl_div(
                x.log_softmax(1), target.softmax(1), reduction="batchmean"
            ),
            (64, 1000),
        ),
        "binary_cross_entropy_with_logits": (
            lambda x: functional.binary_cross_entropy_with_logits(x, target.sigmoid()),
            (64, 1000),
        ),
        "cosine_similarity": (functional.cosine_similarity, [(512, 256), (512, 256)]),
        "bilinear": (functional.bilinear, [(64, 32), (64, 32), (48, 32, 32)]),
        "embedding_bag": (
            lambda w: functional.embedding_bag(labels.reshape(8, 8), w),
            (1000, 64),
        ),
        "ctc_loss": (
            lambda x: functional.ctc_loss(
                x.log_softmax(2),
                torch.arange(80).reshape(8, 10) % 19 + 1,
                torch.full((8,), 50),
                torch.full((8,), 10),
            ),
            (50, 8, 20),
        ),
    }
