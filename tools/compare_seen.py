"""What dispatch modes see here and in PyTorch: ``tools/compare_seen.py [name ...]``.

Runs the first differentiable samples of PyTorch's OpInfo database, and layers of
``torch.nn``, forward and backward in both packages under a mode that records the names
of ops. Prints how many sequences are equal, equal in another order, or different, then
those that differ (``-v``: each with its names). ``--without-rules`` decomposes
derivatives where declarations say what modes see of them, to find redundant
declarations. Needs torch.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.utils._python_dispatch as reference_dispatch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_map

import pellucid
import pellucid.utils._python_dispatch as own_dispatch

SAMPLES = 2
MOST_TRIED = 12
UNSHOWN = {"aten::detach", "aten::alias"}
"""Autograd's bookkeeping ops, which differ between the packages."""


class Program(NamedTuple):
    """A function of either package and its arguments, with PyTorch's tensors."""

    name: str
    make: Callable[[Any], Callable[..., Any]]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def _watching(base: Any) -> Any:
    class Names(base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[str] = []

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            self.seen.append(func.name())
            return func(*args, **(kwargs or {}))

    return Names


REFERENCE = _watching(reference_dispatch.TorchDispatchMode)
OWN = _watching(own_dispatch.TorchDispatchMode)


def _to_own(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        plain = value.detach()
        made = pellucid.from_numpy(plain.contiguous().numpy().copy())
        if not plain.is_contiguous() and plain.numel():
            size, stride = plain.shape, plain.stride()
            made = pellucid.empty_strided(size, stride, dtype=made.dtype).copy_(made)
        return made.requires_grad_(value.requires_grad)
    if isinstance(value, torch.dtype):
        return getattr(pellucid, str(value).removeprefix("torch."))
    return value


def _names(library: Any, watch: Any, program: Program) -> tuple[list[str], list[str]]:
    """The names of the forward and of the backward pass."""
    given = (program.args, program.kwargs)
    if library is pellucid:
        given = tree_map(_to_own, given)
    else:
        given = tree_map(
            lambda v: (
                v.detach().clone().requires_grad_(v.requires_grad)
                if isinstance(v, torch.Tensor)
                else v
            ),
            given,
        )
    library.manual_seed(0)
    library.manual_seed(0)
    run = program.make(library)
    leaves = [
        t
        for t in tree_flatten(given)[0]
        if isinstance(t, library.Tensor) and t.requires_grad
    ]
    leaves += run.parameters() if isinstance(run, library.nn.Module) else []
    with watch() as forward:
        results = run(*given[0], **given[1])
    found = [results] if isinstance(results, library.Tensor) else results
    found = [
        t
        for t in tree_flatten(list(found) if not isinstance(found, dict) else found)[0]
        if isinstance(t, library.Tensor) and t.requires_grad
    ]
    if not found:
        raise ValueError("nothing to differentiate")
    cotangents = [library.randn_like(t.detach()) for t in found]
    with watch() as backward:
        library.autograd.grad(found, leaves, cotangents, allow_unused=True)
    return forward.seen, backward.seen


class _Named:
    """A function by its path below the package."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, library: Any) -> Any:
        return reduce(getattr, self.path.split("."), library)


def _path(info: Any) -> str | None:
    for path in (info.name, f"Tensor.{info.name}"):
        found: Any = pellucid
        for part in path.split("."):
            found = getattr(found, part, None)
        if callable(found):
            return path
    return None


def _samples(info: Any) -> Iterator[Program]:
    path = _path(info)
    if path is None or not info.supports_autograd:
        return
    torch.manual_seed(0)
    dtype = torch.float32
    if dtype not in info.dtypes:
        return
    name = f"{info.name}.{info.variant_test_name}".rstrip(".")
    count = 0
    samples = info.sample_inputs("cpu", dtype, requires_grad=True)
    for _, sample in zip(range(MOST_TRIED), samples, strict=False):
        args, kwargs = (sample.input, *sample.args), sample.kwargs
        tensors = [
            t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)
        ]
        if not all(t.dim() and t.numel() for t in tensors if t.requires_grad):
            continue
        label = name if not count else f"{name}#{count}"
        program = Program(label, _Named(path), args, dict(kwargs))
        try:
            _names(torch, REFERENCE, program)
        except Exception:
            continue
        yield program
        count += 1
        if count == SAMPLES:
            return


def _layers() -> Iterator[Program]:
    """Layers of several ops."""

    def layer(kind: str, *given: Any, **options: Any) -> Callable[..., Any]:
        return lambda library: getattr(library.nn, kind)(*given, **options)

    def leaf(*sizes: int) -> torch.Tensor:
        return torch.randn(*sizes).requires_grad_()

    made = [
        ("RNN", (4, 5), {}, (3, 2, 4)),
        ("LSTM", (4, 5), {}, (3, 2, 4)),
        ("GRU", (4, 5), {}, (3, 2, 4)),
        ("LSTMCell", (4, 5), {}, (2, 4)),
        ("GRUCell", (4, 5), {}, (2, 4)),
        ("RNNCell", (4, 5), {}, (2, 4)),
        ("Linear", (4, 5), {}, (2, 4)),
        ("Linear", (4, 5), {}, (3, 2, 4)),
        ("Conv2d", (3, 4, 3), {}, (1, 3, 6, 6)),
        ("BatchNorm1d", (4,), {}, (3, 4)),
        ("BatchNorm2d", (3,), {}, (2, 3, 4, 4)),
        ("InstanceNorm2d", (3,), {"affine": True}, (2, 3, 4, 4)),
        ("GroupNorm", (2, 4), {}, (2, 4, 3)),
        ("LayerNorm", (4,), {}, (2, 4)),
        ("RMSNorm", (4,), {}, (2, 4)),
        ("Dropout", (0.5,), {}, (2, 4)),
        ("PReLU", (), {}, (2, 4)),
        (
            "TransformerEncoderLayer",
            (8, 2, 16),
            {"dropout": 0.0, "batch_first": True},
            (2, 3, 8),
        ),
    ]
    for number, (kind, given, options, sizes) in enumerate(made):
        torch.manual_seed(number)
        yield Program(
            f"nn.{kind}/{len(sizes)}",
            layer(kind, *given, **options),
            (leaf(*sizes),),
            {},
        )
    attention = layer("MultiheadAttention", 8, 2, batch_first=True)
    yield Program("nn.MultiheadAttention", attention, (leaf(2, 3, 8),) * 3, {})


def _compared(own: list[str], reference: list[str]) -> str:
    own, reference = ([n for n in s if n not in UNSHOWN] for s in (own, reference))
    if own == reference:
        return "equal"
    return "reordered" if Counter(own) == Counter(reference) else "different"


def _difference(own: list[str], reference: list[str]) -> str:
    mine, theirs = (
        Counter(n.removeprefix("aten::") for n in s if n not in UNSHOWN)
        for s in (own, reference)
    )
    parts = [f"+{n}" + (f" x{c}" if c > 1 else "") for n, c in (mine - theirs).items()]
    parts += [f"-{n}" + (f" x{c}" if c > 1 else "") for n, c in (theirs - mine).items()]
    return " ".join(parts)


def _forget_rules(names: list[str]) -> None:
    from pellucid._decomp import derivatives

    declared = derivatives.declared
    is_chosen = names.__contains__ if names else lambda name: True

    def without(name: str) -> Any:
        op = declared(name)
        if not is_chosen(name):
            return op
        seen = op.seen._replace(gradients={})
        return type("Declared", (), {"seen": seen})

    derivatives.declared = without


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", nargs="*", help="of programs; all without")
    parser.add_argument("-v", action="store_true", dest="verbose")
    parser.add_argument("--without-rules", nargs="*", metavar="OP")
    parser.add_argument("--json", type=Path, help="write the names there")
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore")
    if chosen.without_rules is not None:
        _forget_rules(chosen.without_rules)
    totals = {"forward": Counter(), "backward": Counter(), "refused": Counter()}
    unnamed, table = [], {}
    programs = (p for info in op_db for p in _samples(info))
    for program in (*_layers(), *programs):
        if chosen.name and program.name.partition("#")[0] not in chosen.name:
            continue
        reference = _names(torch, REFERENCE, program)
        try:
            own = _names(pellucid, OWN, program)
        except Exception as error:
            totals["refused"][type(error).__name__] += 1
            text = str(error).replace("\n", " ")[:120]
            print(f"{program.name}: {type(error).__name__} {text}", flush=True)
            continue
        table[program.name] = {"own": own, "reference": reference}
        if any(not n.startswith("aten::") for n in own[1]):
            unnamed.append(program.name)
        for what, mine, theirs in zip(
            ("forward", "backward"), own, reference, strict=True
        ):
            verdict = _compared(mine, theirs)
            totals[what][verdict] += 1
            if verdict != "equal":
                print(f"{program.name} {what} {verdict}: {_difference(mine, theirs)}")
                if chosen.verbose:
                    print(
                        f"    here: {' '.join(mine)}\n    PyTorch: {' '.join(theirs)}"
                    )
    for what, counts in totals.items():
        print(what, dict(counts))
    print(f"{len(unnamed)} programs show names of derivatives: {' '.join(unnamed)}")
    if chosen.json:
        chosen.json.write_text(json.dumps(table, indent=0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
