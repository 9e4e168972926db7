"""Development check of the declarations against PyTorch: ``tools/check_opinfo.py [op
...]``.

Runs every OpInfo sample of an op through the interpreter: forward, backward (reading
saved outputs), the adjoint of the tangent, second order, batching, and the error
inputs, which the declaration must refuse with PyTorch's error type. Needs torch; `make
test` does not run it.
"""

import argparse
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import torch

from opinfo_table import TABLE
from pellucid_compiler import catalogue as ops  # noqa: F401
from pellucid_compiler import passes, transforms
from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.ir.expr import sym
from pellucid_compiler.ir.interpret import run
from pellucid_compiler.ir.verify import verify

STEPS = ("forward", "backward", "tangent", "second", "batching")
RTOL, ATOL = 1e-7, 1e-8


def to_array(value):
    if isinstance(value, torch.Tensor):
        return value.detach().resolve_conj().numpy().copy()
    return value


def as_tuple(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def compare(what, got, want):
    for g, w in zip(got, want, strict=True):
        w = to_array(w)
        assert g.shape == w.shape, f"{what}: shape {g.shape}, PyTorch {w.shape}"
        assert g.dtype == w.dtype, f"{what}: dtype {g.dtype}, PyTorch {w.dtype}"
        np.testing.assert_allclose(g, w, rtol=RTOL, atol=ATOL, err_msg=what)


class Case:
    """One sample: the declaration's Graph, and PyTorch as a function of its tensors."""

    def __init__(self, op, args, kwargs, reference, fixed=()):
        self.call = op.specialise(*args, **kwargs)
        self.traced = op.trace(self.call.key, self.call.env)
        self.graph = self.traced.graph
        self.tensors = self.call.tensors
        self.reference = reference
        still = [kwargs.get(name) for name in fixed]
        self.wrt = [
            k
            for k, t in enumerate(self.tensors)
            if t.dtype.kind in "fc" and not any(t is s for s in still)
        ]
        self.floats = [k for k, v in enumerate(self.graph.outputs) if v.differentiable]
        self.random = np.random.default_rng(0)

    def draw(self, like):
        values = self.random.standard_normal(like.shape)
        if like.dtype.kind == "c":
            values = values + 1j * self.random.standard_normal(like.shape)
        return np.asarray(values, like.dtype)

    def torch_outputs(self, *leaves):
        full = [torch.from_numpy(np.array(t)) for t in self.tensors]
        for k, leaf in zip(self.wrt, leaves, strict=False):
            full[k] = leaf
        return as_tuple(self.reference(*full))

    def torch_floats(self, *leaves):
        outputs = self.torch_outputs(*leaves)
        return [o for o in outputs if o.is_floating_point() or o.is_complex()]

    def leaves(self):
        arrays = (np.array(self.tensors[k]) for k in self.wrt)
        return [torch.from_numpy(a).requires_grad_() for a in arrays]

    def run(self, graph, args):
        return run(graph, args, self.call.env)

    def forward(self):
        self.outputs = self.run(self.graph, self.tensors)
        compare("forward", self.outputs, self.torch_outputs())
        self.cts = [self.draw(self.outputs[k]) for k in self.floats]

    def backward(self):
        leaves = self.leaves()
        outputs = self.torch_floats(*leaves)
        used = [
            (o, c) for o, c in zip(outputs, self.cts, strict=True) if o.requires_grad
        ]
        want = torch.autograd.grad(
            [o for o, _ in used],
            leaves,
            [torch.from_numpy(c) for _, c in used],
            allow_unused=True,
        )
        back = verify(transforms.backward(self.graph, self.wrt))
        got = self.run(back, [*self.tensors, *self.outputs, *self.cts])
        compare("backward", got, zero_filled(want, got))
        self.back = verify(transforms.vjp(self.graph, self.wrt))
        self.grads = self.run(self.back, [*self.tensors, *self.cts])
        compare("vjp", self.grads, zero_filled(want, got))
        fused = verify(passes.fuse(self.back))
        compare("fused", self.run(fused, [*self.tensors, *self.cts]), got)

    def tangent(self):
        moves = [self.draw(self.tensors[k]) for k in self.wrt]
        forward = verify(transforms.jvp(self.graph, self.wrt))
        got = self.run(forward, [*self.tensors, *moves])
        if not all(t.size for t in self.tensors):
            return
        left = sum(np.vdot(c, t).real for c, t in zip(self.cts, got, strict=True))
        right = sum(np.vdot(g, m).real for g, m in zip(self.grads, moves, strict=True))
        np.testing.assert_allclose(left, right, rtol=1e-6, atol=1e-7, err_msg="adjoint")

    def second(self):
        if not all(t.size for t in self.tensors):
            return "empty"
        n = len(self.tensors)
        wrt = [*self.wrt, *range(n, len(self.back.inputs))]
        leaves = self.leaves()
        cts = [torch.from_numpy(c).requires_grad_() for c in self.cts]
        weights = [self.draw(g) for g in self.grads]
        outputs = self.torch_floats(*leaves)
        used = [(o, c) for o, c in zip(outputs, cts, strict=True) if o.requires_grad]
        first = torch.autograd.grad(
            [o for o, _ in used],
            leaves,
            [c for _, c in used],
            create_graph=True,
            allow_unused=True,
        )
        pairs = [
            (f, torch.from_numpy(w))
            for f, w in zip(first, weights, strict=True)
            if f is not None and f.requires_grad
        ]
        if not pairs:
            return "linear"
        try:
            want = torch.autograd.grad(
                [f for f, _ in pairs],
                leaves + cts,
                [w for _, w in pairs],
                allow_unused=True,
            )
        except (RuntimeError, NotImplementedError):
            return "none in PyTorch"
        graph = verify(transforms.vjp(self.back, wrt))
        got = self.run(graph, [*self.tensors, *self.cts, *weights])
        compare("second", got, zero_filled(want, got))
        return None

    def batching(self):
        if any(node.primitive.name == "nonzero" for node in self.graph.nodes):
            return "data dependent"
        size = 3
        for chosen in (self.wrt, self.wrt[:1]):
            flags = [k in chosen for k in range(len(self.tensors))]
            args = [
                np.stack([self.draw(t) for _ in range(size)]) if flag else t
                for t, flag in zip(self.tensors, flags, strict=True)
            ]
            rows = []
            for b in range(size):
                one = [a[b] if f else a for a, f in zip(args, flags, strict=True)]
                rows.append(self.run(self.graph, one))
            graph = verify(transforms.batch(self.graph, flags, sym("batch.0")))
            got = run(graph, args, {**self.call.env, "batch.0": size})
            compare("batching", got, [np.stack(o) for o in zip(*rows, strict=True)])
        return None


def zero_filled(want, like):
    return [
        np.zeros_like(g) if w is None else w for w, g in zip(want, like, strict=True)
    ]


def check_sample(entry, op, sample, counts, failures, verbose):
    kwargs = sample[1]
    try:
        case = Case(op, *sample, entry.fixed)
    except Exception as error:
        note_failure("trace", error, (), kwargs, failures, verbose)
        return
    for step in STEPS:
        if step != "forward" and not (case.wrt and case.floats):
            continue
        try:
            note = getattr(case, step)()
            counts[f"{step}: {note}" if note else step] += 1
        except Exception as error:
            note_failure(step, error, case.tensors, kwargs, failures, verbose)
            if step in ("forward", "backward"):
                return


def note_failure(step, error, tensors, kwargs, failures, verbose):
    if verbose:
        traceback.print_exc()
    shapes = [t.shape for t in tensors]
    failures.append(f"{step} {shapes} {kwargs}: {type(error).__name__} {error}")


def check_errors(op, error_cases):
    """(refused with PyTorch's type, refused otherwise, accepted) with notes."""
    right, notes = 0, []
    for args, kwargs, expected, message in error_cases:
        try:
            call = op.specialise(*args, **kwargs)
            run(op.trace(call.key, call.env).graph, call.tensors, call.env)
        except Exception as error:
            raised, text = type(error), str(error)
            if "is out of bounds for dim" in text:
                raised = op.options.index_error
        else:
            notes.append(f"accepted: {message[:90]}")
            continue
        if issubclass(raised, expected) or issubclass(expected, raised):
            right += 1
        else:
            notes.append(
                f"{raised.__name__} for {expected.__name__}: {message[:80]} "
                f"({text[:50]})"
            )
    return right, notes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("op", nargs="*")
    parser.add_argument("-v", action="store_true", dest="verbose")
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    failed = 0
    for name in chosen.op or TABLE:
        entry = TABLE[name]
        op = entry.op or REGISTRY[entry.declaration or name]
        began = time.perf_counter()
        counts: Counter = Counter()
        failures: list[str] = []
        cases = list(entry.samples())
        for sample in cases:
            check_sample(entry, op, sample, counts, failures, chosen.verbose)
        right, notes = check_errors(op, errors := list(entry.errors()))
        seconds = time.perf_counter() - began
        keys = sum(map(len, op.traces.values()))
        print(
            f"{name:34s} {len(cases):4d} samples {keys:3d} keys {dict(counts)} "
            f"errors {right}/{len(errors)} FAIL {len(failures)} ({seconds:.1f} s)",
            flush=True,
        )
        for text in [*failures[:4], *notes]:
            print("    !", text[:300].replace("\n", " "), flush=True)
        failed += bool(failures)
    return failed


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(main())
