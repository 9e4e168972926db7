"""The networks that benchmarks train and run: a CNN, GPTs, an LSTM, a loop in Python.

`networks(torch)` gives, for a torch-like module, name -> maker of a (train step,
inference) pair. `cases.py` times them; `memory.py` measures their peak memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

Steps = tuple[Callable[[], object], Callable[[], object]]


def networks(
    torch: Any,
    *,
    single: bool = False,
    wrap: Callable[[Any], Any] = lambda model: model,
) -> dict[str, Callable[[], Steps]]:
    """Each maker seeds, builds the network and its data, and returns both steps.

    `single` makes batches of one example instead of those in the names. `wrap` replaces
    a network by the module that is trained.
    """

    def tokens(*shape: int) -> Any:
        return torch.randint(0, 256, shape)

    def gpt(width: int, depth: int, batch: int, length: int) -> Callable[[], Steps]:
        def model() -> Any:
            return wrap(_gpt(torch, width, depth, length))

        count = 1 if single else batch
        data = partial(tokens, count, length)
        return lambda: _steps(torch, model, data, (count * length, 256), "AdamW")

    def plain(
        network: Callable[[Any], Any], shape: tuple[int, ...], classes: int, name: str
    ) -> Callable[[], Steps]:
        count = 1 if single else shape[0]
        data = partial(torch.randn, count, *shape[1:])

        def model() -> Any:
            return wrap(network(torch))

        return lambda: _steps(torch, model, data, (count, classes), name)

    return {
        "cnn 28x28, batch 64": plain(_cnn, (64, 1, 28, 28), 10, "SGD"),
        "gpt width 64, 32 tokens, batch 1": gpt(64, 2, 1, 32),
        "gpt width 128, 128 tokens, batch 8": gpt(128, 4, 8, 128),
        "lstm 32 steps, batch 16": plain(_lstm, (16, 32, 32), 10, "Adam"),
        "loop of layers, batch 4": plain(_loop, (4, 32), 32, "SGD"),
    }


def _steps(
    torch: Any,
    make_model: Callable[[], Any],
    draw: Callable[[], Any],
    scores_shape: tuple[int, int],
    optimizer: str,
) -> Steps:
    """The steps of a model whose flattened scores have the given rows and classes."""
    torch.manual_seed(0)
    model, x = make_model(), draw()
    rows, classes = scores_shape
    y = torch.randint(0, classes, (rows,))
    update = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-3)

    def train() -> None:
        update.zero_grad()
        scores = model(x).flatten(0, -2)
        torch.nn.functional.cross_entropy(scores, y).backward()
        update.step()

    def infer() -> object:
        with torch.no_grad():
            return model(x)

    return train, infer


def perceptron_step(torch: Any, optimizer: str, batch: int) -> Callable[[], object]:
    """A training step of a small perceptron, as in reinforcement learning."""
    nn = torch.nn

    def model() -> Any:
        return nn.Sequential(
            nn.Linear(64, 64),
            nn.ReLU(),
            nn.Linear(64, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        )

    data = partial(torch.randn, batch, 64)
    return _steps(torch, model, data, (batch, 10), optimizer)[0]


def _cnn(torch: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(64, 64, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    )


def _gpt(torch: Any, width: int, depth: int, length: int, heads: int = 4) -> Any:
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.before_attention = nn.LayerNorm(width)
            self.query_key_value = nn.Linear(width, 3 * width)
            self.project = nn.Linear(width, width)
            self.before_mlp = nn.LayerNorm(width)
            self.widen = nn.Linear(width, 4 * width)
            self.narrow = nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            batch, steps, _ = x.shape
            joint = self.query_key_value(self.before_attention(x))
            split = joint.view(batch, steps, 3, heads, width // heads)
            query, key, value = split.permute(2, 0, 3, 1, 4).unbind(0)
            mixed = functional.scaled_dot_product_attention(
                query, key, value, is_causal=True
            )
            x = x + self.project(mixed.transpose(1, 2).reshape(batch, steps, width))
            return x + self.narrow(functional.gelu(self.widen(self.before_mlp(x))))

    class GPT(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(256, width)
            self.places = nn.Embedding(length, width)
            self.blocks = nn.ModuleList([Block() for _ in range(depth)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 256)

        def forward(self, tokens: Any) -> Any:
            x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    return GPT()


def _lstm(torch: Any) -> Any:
    nn = torch.nn

    class Classifier(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.recurrence = nn.LSTM(32, 64, batch_first=True)
            self.head = nn.Linear(64, 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.recurrence(x)[0][:, -1])

    return Classifier()


def _loop(torch: Any) -> Any:
    nn = torch.nn

    class Loop(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(32, 32) for _ in range(6)])

        def forward(self, x: Any) -> Any:
            for step in range(12):
                x = torch.tanh(self.layers[step % 6](x)) + 0.5 * x
            return x

    return Loop()
