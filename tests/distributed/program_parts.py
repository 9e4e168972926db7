"""What tests/distributed/programs.py makes programs of: modules, and what is drawn."""

import dataclasses
import random

import pellucid as torch
from pellucid import nn
from pellucid.distributed.fsdp import ShardingStrategy
from pellucid.distributed.pipelining import (
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
)
from pellucid.nn import functional as F
from pellucid.utils.checkpoint import checkpoint

ROWS, TIMES = 8, 4
SCHEDULES = {  # and the number of stages a process
    Schedule1F1B: 1,
    ScheduleGPipe: 1,
    ScheduleInterleaved1F1B: 2,
    ScheduleLoopedBFS: 2,
    ScheduleInterleavedZeroBubble: 2,
    ScheduleZBVZeroBubble: 2,
}
OPTIMIZERS = {
    "sgd": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    "decayed": (torch.optim.SGD, {"lr": 0.1, "weight_decay": 0.1}),
    "adam": (torch.optim.Adam, {"lr": 0.01, "eps": 1e-3}),
    "adamw": (torch.optim.AdamW, {"lr": 0.01, "eps": 1e-3}),
}
BY_DATA = "ddp", "zero", "fsdp", "flat"  # flat: FullyShardedDataParallel
KINDS = {2: (*BY_DATA, "tp", "pipe"), 4: (*BY_DATA, "hsdp", "tp", "2d", "pipe")}

# Modules: each takes and gives (rows, times, width).


class Scale(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.factor = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        return x * self.factor


class Mlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class NormedMlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.norm, self.mlp = nn.LayerNorm(width), Mlp(width, hidden)

    def forward(self, x):
        return self.mlp(self.norm(x))


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.three, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        given = self.three(x).unsqueeze(1).chunk(3, -1)
        y = F.scaled_dot_product_attention(*given, is_causal=True)
        return self.out(y.squeeze(1))


class Residual(nn.Module):
    def __init__(self, *inner):
        super().__init__()
        self.inner = nn.Sequential(*inner)

    def forward(self, x):
        return x + self.inner(x)


class Recomputed(Residual):
    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=False)


class Model(nn.Module):
    """Blocks in order; ``skipped`` of them are unused in odd steps."""

    def __init__(self, blocks, skipped):
        super().__init__()
        self.blocks, self.skipped = nn.ModuleList(blocks), skipped

    def forward(self, x, step):
        for number, block in enumerate(self.blocks):
            if not (number in self.skipped and step % 2):
                x = block(x)
        return x


WITH_LINEAR = "linear", "mlp", "normed", "attention"
LEAVES = *WITH_LINEAR, "norm", "scale"


def drawn_tree(draw, depth, sizes):
    """Nested tuples: a block's kind, and its parts or its hidden size."""
    kind = draw.choice((*LEAVES, "residual", "recomputed") if depth else LEAVES)
    if kind in LEAVES:
        return kind, draw.choice(sizes)
    inner = [drawn_tree(draw, depth - 1, sizes) for _ in range(draw.choice((1, 2)))]
    return kind, *inner


def built(tree, width):
    kind, *rest = tree
    if kind in ("residual", "recomputed"):
        form = Residual if kind == "residual" else Recomputed
        return form(*(built(part, width) for part in rest))
    (hidden,) = rest
    return {
        "linear": lambda: nn.Sequential(nn.Linear(width, width), nn.Tanh()),
        "mlp": lambda: Mlp(width, hidden),
        "normed": lambda: NormedMlp(width, hidden),
        "norm": lambda: nn.LayerNorm(width),
        "scale": lambda: Scale(width),
        "attention": lambda: Attention(width),
    }[kind]()


