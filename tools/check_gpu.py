#!/usr/bin/env python3
"""Checks the CUDA device on a GPU, and writes one report.

First correctness: the conformance kit, then a call of every schedule whose bits are
compared with the emulator's. Then speed beside the GPU's own memory and the products of
cuBLASLt's size: products, convolutions (with and without cuDNN), elementwise, softmax,
and a training step of a perceptron and of a GPT. Where cuDNN is installed, its results
are compared with those of the project's kernels. The exit status is 1 where something
is wrong; speed never fails.

    python tools/check_gpu.py [--output docs/cuda-report.md] [--skip-kit] [--small]

``--small`` takes sizes that the stand-in driver of tests/cuda can run.
"""

from __future__ import annotations

import argparse
import hashlib
import platform
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tools.given_calls import GIVEN  # noqa: E402

import pellucid as torch  # noqa: E402
from pellucid import nn  # noqa: E402
from pellucid.devices import check  # noqa: E402
from pellucid.devices.emulated import Emulated  # noqa: E402

F = nn.functional
Call = Callable[..., Any]


def schedules() -> dict[str, tuple[Call, tuple[Any, ...]]]:
    """A call for every schedule, with operands that reach its edges."""
    torch.manual_seed(0)
    x, y = torch.randn(37, 300), torch.randn(300, 41)
    index = torch.randint(0, 37, (50,))
    half = torch.randn(33, 65)
    return {
        "map: tanh": (torch.tanh, (x,)),
        "map: gelu of bfloat16": (F.gelu, (half.bfloat16(),)),
        "map: addition of rows": (torch.add, (x, x[0])),
        "map: transposed": (torch.exp, (x.t(),)),
        "reduce: sum of rows": (lambda a: a.sum(1), (x,)),
        "reduce: sum of columns": (lambda a: a.sum(0), (x,)),
        "reduce: argmax": (lambda a: a.argmax(1), (x,)),
        "rows: softmax": (lambda a: a.softmax(1), (x,)),
        "rows: layer_norm": (lambda a: F.layer_norm(a, (300,)), (x,)),
        "scan: cumsum": (lambda a: a.cumsum(1), (x,)),
        "nest: index_select": (lambda a, i: a.index_select(0, i), (x, index)),
        "nest: max_pool2d": (lambda a: F.max_pool2d(a, 3), (x.view(1, 1, 37, 300),)),
        "gemm: float32": (torch.mm, (x, y)),
        "gemm: float16": (torch.mm, (x.half(), y.half())),
        "gemm: convolution with a border": (
            lambda a, b: F.conv2d(a, b, padding=1),
            (x.view(1, 3, 37, 100), y[:30, :27].reshape(10, 3, 9, 3)[:, :, :3]),
        ),
    }


# Windows of convolutions: sizes of images and filters, and what conv2d is given.
CONVOLUTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, int]]] = {
    "3 by 3": ((2, 8, 9, 11), (16, 8, 3, 3), {"padding": 1}),
    "stride 2": ((2, 8, 9, 11), (16, 8, 3, 3), {"padding": 1, "stride": 2}),
    "stride 3, dilation 2": (
        (2, 4, 15, 13),
        (6, 4, 3, 2),
        {"stride": 3, "dilation": 2},
    ),
    "groups": ((2, 8, 9, 11), (16, 2, 3, 3), {"groups": 4}),
}


def compare_cudnn() -> Iterator[tuple[str, float, bool]]:
    """(convolution and dtype, how far cuDNN's results and gradients are from those of
    the project's kernels, relative to the largest, whether that is near enough)."""
    bounds = {torch.float64: 1e-12, torch.float32: 1e-4}
    bounds |= {torch.float16: 1e-2, torch.bfloat16: 8e-2}
    for name, (image, filters, windows) in CONVOLUTIONS.items():
        for dtype, bound in bounds.items():
            torch.manual_seed(0)
            for layout in (torch.contiguous_format, torch.channels_last):
                x, w = (torch.randn(n).to("cuda", dtype) for n in (image, filters))
                x = x.contiguous(memory_format=layout)
                found = [
                    gradients(x, w, windows, by_cudnn) for by_cudnn in (True, False)
                ]
                far = max(
                    float((a - b).abs().max() / b.abs().max())
                    for a, b in zip(*found, strict=True)
                )
                yield f"{name}, {dtype}, {layout}", far, far <= bound


