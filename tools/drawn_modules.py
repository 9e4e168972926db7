"""Layers of ``torch.nn`` that ``check_programs.py`` draws, with their arguments and
the shapes of their inputs.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Drawn = tuple[str, dict[str, Any], list[tuple[int, ...]]]
PADDINGS = ("zeros", "reflect", "replicate", "circular")
ACTIVATIONS: dict[str, dict[str, tuple[Any, ...]]] = {
    "ELU": {"alpha": (1.0, 0.5, -0.5), "inplace": (False, True)},
    "CELU": {"alpha": (1.0, 0.5)},
    "GELU": {"approximate": ("none", "tanh")},
    "GLU": {"dim": (-1, 0, 1)},
    "Hardtanh": {"min_val": (-1.0, 0.0), "max_val": (1.0, 0.5)},
    "Hardshrink": {"lambd": (0.5, 0.0)},
    "Softshrink": {"lambd": (0.5, 0.0)},
    "LeakyReLU": {"negative_slope": (0.01, 0.0, 1.5), "inplace": (False, True)},
    "PReLU": {"num_parameters": (1, 4)},
    "Softplus": {"beta": (1.0, 2.0), "threshold": (20.0, 0.5)},
    "Threshold": {"threshold": (0.1, -1.0), "value": (20, 0.0)},
    "Softmax": {"dim": (None, 0, -1)},
    "Softmin": {"dim": (None, 0, -1)},
    "LogSoftmax": {"dim": (None, 0, 1)},
    "Flatten": {"start_dim": (0, 1), "end_dim": (-1, 1)},
    "Unflatten": {"dim": (1,), "unflattened_size": ((2, 2), (1, -1))},
    "ChannelShuffle": {"groups": (1, 2, 4)},
    "LayerNorm": {
        "normalized_shape": (6, (6,), (6, 6)),
        "elementwise_affine": (True, False),
        "bias": (True, False),
        "eps": (1e-5, 0.5),
    },
    "RMSNorm": {"normalized_shape": (6, (6, 6)), "eps": (None, 0.1)},
    "GroupNorm": {"num_groups": (1, 2, 4), "num_channels": (4,), "affine": (True, 0)},
    "LocalResponseNorm": {"size": (1, 2, 3), "alpha": (1e-4, 0.5)},
    "Linear": {"in_features": (6,), "out_features": (1, 3), "bias": (True, False)},
    "Mish": {},
    "SiLU": {"inplace": (False, True)},
    "Hardswish": {"inplace": (False, True)},
    "Hardsigmoid": {},
    "LogSigmoid": {},
    "Tanhshrink": {},
    "Softsign": {},
    "ReLU6": {"inplace": (False, True)},
    "Softmax2d": {},
    "Identity": {},
}
LOSSES: dict[str, dict[str, tuple[Any, ...]]] = {
    "L1Loss": {},
    "MSELoss": {},
    "SmoothL1Loss": {"beta": (1.0, 0.0, 0.5)},
    "HuberLoss": {"delta": (1.0, 0.5)},
    "BCEWithLogitsLoss": {},
    "KLDivLoss": {"log_target": (False, True)},
    "PoissonNLLLoss": {"log_input": (True, False), "full": (False, True)},
    "SoftMarginLoss": {},
    "HingeEmbeddingLoss": {"margin": (1.0, 0.5)},
    "MultiLabelSoftMarginLoss": {},
}


def drawn(draw: random.Random) -> Drawn:
    """The name of a layer, its arguments and the shapes of its inputs."""
    return draw.choice((_plain, _plain, _convolution, _pooling, _loss, _image, _other))(
        draw
    )


def _choices(
    draw: random.Random, options: dict[str, tuple[Any, ...]]
) -> dict[str, Any]:
    return {k: draw.choice(v) for k, v in options.items() if draw.random() < 0.7}


def _plain(draw: random.Random) -> Drawn:
    name = draw.choice(list(ACTIVATIONS))
    options = ACTIVATIONS[name]
    given = _choices(draw, options)
    for required in ("in_features", "out_features", "normalized_shape", "num_groups"):
        if required in options:
            given[required] = draw.choice(options[required])
    for required in ("num_channels", "groups", "size", "threshold", "value"):
        if required in options and name != "Softplus":
            given[required] = draw.choice(options[required])
    for required in ("dim", "unflattened_size"):
        if required in options and name == "Unflatten":
            given[required] = draw.choice(options[required])
    shape = draw.choice([(2, 4, 6, 6), (2, 4, 6), (4, 6), (0, 4, 6, 6), (1, 4, 1, 6)])
    return name, given, [shape]


def _per_dim(draw: random.Random, dims: int, choices: tuple[int, ...]) -> Any:
    if draw.random() < 0.5:
        return draw.choice(choices)
    return tuple(draw.choice(choices) for _ in range(dims))


def _images(draw: random.Random, dims: int, channels: int) -> tuple[int, ...]:
    size = tuple(draw.choice((5, 6, 7)) for _ in range(dims))
    batch = draw.choice(((2,), (1,), (), (0,)) if draw.random() < 0.4 else ((2,),))
    return (*batch, channels, *size)


def _convolution(draw: random.Random) -> Drawn:
    dims, groups = draw.choice((1, 2, 2, 3)), draw.choice((1, 1, 2, 4))
    given: dict[str, Any] = {
        "in_channels": 4,
        "out_channels": draw.choice((4, 8)),
        "kernel_size": _per_dim(draw, dims, (1, 2, 3)),
        "stride": _per_dim(draw, dims, (1, 2, 3)),
        "padding": _per_dim(draw, dims, (0, 1, 2)),
        "dilation": _per_dim(draw, dims, (1, 2)),
        "groups": groups,
        "bias": draw.random() < 0.7,
    }
    if draw.random() < 0.35:
        given["output_padding"] = _per_dim(draw, dims, (0, 1))
        return f"ConvTranspose{dims}d", given, [_images(draw, dims, 4)]
    given["padding_mode"] = draw.choice(PADDINGS)
    if draw.random() < 0.2:
        given["padding"] = draw.choice(("same", "valid"))
    return f"Conv{dims}d", given, [_images(draw, dims, 4)]


def _pooling(draw: random.Random) -> Drawn:
    dims = draw.choice((1, 2, 2, 3))
    kind = draw.choice(("Max", "Avg", "LP", "AdaptiveAvg", "AdaptiveMax"))
    dims = 2 if kind == "LP" else dims
    given: dict[str, Any] = {}
    if kind.startswith("Adaptive"):
        given["output_size"] = _per_dim(draw, dims, (1, 2, 3, 7))
        if kind == "AdaptiveMax":
            given["return_indices"] = draw.random() < 0.5
        return f"{kind}Pool{dims}d", given, [_images(draw, dims, 3)]
    given["kernel_size"] = _per_dim(draw, dims, (1, 2, 3))
    if draw.random() < 0.7:
        given["stride"] = _per_dim(draw, dims, (1, 2, 3))
    given["ceil_mode"] = draw.random() < 0.4
    if kind == "LP":
        given["norm_type"] = draw.choice((1, 2, 3.0))
    else:
        given["padding"] = _per_dim(draw, dims, (0, 1))
    if kind == "Max":
        given["dilation"] = _per_dim(draw, dims, (1, 2))
        given["return_indices"] = draw.random() < 0.4
    if kind == "Avg":
        given["count_include_pad"] = draw.random() < 0.5
        if dims > 1 and draw.random() < 0.3:
            given["divisor_override"] = draw.choice((1, 3))
    return f"{kind}Pool{dims}d", given, [_images(draw, dims, 3)]


def _loss(draw: random.Random) -> Drawn:
    name = draw.choice(list(LOSSES))
    given = _choices(draw, LOSSES[name])
    given["reduction"] = draw.choice(("mean", "sum", "none"))
    shape = draw.choice([(3, 4), (3, 4), (0, 4), (2, 3, 4)])
    return name, given, [shape, shape]


def _image(draw: random.Random) -> Drawn:
    dims = draw.choice((1, 2, 2, 3))
    shape = _images(draw, dims, 4)
    kind = draw.choice(("Upsample", "Pad", "PixelShuffle", "Norm", "Unfold"))
    if kind == "Upsample":
        linear = {1: "linear", 2: "bilinear", 3: "trilinear"}[dims]
        modes = ("nearest", linear, "nearest-exact", "bicubic" if dims == 2 else linear)
        given: dict[str, Any] = {"mode": draw.choice(modes)}
        which, choices = draw.choice(
            (("size", (3, 9)), ("scale_factor", (2, 1.5, 0.6)))
        )
        given[which] = _per_dim(draw, dims, choices)
        if "linear" in given["mode"] or given["mode"] == "bicubic":
            given["align_corners"] = draw.choice((None, False, True))
        return kind, given, [shape]
    if kind == "Pad":
        pads = [draw.choice((0, 1, 2, -1)) for _ in range(2 * dims)]
        mode = draw.choice(
            ("Reflection", "Replication", "Zero", "Circular", "Constant")
        )
        given = {"padding": draw.choice((1, tuple(pads)))}
        if mode == "Constant":
            given["value"] = 2.5
        return f"{mode}Pad{dims}d", given, [shape]
    if kind == "Norm":
        name = draw.choice((f"BatchNorm{dims}d", f"InstanceNorm{dims}d"))
        options = {
            "eps": (1e-5, 0.1),
            "momentum": (0.1, None, 0.0),
            "affine": (True, False),
            "track_running_stats": (True, False),
        }
        return name, {"num_features": 4, **_choices(draw, options)}, [shape]
    if kind == "Unfold":
        given = {"kernel_size": _per_dim(draw, 2, (1, 2, 3))}
        given |= {"stride": _per_dim(draw, 2, (1, 2)), "padding": draw.choice((0, 1))}
        return kind, given, [_images(draw, 2, 4)]
    if draw.random() < 0.5:
        return kind, {"upscale_factor": draw.choice((1, 2))}, [_images(draw, 2, 4)]
    return "PixelUnshuffle", {"downscale_factor": 2}, [(2, 3, 4, 6)]


def _recurrent(draw: random.Random) -> Drawn:
    name = draw.choice(("RNN", "GRU", "LSTM"))
    options = {
        "num_layers": (1, 2),
        "bias": (True, False),
        "batch_first": (False, True),
        "bidirectional": (False, True),
    }
    given = {"input_size": 3, "hidden_size": 4, **_choices(draw, options)}
    if name == "RNN" and draw.random() < 0.5:
        given["nonlinearity"] = "relu"
    if name == "LSTM" and draw.random() < 0.3:
        given["proj_size"] = 2
    return name, given, [draw.choice([(5, 2, 3), (5, 3), (1, 1, 3)])]


def _attention(draw: random.Random) -> Drawn:
    options = {
        "bias": (True, False),
        "add_bias_kv": (False, True),
        "add_zero_attn": (False, True),
        "batch_first": (False, True),
    }
    given = {
        "embed_dim": 4,
        "num_heads": draw.choice((1, 2)),
        **_choices(draw, options),
    }
    shape = draw.choice([(3, 2, 4), (3, 4)])
    return "MultiheadAttention", given, [shape, shape, shape]


def _cell(draw: random.Random) -> Drawn:
    name = draw.choice(("RNNCell", "GRUCell", "LSTMCell"))
    given = {"input_size": 3, "hidden_size": 4, "bias": draw.random() < 0.7}
    return name, given, [draw.choice([(2, 3), (3,), (0, 3)])]


def _pair(draw: random.Random) -> Drawn:
    if draw.random() < 0.4:
        given = {"in1_features": 3, "in2_features": 4, "out_features": 2}
        return "Bilinear", given, [(2, 3), (2, 4)]
    if draw.random() < 0.5:
        given = {"dim": draw.choice((0, 1, -1)), "eps": draw.choice((1e-8, 0.5))}
        return "CosineSimilarity", given, [(3, 4), (3, 4)]
    given = {"p": draw.choice((1.0, 2.0, 3.0)), "keepdim": draw.random() < 0.5}
    return "PairwiseDistance", given, [(3, 4), draw.choice([(3, 4), (1, 4)])]


def _block(draw: random.Random) -> Drawn:
    options = {
        "activation": ("relu", "gelu"),
        "batch_first": (False, True),
        "norm_first": (False, True),
        "bias": (True, False),
    }
    given = {"d_model": 4, "nhead": 2, "dim_feedforward": 6, "dropout": 0.0}
    shape = draw.choice([(3, 2, 4), (3, 4)])
    name = draw.choice(("TransformerEncoderLayer", "TransformerDecoderLayer"))
    count = 1 if "Encoder" in name else 2
    return name, {**given, **_choices(draw, options)}, [shape] * count


def _other(draw: random.Random) -> Drawn:
    kinds: tuple[Callable[[random.Random], Drawn], ...]
    kinds = (_recurrent, _attention, _cell, _pair, _block)
    return draw.choice(kinds)(draw)


class Layer:
    """A call of a layer whose parameters and buffers are tensors of the pool."""

    form = "nn"

    def __init__(
        self,
        name: str,
        given: dict[str, Any],
        state: dict[str, int],
        inputs: list[int],
        training: bool,
    ) -> None:
        self.name, self.given, self.state = name, given, state
        self.inputs, self.training = inputs, training

    def __str__(self) -> str:
        given = ", ".join(f"{k}={v!r}" for k, v in self.given.items())
        inputs = ", ".join(f"t{k}" for k in self.inputs)
        state = ", ".join(f"{k}: t{v}" for k, v in self.state.items())
        return f"nn.{self.name}({given}).train({self.training})({inputs}) of {state}"

    def operands(self) -> list[int]:
        return [*self.inputs, *self.state.values()]

    def run(self, side: Any, pool: list[Any]) -> Any:
        layer = getattr(side.nn, self.name)(**self.given).train(self.training)
        state = {name: pool[k] for name, k in self.state.items()}
        inputs = tuple(pool[k] for k in self.inputs)
        return side.func.functional_call(layer, state, inputs)