@dataclasses.dataclass
class Program:
    """What a program is made of."""

    seed: int
    kind: str
    width: int
    trees: list
    skipped: set  # blocks that are unused in odd steps
    tied: list  # pairs of blocks with the same first weight
    frozen: list  # parameters, by number
    optimizer: str
    accumulates: int  # backward passes a step
    syncs_last: bool  # only the last of them communicates
    clips: float
    norm_type: float
    hooks: set
    half: bool
    saves: bool  # a checkpoint after the first step, loaded into new objects
    keeps_gradients: bool  # they are zeroed, not dropped
    options: dict

    @property
    def dtype(self):
        return torch.float32 if self.half else torch.float64

    def model(self):
        torch.manual_seed(self.seed)
        blocks = [built(tree, self.width) for tree in self.trees]
        for pair in self.tied:
            first, second = (_first_linear(blocks[k]) for k in pair)
            second.weight = first.weight
        model = Model(blocks, self.skipped).to(self.dtype)
        parameters = list(model.parameters())
        for number in self.frozen:
            parameters[number % len(parameters)].requires_grad_(False)
        self._add_hooks(model.blocks[0], model.blocks[-1])
        return model

    def _add_hooks(self, first, last):
        if "inputs" in self.hooks:
            first.register_forward_pre_hook(lambda _, given: (given[0] * 1.5,))
        if "outputs" in self.hooks:
            last.register_forward_hook(lambda _, given, made: made * 0.5)
        if "gradients" in self.hooks:
            last.register_full_backward_hook(lambda _, into, out: (into[0] * 2,))

    def batch(self, step, turn, place):
        generator = torch.Generator().manual_seed(step * 100 + turn * 10 + place)
        shape = 2, ROWS, TIMES, self.width
        values = torch.randn(shape, dtype=torch.float64, generator=generator)
        return values.to(self.dtype).unbind()


def _first_linear(block):
    return next(m for m in block.modules() if isinstance(m, nn.Linear))


def drawn(seed, size):
    """A program for so many processes, by its number."""
    draw = random.Random(f"{seed} {size}")

    def chance(probability):
        return draw.random() < probability

    kind = draw.choice(KINDS[size])
    options = drawn_options(draw, kind, size)
    hidden = (4, 8) if kind in ("tp", "2d") else (3, 6, 8)  # equal parts, as in PyTorch
    trees = [drawn_tree(draw, 2, hidden) for _ in range(draw.choice((2, 3, 4)))]
    if kind == "pipe":
        count = size * SCHEDULES[options["schedule"]]
        trees = [trees[k % len(trees)] for k in range(count)]
    by_data = kind in (*BY_DATA, "hsdp")
    is_free = by_data and kind != "flat"
    linear = [k for k, tree in enumerate(trees) if tree[0] in WITH_LINEAR]
    tied = []
    if is_free and linear and chance(0.3):
        trees.append(trees[linear[0]])
        tied = [(linear[0], len(trees) - 1)]
    skipped = {draw.randrange(len(trees))} if is_free and chance(0.3) else set()
    accumulates = draw.choice((1, 1, 2, 3)) if kind != "pipe" else 1
    if skipped or accumulates > 1:
        options.pop("static_graph", None)
    saves = kind not in ("pipe", "zero", "flat") and chance(0.4)
    return Program(
        *(seed, kind, draw.choice((3, 5, 6, 8)), trees, skipped),
        tied=tied,
        frozen=[draw.randrange(20) for _ in range(draw.choice((0, 0, 1, 3)))]
        if kind != "flat"
        else [],
        optimizer=draw.choice(sorted(OPTIMIZERS)),
        accumulates=accumulates,
        syncs_last=chance(0.5),
        clips=draw.choice((0, 0.1, 1.0)) if by_data else 0,
        norm_type=draw.choice((2.0, 1.0, float("inf"))),
        hooks={h for h in ("inputs", "outputs", "gradients") if chance(0.2)}
        if by_data
        else set(),
        half=kind in ("ddp", "fsdp", "hsdp") and chance(0.25),
        saves=saves,
        keeps_gradients=not saves and chance(0.3),  # new objects have none
        options=options,
    )


def drawn_options(draw, kind, size):
    """What belongs to one way to distribute."""
    half = (True, False)
    if kind in ("ddp", "zero"):
        return {
            "bucket_cap_mb": draw.choice((25, 0.0001, 0.001)),
            "gradient_as_bucket_view": draw.choice(half),
            "static_graph": draw.choice((True, False, False)),
        }
    if kind in ("fsdp", "hsdp", "2d"):
        number = (2,) if kind == "fsdp" and size == 4 else ()
        return {
            "reshard_after_forward": draw.choice((*half, *number)),
            "wraps": draw.choice(("blocks", "blocks", "root", "pairs")),
        }
    if kind == "flat":
        return {
            "use_orig_params": draw.choice(half),
            "sharding_strategy": draw.choice(list(ShardingStrategy)[:3]),
        }
    if kind == "tp":
        return {"uses_sequence": draw.choice(half)}
    return {"schedule": draw.choice(list(SCHEDULES)), "num_chunks": draw.choice((4, 8))}
