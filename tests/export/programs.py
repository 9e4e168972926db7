"""Programs whose exports are compared with PyTorch's: layers, functions and models.

Each takes the library as an argument, so that nothing here imports one.
``tools/compare_exports.py`` runs them under an installed PyTorch and writes
``targets.json``; ``test_targets.py`` compares that with the exports here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Make = Callable[[Any], Any]


class Program(NamedTuple):
    """An exported program: ``module(torch)`` with ``args(torch)``."""

    module: Make
    args: Make


PROGRAMS: dict[str, Program] = {}


def targets_of(torch: Any, name: str) -> list[str]:
    """The targets of the nodes of the program exported by this library, in order."""
    torch.manual_seed(0)
    program = PROGRAMS[name]
    exported = torch.export.export(program.module(torch), program.args(torch))
    called = (n.target for n in exported.graph.nodes if n.op == "call_function")
    return [str(t) if hasattr(t, "_schema") else t.__name__ for t in called]


def _sizes(*shapes: tuple[int, ...]) -> Make:
    return lambda torch: tuple(torch.randn(*shape) for shape in shapes)


def _layer(
    kind: str,
    *arguments: Any,
    of: tuple[int, ...] | Make,
    training: bool = True,
    label: str = "",
    **options: Any,
) -> None:
    def module(torch: Any) -> Any:
        return getattr(torch.nn, kind)(*arguments, **options).train(training)

    args = of if callable(of) else _sizes(of)
    name = f"nn.{kind}" + (f" {label}" if label else "")
    assert name not in PROGRAMS, name
    PROGRAMS[name] = Program(module, args)


def _function(
    name: str, body: Callable[..., Any], *shapes: tuple[int, ...] | Make
) -> None:
    """``body(torch, *tensors)``."""

    def module(torch: Any) -> Any:
        class Function(torch.nn.Module):  # type: ignore[misc, name-defined]
            def forward(self, *tensors: Any) -> Any:
                return body(torch, *tensors)

        return Function()

    is_made = len(shapes) == 1 and callable(shapes[0])
    args: Any = shapes[0] if is_made else _sizes(*shapes)  # type: ignore[arg-type]
    assert name not in PROGRAMS, name
    PROGRAMS[name] = Program(module, args)


def _classes(count: int, *sizes: int) -> Make:
    return lambda torch: torch.randint(0, count, sizes)


def _with(*makes: tuple[int, ...] | Make) -> Make:
    """Tensors of these sizes, or the results of functions."""

    def args(torch: Any) -> Any:
        return tuple(m(torch) if callable(m) else torch.randn(*m) for m in makes)

    return args


# Layers

_IMAGE, _SEQUENCE, _VOLUME = (2, 4, 8, 8), (2, 4, 8), (2, 4, 6, 6, 6)

_layer("Identity", of=(2, 4))
_layer("Linear", 4, 5, of=(2, 4))
_layer("Linear", 4, 5, of=(2, 3, 4), bias=False, label="without bias")
_layer("Bilinear", 4, 3, 5, of=_with((2, 4), (2, 3)))
_layer("Conv1d", 4, 6, 3, of=_SEQUENCE)
_layer("Conv2d", 4, 6, 3, of=_IMAGE, padding=1)
_layer("Conv2d", 4, 6, 3, of=_IMAGE, padding="same", label="same")
_layer("Conv2d", 4, 8, 3, of=_IMAGE, groups=2, label="groups")
_layer("Conv2d", 4, 6, 3, of=_IMAGE, padding=1, padding_mode="reflect", label="reflect")
_layer("Conv3d", 4, 6, 3, of=_VOLUME)
_layer("ConvTranspose1d", 4, 6, 3, of=_SEQUENCE)
_layer("ConvTranspose2d", 4, 6, 3, of=_IMAGE, stride=2)
_layer("ConvTranspose3d", 4, 6, 3, of=_VOLUME)
for _n, _size in ((1, _SEQUENCE), (2, _IMAGE), (3, _VOLUME)):
    _layer(f"BatchNorm{_n}d", 4, of=_size)
    _layer(f"BatchNorm{_n}d", 4, of=_size, training=False, label="eval")
    _layer(f"InstanceNorm{_n}d", 4, of=_size, affine=True)
    _layer(f"MaxPool{_n}d", 2, of=_size)
    _layer(f"AvgPool{_n}d", 2, of=_size)
    _layer(f"AdaptiveAvgPool{_n}d", 2, of=_size)
    _layer(f"AdaptiveMaxPool{_n}d", 2, of=_size)
    _layer(f"Dropout{_n}d", 0.5, of=_size)
    _layer(f"ReflectionPad{_n}d", 1, of=_size)
    _layer(f"ReplicationPad{_n}d", 1, of=_size)
    _layer(f"ConstantPad{_n}d", 1, 0.5, of=_size)
    _layer(f"ZeroPad{_n}d", 1, of=_size)
    _layer(f"CircularPad{_n}d", 1, of=_size)
_layer("BatchNorm2d", 4, of=_IMAGE, affine=False, label="without weights")
_layer("BatchNorm2d", 4, of=_IMAGE, track_running_stats=False, label="of batches")
_layer("BatchNorm2d", 4, of=_IMAGE, momentum=None, training=False, label="averages")
_layer("LPPool2d", 2, 2, of=_IMAGE)
_layer("LayerNorm", 8, of=(2, 4, 8))
_layer("LayerNorm", 8, of=(2, 4, 8), elementwise_affine=False, label="plain")
_layer("RMSNorm", 8, of=(2, 4, 8))
_layer("GroupNorm", 2, 4, of=_IMAGE)
_layer("LocalResponseNorm", 2, of=_IMAGE)
_layer("Dropout", 0.5, of=(2, 4))
_layer("Dropout", 0.5, of=(2, 4), training=False, label="eval")
_layer("AlphaDropout", 0.5, of=(2, 4))
_layer("FeatureAlphaDropout", 0.5, of=_IMAGE)
_layer("Embedding", 10, 4, of=lambda torch: (torch.randint(0, 10, (2, 3)),))
_layer("Embedding", 10, 4, padding_idx=1, label="padded",
       of=lambda torch: (torch.randint(0, 10, (2, 3)),))  # fmt: skip
_layer("EmbeddingBag", 10, 4, of=lambda torch: (torch.randint(0, 10, (2, 3)),))
_layer("Flatten", of=_IMAGE)
_layer("Unflatten", 1, (2, 2), of=(2, 4))
_layer("PixelShuffle", 2, of=_IMAGE)
_layer("PixelUnshuffle", 2, of=_IMAGE)
_layer("ChannelShuffle", 2, of=_IMAGE)
_layer("Unfold", 2, of=_IMAGE)
_layer("Fold", (4, 4), 2, of=(2, 8, 9))
_layer("Upsample", of=_IMAGE, scale_factor=2)
_layer("Upsample", of=_IMAGE, size=(5, 6), mode="bilinear", label="bilinear")
_layer("UpsamplingBilinear2d", of=_IMAGE, scale_factor=2)
_layer("CosineSimilarity", of=_with((2, 4), (2, 4)))
_layer("PairwiseDistance", of=_with((2, 4), (2, 4)))
for _kind in (
    "ReLU", "ReLU6", "LeakyReLU", "ELU", "CELU", "SELU", "GELU", "SiLU", "Mish",
    "Sigmoid", "Tanh", "LogSigmoid", "Softplus", "Softsign", "Softshrink", "Hardshrink",
    "Hardtanh", "Hardsigmoid", "Hardswish", "Tanhshrink", "PReLU", "RReLU",
):  # fmt: skip
    _layer(_kind, of=(2, 4))
_layer("ReLU", of=(2, 4), inplace=True, label="in place")
_layer("Threshold", 0.1, 0.2, of=(2, 4))
_layer("GLU", of=(2, 4))
_layer("Softmax", dim=-1, of=(2, 4))
_layer("Softmin", dim=-1, of=(2, 4))
_layer("LogSoftmax", dim=-1, of=(2, 4))
_layer("Softmax2d", of=_IMAGE)
_layer("RNN", 4, 5, of=(3, 2, 4))
_layer("LSTM", 4, 5, of=(3, 2, 4))
_layer("LSTM", 4, 5, 2, of=(2, 3, 4), batch_first=True, bidirectional=True,
       label="two ways")  # fmt: skip
_layer("GRU", 4, 5, of=(3, 2, 4))
_layer("RNNCell", 4, 5, of=(2, 4))
_layer("LSTMCell", 4, 5, of=(2, 4))
_layer("GRUCell", 4, 5, of=(2, 4))
_layer("MultiheadAttention", 8, 2, of=_with(*((2, 3, 8),) * 3), batch_first=True)
_layer("TransformerEncoderLayer", 8, 2, 16, of=(2, 3, 8), batch_first=True)
_layer("TransformerDecoderLayer", 8, 2, 16, of=_with((2, 3, 8), (2, 5, 8)),
       batch_first=True)  # fmt: skip

# Losses

for _kind in ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "SoftMarginLoss"):
    _layer(_kind, of=_with((2, 4), (2, 4)))
for _kind in ("BCEWithLogitsLoss", "MultiLabelSoftMarginLoss"):
    _layer(_kind, of=_with((2, 4), lambda torch: torch.rand(2, 4)))
_layer("BCELoss", of=_with(*(lambda torch: torch.rand(2, 4),) * 2))
_layer("CrossEntropyLoss", of=_with((2, 4), _classes(4, 2)))
_layer("CrossEntropyLoss", of=_with((2, 4), _classes(4, 2)), label_smoothing=0.1,
       label="smooth")  # fmt: skip
_layer("NLLLoss", of=_with((2, 4), _classes(4, 2)))
_layer("NLLLoss", of=_with((2, 4, 3, 3), _classes(4, 2, 3, 3)), label="of images")
_layer("KLDivLoss", of=_with((2, 4), (2, 4)), reduction="batchmean")
_layer("PoissonNLLLoss", of=_with((2, 4), (2, 4)))
_layer("CosineEmbeddingLoss", of=_with((2, 4), (2, 4), lambda torch: torch.ones(2)))
_layer("MarginRankingLoss", of=_with((2,), (2,), lambda torch: torch.ones(2)))
_layer("HingeEmbeddingLoss", of=_with((2, 4), lambda torch: torch.ones(2, 4)))
_layer("TripletMarginLoss", of=_with(*((2, 4),) * 3))
_layer("MultiMarginLoss", of=_with((2, 4), _classes(4, 2)))
_layer("MultiLabelMarginLoss", of=_with((2, 4), _classes(4, 2, 4)))

# Functions

_function("matmul", lambda torch, a, b: a @ b, (2, 3, 4), (4, 5))
_function("matmul of vectors", lambda torch, a, b: torch.matmul(a, b), (4,), (4,))
_function("mm", lambda torch, a, b: torch.mm(a, b), (3, 4), (4, 5))
_function("bmm", lambda torch, a, b: torch.bmm(a, b), (2, 3, 4), (2, 4, 5))
_function("addmm", lambda torch, c, a, b: torch.addmm(c, a, b), (5,), (3, 4), (4, 5))
_function("einsum", lambda torch, a, b: torch.einsum("bij,jk->bik", a, b), (2, 3, 4),
          (4, 5))  # fmt: skip
_function("tensordot", lambda torch, a, b: torch.tensordot(a, b, 1), (3, 4), (4, 5))
_function("kron", lambda torch, a, b: torch.kron(a, b), (2, 3), (3, 2))
_function("outer", lambda torch, a, b: torch.outer(a, b), (3,), (4,))
_function("attention",
          lambda torch, q, k, v: torch.nn.functional.scaled_dot_product_attention(
              q, k, v), *((2, 2, 3, 4),) * 3)  # fmt: skip
_function("causal attention",
          lambda torch, q, k, v: torch.nn.functional.scaled_dot_product_attention(
              q, k, v, is_causal=True), *((2, 2, 3, 4),) * 3)  # fmt: skip
_function("reshape", lambda torch, x: x.reshape(4, 2), (2, 4))
_function("view", lambda torch, x: x.view(-1), (2, 4))
_function("flatten", lambda torch, x: x.flatten(1), (2, 3, 4))
_function("unflatten", lambda torch, x: x.unflatten(1, (2, 2)), (2, 4))
_function("transposes", lambda torch, x: (x.T, x.mT, x.t(), x.transpose(0, 1)), (2, 4))
_function("permute", lambda torch, x: x.permute(2, 0, 1).contiguous(), (2, 3, 4))
_function("movedim", lambda torch, x: x.movedim(0, -1), (2, 3, 4))
_function("swapaxes", lambda torch, x: x.swapaxes(0, 1), (2, 3, 4))
_function("expand", lambda torch, x: x.expand(3, 2, 4), (2, 4))
_function("expand_as", lambda torch, x, y: x.expand_as(y), (1, 4), (2, 4))
_function("broadcast_to", lambda torch, x: torch.broadcast_to(x, (3, 2, 4)), (2, 4))
_function("squeezes", lambda torch, x: x.squeeze().unsqueeze(0).squeeze(0), (2, 1, 4))
_function("chunk", lambda torch, x: x.chunk(2, 1), (2, 4))
_function("split", lambda torch, x: torch.split(x, 2, dim=1), (2, 4))
_function("split of sizes", lambda torch, x: x.split([1, 3], 1), (2, 4))
_function("tensor_split", lambda torch, x: x.tensor_split(2, 1), (2, 4))
_function("unbind", lambda torch, x: x.unbind(0), (2, 4))
_function("cat and stack", lambda torch, x, y: (torch.cat([x, y], 1), torch.stack(
    [x, y])), (2, 4), (2, 4))  # fmt: skip
_function("hstack", lambda torch, x, y: (torch.hstack([x, y]), torch.vstack([x, y])),
          (2, 4), (2, 4))  # fmt: skip
_function("index", lambda torch, x: (x[0], x[:, 1:3], x[..., None], x[:, -1]), (2, 4))
_function("index by tensor", lambda torch, x, i: x[i], _with((3, 4), _classes(3, 2)))
_function("index_select", lambda torch, x, i: x.index_select(0, i),
          _with((3, 4), _classes(3, 2)))  # fmt: skip
_function("gather", lambda torch, x, i: x.gather(1, i),
          _with((3, 4), _classes(4, 3, 2)))  # fmt: skip
_function("where", lambda torch, x, y: torch.where(x > 0, x, y), (2, 4), (2, 4))
_function("masked_fill", lambda torch, x: x.masked_fill(x > 0, 0.0), (2, 4))
_function("tril", lambda torch, x: x.tril() + x.triu(1), (3, 3))
_function("to", lambda torch, x: x.to(torch.float64), (2, 4))
_function("casts", lambda torch, x: (x.double(), x.half(), x.long(), x.bool()), (2, 4))
_function("type_as", lambda torch, x, y: x.type_as(y.double()), (2, 4), (2, 4))
_function("sums", lambda torch, x: (x.sum(), x.sum(1), x.mean(-1, keepdim=True)),
          (2, 4))  # fmt: skip
_function("moments", lambda torch, x: (x.var(1), x.std(1), torch.var_mean(x, 1)),
          (2, 4))  # fmt: skip
_function("extremes", lambda torch, x: (x.max(), x.max(1), x.argmin(1), x.amax(1)),
          (2, 4))  # fmt: skip
_function("norms", lambda torch, x: (x.norm(), torch.linalg.vector_norm(x, dim=1)),
          (2, 4))  # fmt: skip
_function("linalg.norm", lambda torch, x: torch.linalg.norm(x), (2, 4))
_function("sort and topk", lambda torch, x: (x.sort(1), x.topk(2)), (2, 4))
_function("cumsum", lambda torch, x: (x.cumsum(1), x.cumprod(1)), (2, 4))
_function("clamp", lambda torch, x: x.clamp(0, 1).clamp_min(0.5), (2, 4))
_function("arithmetic", lambda torch, x, y: (x + y) * 2 - x / y + 1 / x, (2, 4), (2, 4))
_function("reversed", lambda torch, x: (1 - x, 2 / x, 2**x, x**2, -x), (2, 4))
_function("floor division", lambda torch, x, y: (x // y, x % y), (2, 4), (2, 4))
_function("comparisons", lambda torch, x, y: (x > y, x == 1, (x > 0) & (y > 0)),
          (2, 4), (2, 4))  # fmt: skip
_function("softmax", lambda torch, x: torch.softmax(x, -1), (2, 4))
_function("softmax of dtype",
          lambda torch, x: torch.nn.functional.softmax(x, -1, dtype=torch.float64),
          (2, 4))  # fmt: skip
_function("logsumexp", lambda torch, x: x.logsumexp(1), (2, 4))
_function("normalize", lambda torch, x: torch.nn.functional.normalize(x), (2, 4))
_function("one_hot", lambda torch, i: torch.nn.functional.one_hot(i, 4),
          _with(_classes(4, 3)))  # fmt: skip
_function("pad", lambda torch, x: torch.nn.functional.pad(x, (1, 2)), (2, 4))
_function("interpolate", lambda torch, x: torch.nn.functional.interpolate(
    x, scale_factor=2, mode="bicubic", align_corners=False), _IMAGE)  # fmt: skip
_function("grid_sample", lambda torch, x, g: torch.nn.functional.grid_sample(
    x, g, align_corners=False), _IMAGE, (2, 3, 3, 2))  # fmt: skip
_function("affine_grid", lambda torch, t: torch.nn.functional.affine_grid(
    t, [2, 3, 4, 4], align_corners=False), (2, 2, 3))  # fmt: skip
_function(
    "creation",
    lambda torch, x: (
        torch.zeros_like(x),
        torch.ones(2, 4),
        x.new_zeros(3),
        torch.arange(4),
    ),
    (2, 4),
)
_function("repeat", lambda torch, x: (x.repeat(2, 1), x.repeat_interleave(2)), (2, 4))
_function("roll and flip", lambda torch, x: (x.roll(1, 0), x.flip(1)), (2, 4))
_function("in place", lambda torch, x: (x + 1).mul_(2).add_(x).relu_(), (2, 4))
_function("set item", lambda torch, x: _set_item(x.clone()), (2, 4))
_function("cdist", lambda torch, x, y: torch.cdist(x, y), (3, 4), (2, 4))
_function("diff", lambda torch, x: torch.diff(x), (2, 4))
_function("trace and diag", lambda torch, x: (x.trace(), x.diag(), x.diagonal()),
          (3, 3))  # fmt: skip
_function("meshgrid", lambda torch, x, y: torch.meshgrid(x, y, indexing="ij"), (3,),
          (2,))  # fmt: skip
_function("nan_to_num", lambda torch, x: (x.nan_to_num(), x.isnan(), x.isfinite()),
          (2, 4))  # fmt: skip
_function("logical", lambda torch, x: ((x > 0).any(), (x > 0).all(1)), (2, 4))
_function("erf", lambda torch, x: (x.erf(), x.exp(), x.rsqrt(), x.square()), (2, 4))
_function("detach", lambda torch, x: x.detach() + x.clone(), (2, 4))
_function("allclose", lambda torch, x, y: torch.isclose(x, y), (2, 4), (2, 4))
_function("fft", lambda torch, x: torch.fft.rfft(x), (2, 4))
_function(
    "addcmul", lambda torch, x, y: torch.addcmul(x, x, y, value=2), (2, 4), (2, 4)
)


def _set_item(x: Any) -> Any:
    x[0] = 1.0
    x[:, 1] += 2.0
    return x


# Models


def _model(name: str, make: Callable[[Any], Any], args: tuple[int, ...] | Make) -> None:
    PROGRAMS[name] = Program(make, args if callable(args) else _sizes(args))


def _mlp(torch: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(
        nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1),
        nn.Linear(16, 4), nn.LogSoftmax(dim=1),
    )  # fmt: skip


def _cnn(torch: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
        nn.MaxPool2d(2), nn.Conv2d(8, 8, 3), nn.GELU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(8, 4),
    )  # fmt: skip


def _residual(torch: Any) -> Any:
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv2d(4, 4, 3, padding=1, bias=False)
            self.norm = nn.BatchNorm2d(4)
            self.second = nn.Conv2d(4, 4, 1)

        def forward(self, x: Any) -> Any:
            y = torch.relu(self.norm(self.first(x)))
            return torch.nn.functional.relu(self.second(y) + x)

    return Block()


def _gpt(torch: Any) -> Any:
    nn = torch.nn
    F = nn.functional

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(20, 8), nn.Embedding(16, 8)
            self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
            self.norm, self.drop = nn.LayerNorm(8), nn.Dropout(0.1)
            self.head = nn.Linear(8, 20, bias=False)
            self.head.weight = self.tokens.weight

        def forward(self, tokens: Any) -> Any:
            batch, length = tokens.shape
            x = self.tokens(tokens) + self.places(torch.arange(length))
            parts = self.qkv(self.norm(x)).split(8, dim=2)
            q, k, v = (p.view(batch, length, 2, 4).transpose(1, 2) for p in parts)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            y = y.transpose(1, 2).contiguous().view(batch, length, 8)
            x = x + self.drop(self.out(y))
            return self.head(F.gelu(x))

    return Block()


def _recurrent(torch: Any) -> Any:
    nn = torch.nn

    class Tagger(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.table, self.head = nn.Embedding(20, 4), nn.Linear(5, 3)
            self.steps = nn.LSTM(4, 5, batch_first=True)

        def forward(self, tokens: Any) -> Any:
            states, _ = self.steps(self.table(tokens))
            return torch.nn.functional.log_softmax(self.head(states[:, -1]), dim=-1)

    return Tagger()


def _variational(torch: Any) -> Any:
    nn = torch.nn

    class Model(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.encode, self.decode = nn.Linear(8, 4), nn.Linear(2, 8)

        def forward(self, x: Any) -> Any:
            mean, log_variance = self.encode(x).chunk(2, dim=-1)
            noise = torch.randn_like(mean)
            z = mean + noise * (0.5 * log_variance).exp()
            return torch.sigmoid(self.decode(z)), mean

    return Model()


def _losses(torch: Any) -> Any:
    nn = torch.nn

    class Loss(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.norm = nn.Linear(4, 3), nn.BatchNorm1d(3, affine=False)

        def forward(self, x: Any, y: Any) -> Any:
            scores = self.norm(self.layer(x))
            penalty = sum(p.pow(2).sum() for p in self.parameters())
            return nn.functional.cross_entropy(scores, y) + 0.1 * penalty

    return Loss()


_model("MLP", _mlp, (4, 8))
_model("MLP eval", lambda torch: _mlp(torch).eval(), (4, 8))
_model("CNN", _cnn, (2, 3, 12, 12))
_model("CNN eval", lambda torch: _cnn(torch).eval(), (2, 3, 12, 12))
_model("residual block", _residual, (2, 4, 6, 6))
_model("GPT block", _gpt, _with(_classes(20, 2, 6)))
_model("tagger", _recurrent, _with(_classes(20, 2, 6)))
_model("variational", _variational, (3, 8))
_model("loss", _losses, _with((4, 4), _classes(3, 4)))
