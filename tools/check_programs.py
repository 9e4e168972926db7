#!/usr/bin/env python3
"""Runs random programs of any ops here and with an installed PyTorch, and compares.

    check_programs.py --programs 1000 --start 0
    check_programs.py --show 4711

Development only: needs torch. A program is 3 to 13 calls on a pool of a few small
tensors: functions, methods and in-place methods of every op in PyTorch's table, with
arguments drawn by type and name or known to fit together, with ``out=`` at times,
operators and indexing, layers, and transforms of calls, on tensors of many dtypes and
layouts (permuted, stepped, expanded, channels last), a few with gradients. After every
call it compares the type of an error, or a result's value, dtype, shape, whether it is
a view and whether it requires gradients; and the values of all tensors of the pool,
which reveals aliasing. At the end it compares gradients. A program ends at its first
difference. Prints the differences by op, with seeds that reproduce them.

Not compared: calls that PyTorch refuses for lack of a kernel, a derivative, a rule of a
transform or an ``out=`` form (``is_lacking``), values that it leaves unspecified
(``OPEN``), and whether a result is a view of memory that nothing else uses. A
difference of values that vanishes once both sides have the same operands is rounding of
earlier calls, and ends the program.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import warnings
from collections import defaultdict
from typing import Any

import numpy as np
import torch
from tools.compared_tensors import (
    SIDES,
    TOLERANCE,
    aliased,
    copied,
    difference,
    flat,
    has_gradients,
    holds_values,
    short,
)
from tools.drawn_programs import Maker
from tools.program_calls import Step, schemas

import pellucid

# PyTorch's errors for calls that are correct: lacking a kernel, or a derivative.
WANTS = (
    "Could not run",
    "does not support automatic differentiation",
    "derivative for",
    "is not differentiable with respect to",
    "MKL FFT error",
    "not implemented for '",
    "does not support complex dtypes",
    "Unsupported dtype BFloat16",
    "Unsupported dtype Half",
    "Autograd not support dtype",
    "Expected grad_output to have non-zero size",
)
# Under a transform: lacking its rule, or one that writes what the transform expanded.
NOT_TRANSFORMED = (
    "Batching rule not implemented",
    "Trying to use forward AD",
    "vmap: inplace arithmetic",
    "refers to a single memory location",
)
# With out=: lacking that form in Python, though the table has one.
TAKES_NO_OUT = (
    "unexpected keyword argument 'out'",
    "invalid combination of arguments",
    "required positional argument",
)
SAVES_MORE = "modified by an inplace operation"
# Which of several equal elements is found, positions in unsorted rows, signs of NaN.
OPEN = (
    *("kthvalue", "median", "nanmedian", "searchsorted", "bucketize", "mode"),
    *("signbit", "copysign", "copysign_", "topk"),
    *(f"max_pool{d}d_with_indices" for d in (1, 2, 3)),  # of several NaN
    *(f"adaptive_max_pool{d}d" for d in (1, 2, 3)),
    *("cholesky_ex", "linalg_cholesky_ex"),  # of what has no factorization
)
# Ops of PyTorch that refuse a layout, by a `view` in their implementation.
REFUSES_LAYOUTS = "take_along_dim", "isin"
# Ops whose float64 values PyTorch computes less accurately: polygamma(1, 1) is pi**2/6.
COARSE = {"polygamma": 1e-8, "polygamma_": 1e-8}


def form_has_no_gradient(step: Any) -> bool:
    """Whether PyTorch lacks derivatives, so that it also takes ``out=`` for operands
    that require them.
    """
    return step.form == "special" or step.name.endswith("_copy")


def is_rounding(step: Step, maker: Maker, before: list[np.ndarray]) -> bool:
    """Whether both sides agree once the call has the same operands on both."""
    pools: list[list[Any]] = []
    for side in SIDES:
        made = [
            side.tensor(array.tolist(), dtype=getattr(side, str(array.dtype)))
            .reshape(array.shape)
            .to(getattr(side, str(x.dtype).rpartition(".")[2]))
            for array, x in zip(before, maker.pools[0], strict=False)
        ]
        pools.append(made)
    found, errors = zip(
        *(attempt(step, s, p) for s, p in zip(SIDES, pools, strict=True)), strict=True
    )
    if any(errors):
        return False
    pairs = [*zip(*map(list, map(flat, found)), strict=True), *zip(*pools, strict=True)]
    tolerance = COARSE.get(step.name)
    return not any(
        difference(a, b, is_alone=True, tolerance=tolerance) == "values"
        for a, b in pairs
    )


def is_spread(step: Step, before: list[np.ndarray]) -> bool:
    """Whether infinities and NaN spread through a Fourier transform, in an order that
    depends on its algorithm.
    """
    operands = [before[k] for k in step.operands()]
    return step.form == "fft" and any(
        x.dtype.kind in "fc" and not np.isfinite(x).all() for x in operands
    )


def attempt(step: Step, side: Any, pool: list[Any]) -> tuple[Any, Exception | None]:
    try:
        return step.run(side, pool), None
    except TimeoutError:
        raise TimeoutError(f"{side.__name__}: {step}") from None
    except Exception as error:
        return None, error


def changes(maker: Maker) -> dict[int, str]:
    """The differences between the tensors of both pools."""
    pairs = enumerate(zip(*maker.pools, strict=True))
    found = {k: difference(a, b, is_alone=k in maker.hidden) for k, (a, b) in pairs}
    return {k: what for k, what in found.items() if what}


class End(Exception):
    """A program ends: with a difference, or without one where nothing that follows can
    be compared.
    """

    def __init__(self, difference: Any = None) -> None:
        super().__init__()
        self.difference = difference


def run(
    seed: int, table: list[tuple[str, Any]], refused: list[Any], show: bool = False
) -> Any:
    """The first difference of a program as (op, what, detail, lines), or None."""
    maker = Maker(seed, table)
    if show:
        print(*maker.shown, sep="\n")
    calls, wanted = 0, maker.draw.randint(3, 13)
    try:
        for _ in range(60):
            if calls == wanted:
                break
            calls += run_step(maker, refused, show)
    except End as end:
        return end.difference
    return gradients(maker, maker.shown)


def run_step(maker: Maker, refused: list[Any], show: bool) -> bool:
    """Runs and compares one call; whether both sides took it."""
    step = maker.step()
    if show:
        print(step, end=" ", flush=True)
    before = copied(maker.pools[0])
    if any(x.requires_grad and not has_gradients(x) for x in maker.pools[0]):
        raise End  # integers that PyTorch marks when they are written
    found, errors = zip(
        *(attempt(step, s, p) for s, p in zip(SIDES, maker.pools, strict=True)),
        strict=True,
    )
    if show:
        print([str(e).splitlines()[:2] if e else "" for e in errors], flush=True)
    if compare_errors(step, maker, found, errors, refused):
        return False
    maker.shown.append(str(step))
    results = [list(flat(x)) for x in found]
    compare_results(step, maker, results, before)
    compare_operands(step, maker, before)
    maker.keep(results)
    return True


def is_lacking(step: Any, error: Exception | None) -> bool:
    """Whether PyTorch refuses a correct call, for lack of a kernel, a derivative, a
    rule of a transform or an ``out=`` form.
    """
    known = list(WANTS)
    if step.form == "func":
        known += NOT_TRANSFORMED
    if isinstance(error, TypeError) and "out" in getattr(step, "kwargs", ()):
        known += TAKES_NO_OUT
    return any(text in str(error) for text in known)


def compare_errors(
    step: Any, maker: Maker, found: Any, errors: Any, refused: list[Any]
) -> bool:
    """Compares the types of errors; whether PyTorch refused the call."""
    kinds = [type(e).__name__ if e else "" for e in errors]
    if form_has_no_gradient(step) and "with out=" in str(errors[1]):
        raise End
    if step.name in REFUSES_LAYOUTS and "view size" in str(errors[0]):
        raise End
    if is_lacking(step, errors[0]):
        kinds = kinds[:1] * 2
    what = f"error {kinds[0] or 'none'} | {kinds[1] or 'none'}"
    if all(kinds) and kinds[0] != kinds[1]:
        refused.append((step.name, what, str(errors[0])[:120], [str(step)]))
    elif kinds[0] != kinds[1]:
        if not kinds[0] and not any(holds_values(x) for x in flat(found[0])):
            raise End  # PyTorch looks for a kernel only if there are elements
        why = str(errors[0] or errors[1]).splitlines()[:1]
        raise End((step.name, what, why, [*maker.shown, str(step)]))
    if errors[0] and any(
        difference(a, b, is_alone=True) for a, b in zip(*maker.pools, strict=True)
    ):
        raise End  # an operand of a refused call has been written or resized
    return bool(errors[0])


def compare_results(
    step: Any, maker: Maker, results: list[list[Any]], before: list[np.ndarray]
) -> None:
    lines = maker.shown
    if len(results[0]) != len(results[1]):
        raise End((step.name, "number of results", "", lines))
    shared = [aliased(r, p) for r, p in zip(results, maker.pools, strict=True)]
    if shared[0] != shared[1]:
        raise End((step.name, f"aliases {shared[0]} | {shared[1]}", "", lines))
    for a, b, known in zip(*results, shared[0], strict=True):
        what = difference(a, b, is_alone=maker.hidden.issuperset(known))
        if what == "values" and (
            step.name in OPEN
            or is_spread(step, before)
            or is_rounding(step, maker, before)
        ):
            raise End
        if what == "requires_grad False | True" and step.form == "special":
            raise End  # PyTorch lacks the derivative
        if what:
            what = what.split("(")[0] if "shape" in what else what
            raise End((step.name, what, short(a, b), lines))


def compare_operands(step: Any, maker: Maker, before: list[np.ndarray]) -> None:
    """Compares all tensors of the pool: the call may have written them."""
    changed = changes(maker)
    if "values" in (changed.get(k) for k in step.operands()) and is_rounding(
        step, maker, before
    ):
        raise End
    for k, what in changed.items():
        shown = short(*(pool[k] for pool in maker.pools))
        detail = f"then an operand's {what}"
        raise End((step.name, detail, shown, [*maker.shown, f"t{k}"]))


def gradients(maker: Maker, lines: list[str]) -> Any:
    """Compares the gradients of the last results."""
    found = []
    for side, pool in zip(SIDES, maker.pools, strict=True):
        ends = [x for x in pool[-4:] if x.requires_grad]
        leaves = [pool[k] for k in maker.leaves if pool[k].is_leaf]
        if not ends or not leaves:
            return None
        try:
            total = sum((x.abs() if x.is_complex() else x).double().sum() for x in ends)
            found.append(side.autograd.grad(total, leaves, allow_unused=True))
        except Exception as error:
            found.append(error)
    if any(isinstance(x, Exception) for x in found):
        kinds = [type(x).__name__ if isinstance(x, Exception) else "" for x in found]
        if kinds[0] == kinds[1] or any(
            text in str(found[0]) for text in (*WANTS, SAVES_MORE)
        ):
            return None
        why = next(str(x) for x in found if isinstance(x, Exception)).splitlines()[:1]
        return (
            "gradient",
            f"error {kinds[0] or 'none'} | {kinds[1] or 'none'}",
            why,
            lines,
        )
    # PyTorch computes parts of a gradient in the least accurate operand's dtype.
    dtypes = [str(x.dtype).rpartition(".")[2] for x in maker.pools[0]]
    coarsest = max(dtypes, key=lambda name: TOLERANCE.get(name, 0.0))
    for a, b in zip(*found, strict=True):
        what = "None" if (a is None) != (b is None) else ""
        what = what or ("" if a is None else difference(a, b, accuracy=coarsest))
        what = "" if what.startswith("_is_view") else what
        if what:
            return "gradient", what, short(a, b), lines
    return None


def kind(what: str) -> int:
    """The order in which differences are printed: the most severe first."""
    if not what.startswith("error"):
        return 0
    theirs, _, ours = what.removeprefix("error ").partition(" | ")
    return 1 if theirs == "none" else 2 if ours == "none" else 3


def too_long(*_: Any) -> None:
    raise TimeoutError


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--show", type=int)
    parser.add_argument("--trace", action="store_true", help="print seeds as they run")
    parser.add_argument("--only", default="", help="ops whose name holds this")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    pellucid.set_num_threads(1)
    table = [x for x in schemas() if options.only in x[1].name]
    if options.show is not None:
        found = run(options.show, table, [], show=True)
        print(found[:3] if found else "agrees")
        return
    counts: dict[tuple[str, str], list[Any]] = defaultdict(list)
    differing = 0
    signal.signal(signal.SIGPROF, too_long)
    start = time.perf_counter()
    for seed in range(options.start, options.start + options.programs):
        if options.trace:
            print(seed, file=sys.stderr, flush=True)
        refused: list[Any] = []
        signal.setitimer(signal.ITIMER_PROF, 5)
        try:
            found = run(seed, table, refused)
        except TimeoutError as error:
            found = "a program", "takes more than 5 s", str(error), [""]
        signal.setitimer(signal.ITIMER_PROF, 0)
        if found:
            differing += 1
        for op, what, detail, lines in [*refused, *([found] if found else [])]:
            counts[op, what].append((seed, detail, lines[-1]))
    for (op, what), seen in sorted(
        counts.items(), key=lambda x: (kind(x[0][1]), -len(x[1]))
    ):
        _, detail, line = seen[0]
        seeds = ", ".join(str(seed) for seed, _, _ in seen[:4])
        print(f"{len(seen):5} {op}: {what}  [{seeds}] {line} {str(detail)[:160]}")
    seconds = time.perf_counter() - start
    print(f"{differing} of {options.programs} programs differ; {seconds:.0f} s")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