def gradients(x: Any, w: Any, windows: dict[str, int], by_cudnn: bool) -> list[Any]:
    """A convolution's result and gradients, on the CPU in float64."""
    given = [t.detach().requires_grad_() for t in (x, w)]
    with torch.backends.cudnn.flags(enabled=by_cudnn, allow_tf32=False):
        y = F.conv2d(*given, **windows)
        found = torch.autograd.grad(y, given, y.detach())
    return [t.detach().cpu().double() for t in (y, *found)]


def digest(tensor: Any) -> str:
    """Of the bytes of a tensor."""
    raw = tensor.cpu().contiguous().view(torch.uint8).tolist()
    return hashlib.sha256(repr(raw).encode()).hexdigest()[:12]


def compare_bits() -> Iterator[tuple[str, str, str, int]]:
    """(schedule, digest on the GPU, on the emulator, steps that the CPU ran)."""
    torch.devices.register(Emulated())
    for name, (call, operands) in schedules().items():
        before = torch.devices.counts("cuda")["fallbacks"]
        on_gpu = call(*(o.to("cuda") for o in operands))
        torch.cuda.synchronize()
        ran_here = torch.devices.counts("cuda")["fallbacks"] - before
        expected = call(*(o.to("emu") for o in operands))
        yield name, digest(on_gpu), digest(expected), ran_here


def seconds(call: Callable[[], Any], repeats: int) -> float:
    """The best time of a call on the GPU, by events."""
    call()
    best = float("inf")
    for _ in range(repeats):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        call()
        last.record()
        last.synchronize()
        best = min(best, first.elapsed_time(last) * 1e-3)
    return best


def launch_overhead(repeats: int) -> float:
    """Seconds of the CPU per small op, launches only."""
    x = torch.ones(16, device="cuda")
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        x + x
    spent = time.perf_counter() - start
    torch.cuda.synchronize()
    return spent / repeats


class Perceptron(nn.Sequential):
    """Three layers."""

    def __init__(self, width: int) -> None:
        layers = [nn.Linear(width, width), nn.GELU(), nn.Linear(width, width)]
        super().__init__(*layers, nn.GELU(), nn.Linear(width, 10))


class Block(nn.Module):
    """A decoder's layer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = (
            nn.Linear(width, 4 * width),
            nn.Linear(4 * width, width),
        )

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.first(x)).chunk(3, -1)
        q, k, v = (
            t.view(batch, length, self.heads, -1).transpose(1, 2) for t in (q, k, v)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(F.gelu(self.wide(self.second(x))))


class Gpt(nn.Module):
    """Token embeddings, blocks, and a head."""

    def __init__(self, width: int, layers: int, tokens: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(tokens, width)
        self.blocks = nn.Sequential(*(Block(width, 4) for _ in range(layers)))
        self.head = nn.Linear(width, tokens)

    def forward(self, tokens: Any) -> Any:
        return self.head(self.blocks(self.embed(tokens)))


def training_step(model: Any, inputs: Any, targets: Any) -> Callable[[], Any]:
    """Forward, backward and AdamW's step; gives the loss."""
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)

    def step() -> Any:
        optimizer.zero_grad()
        logits = model(inputs)
        loss = F.cross_entropy(logits.flatten(0, -2), targets.flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def timings(small: bool) -> Iterator[tuple[str, float, str]]:
    """(what, seconds, a rate)."""
    repeats = 2 if small else 20
    for size in (64,) if small else (1024, 4096):
        for dtype in (torch.float32, torch.bfloat16):
            a = torch.randn(size, size).to(dtype).to("cuda")
            spent = seconds(lambda a=a: a @ a, repeats)
            rate = 2 * size**3 / spent / 1e12
            yield f"product {size}³ {dtype}", spent, f"{rate:.2f} TFLOP/s"
    count = 1 << (10 if small else 28)
    x = torch.ones(count).to("cuda")
    for name, call, passes in (
        ("x + 1", lambda: x + 1, 2),
        ("gelu", lambda: F.gelu(x), 2),
        ("softmax of rows", lambda: x.view(-1, 1024).softmax(1), 2),
        ("sum", lambda: x.sum(), 1),
        ("copy", lambda: x.clone(), 2),
    ):
        spent = seconds(call, repeats)
        yield name, spent, f"{4 * count * passes / spent / 1e9:.1f} GB/s"
    yield from convolution_timings(small, repeats)
    width, batch = (32, 4) if small else (4096, 1024)
    model = Perceptron(width).to("cuda")
    given = torch.randn(batch, width).to("cuda"), torch.arange(batch).to("cuda") % 10
    yield "training step, perceptron", seconds(training_step(model, *given), 2), ""
    width, layers, length = (32, 1, 8) if small else (768, 12, 1024)
    tokens = torch.arange(2 * length).view(2, length) % 97
    gpt = Gpt(width, layers, 97).to("cuda")
    step = training_step(gpt, tokens.to("cuda"), tokens.to("cuda"))
    yield "training step, GPT", seconds(step, 2), ""
    overhead = launch_overhead(50 if small else 10_000)
    yield "CPU time of a small op", overhead, ""


def convolution_timings(small: bool, repeats: int) -> Iterator[tuple[str, float, str]]:
    """A layer of a residual network, forward and backward: by the project's kernels,
    and by what cuDNN's benchmark keeps."""
    batch, channels, size = (1, 4, 6) if small else (64, 128, 56)
    kinds = {"own": False}
    if torch.backends.cudnn.is_available():
        kinds["cuDNN"] = True
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.randn(batch, channels, size, size).to("cuda", dtype).requires_grad_()
        w = torch.randn(channels, channels, 3, 3).to("cuda", dtype).requires_grad_()
        for name, by_cudnn in kinds.items():
            with torch.backends.cudnn.flags(enabled=by_cudnn, benchmark=True):

                def step(x: Any = x, w: Any = w) -> Any:
                    y = F.conv2d(x, w, padding=1)
                    return torch.autograd.grad(y, (x, w), y.detach())

                spent = seconds(step, repeats)
            rate = 6 * x.numel() * channels * 9 / spent / 1e12
            yield (
                f"convolution and gradients, {name}, {dtype}",
                spent,
                f"{rate:.2f} TFLOP/s",
            )


def report(arguments: argparse.Namespace) -> tuple[list[str], bool]:
    """The report's lines, and whether everything is right."""
    facts = torch.cuda.get_device_properties()
    version = torch._C._cuda_driver_version()
    lines = ["# CUDA: a run of tools/check_gpu.py", ""]
    lines += [f"{facts.name}, compute capability {facts.major}.{facts.minor}, "]
    lines[-1] += f"{facts.total_memory >> 20} MiB, driver for CUDA {version / 1000:.1f}"
    lines += [f"Python {platform.python_version()} on {platform.platform()}", ""]
    is_right = True
    if not arguments.skip_kit:
        found = check.run("cuda", given=GIVEN)
        is_right &= bool(found)
        lines += ["## Conformance kit", "", "```", str(found), "```", ""]
    lines += ["## Bits beside the emulator", ""]
    lines += ["| schedule | GPU | emulator | |", "|---|---|---|---|"]
    for name, actual, expected, ran_here in compare_bits():
        is_same = actual == expected
        is_right &= is_same
        verdict = "same" if is_same else "**differs**"
        verdict += f"; {ran_here} steps on the CPU" if ran_here else ""
        lines += [f"| {name} | {actual} | {expected} | {verdict} |"]
    if torch.backends.cudnn.is_available():
        lines += ["", f"## cuDNN {torch.backends.cudnn.version()}", ""]
        lines += ["| convolution | furthest from the own kernels | |", "|---|---|---|"]
        for name, far, is_near in compare_cudnn():
            is_right &= is_near
            lines += [f"| {name} | {far:.1e} | {'near' if is_near else '**far**'} |"]
    lines += ["", "## Speed", "", "| what | ms | rate |", "|---|---|---|"]
    for name, spent, rate in timings(arguments.small):
        lines += [f"| {name} | {spent * 1e3:.4f} | {rate} |"]
    return lines, is_right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, help="where the report is written, too")
    parser.add_argument("--skip-kit", action="store_true")
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        why = torch._C._find_cuda()[1] or "NVIDIA's driver, libcuda.so.1, is not there"
        raise SystemExit(f"no GPU: {why}")
    lines, is_right = report(arguments)
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.output is not None:
        arguments.output.write_text(text)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
