"""What a launched kernel means, in NumPy: the executor that a device starts with.

``run(launch, view)`` computes every form but blocks, whose members it runs one by one
if the device declines them, over arrays that ``view(address, dtype, sizes,
strides)`` gives of the device's memory. It is written for reading, not for speed: the
oracle of a device's own kernels. bfloat16 is stored as uint16 and computed as float32.
Read next: ``launch.py``, ``ir/evaluate.py`` (one element), ``codegen/kernel.py`` (the
forms).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from pellucid_compiler.abi.status import (
    OUT_OF_BOUNDS,
    REQUIREMENT_FAILED,
    status,
)
from pellucid_compiler.codegen.kernel import (
    Gemm,
    Map,
    Nest,
    Reduce,
    RowAdd,
    RowMap,
    RowReduce,
    Rows,
    Scan,
    Store,
)
from pellucid_compiler.codegen.schedules.map import failures_of
from pellucid_compiler.devices.launch import KernelFailed, Launch, array_dtype
from pellucid_compiler.ir.dtypes import arithmetic_dtype
from pellucid_compiler.ir.evaluate import Evaluator, convert, storage_dtype
from pellucid_compiler.ir.expr import Check, Expr, load_index
from pellucid_compiler.ir.primitives.loop import COMBINES, identity
from pellucid_compiler.ir.traversal import axes_of

View = Callable[[int, str, tuple[int, ...], tuple[int, ...]], Any]


def accepts(launch: Launch) -> bool:
    """Whether ``run`` can run the kernel: it is not a block, and NumPy has arrays of
    all its dtypes."""
    kernel = launch.kernel
    if type(kernel.form) not in _RUNS:
        return False
    memory = [operand.dtype for operand in launch.operands]
    try:
        for dtype in (*memory, *kernel.inputs, *kernel.outputs):
            array_dtype(dtype)
    except NotImplementedError:
        return False
    return True


def run(launch: Launch, view: View) -> None:
    """Runs the kernel over the memory that ``view`` shows.

    KernelFailed where the machine code returns a status: an index outside of its
    operand, an integer divided by zero, a requirement that does not hold.
    """
    import numpy

    with numpy.errstate(all="ignore"):
        try:
            _RUNS[type(launch.kernel.form)](_Run(launch, view, numpy))
        except IndexError as error:
            element = _element(getattr(error, "place", ()), launch.extents)
            raise KernelFailed(status(OUT_OF_BOUNDS, element)) from error


def _element(place: tuple[int, ...], extents: tuple[int, ...]) -> int:
    """The number in the kernel's loop of a place whose broadcast axes are 0."""
    element, missing = 0, len(extents) - len(place)
    for extent, at in zip(extents, (0,) * missing + place, strict=False):
        element = element * extent + at
    return element


class _Located(Evaluator):
    """An index that is out of bounds has its place, a check that fails its status."""

    def fail(self, check: Check | int) -> NoReturn:
        assert isinstance(check, int)
        raise KernelFailed(status(REQUIREMENT_FAILED, check))

    def _check(
        self, e: Expr, index: list[Any], shape: tuple[int, ...], inside: Any, mask: int
    ) -> None:
        """Notes the first place that fails, for the kernel's status."""
        try:
            super()._check(e, index, shape, inside, mask)
        except IndexError as error:
            needed = self.masks[mask]
            bad = ~inside if needed is None else needed & ~inside
            first = self.np.unravel_index(int(self.np.argmax(bad)), bad.shape)
            error.place = tuple(map(int, first))  # type: ignore[attr-defined]
            raise


class _Elements(_Located):
    """A load without indices is the whole operand."""

    def _load(self, e: Expr, mask: int) -> Any:
        if load_index(e):
            return super()._load(e, mask)
        return self.operands[e.attr].astype(arithmetic_dtype(e.dtype), copy=False)


class _Run:
    """A launch with its operands as arrays."""

    def __init__(self, launch: Launch, view: View, np: Any) -> None:
        self.np, self.launch = np, launch
        self.form: Any = launch.kernel.form
        self.extents, self.stored = launch.extents, launch.stored
        self.reduced = tuple(range(launch.stored, len(launch.extents)))
        self.views = [
            view(o.address, o.dtype, o.sizes, o.strides) for o in launch.operands
        ]
        outputs = len(launch.kernel.outputs)
        self.inputs = [
            self.read(outputs + k, dtype)
            for k, dtype in enumerate(launch.kernel.inputs[: len(self.views) - outputs])
        ]
        self.env: dict[str, Any] = {f"p{k}": n for k, n in enumerate(launch.numbers)}

    def read(self, k: int, dtype: str) -> Any:
        """Operand ``k`` as the kernel takes it."""
        np, stored = self.np, self.launch.operands[k].dtype
        values = self.views[k]
        if stored == "bfloat16":
            values = (values.astype(np.uint32) << 16).view(np.float32)
        if stored == dtype:
            return values
        return convert(np, values, dtype).astype(storage_dtype(dtype), copy=False)

    def write(self, k: int, value: Any, where: Any = ...) -> None:
        """Output ``k``, converted to the kernel's dtype and then to memory's."""
        np, stored = self.np, self.launch.operands[k].dtype
        value = convert(np, np.asarray(value), self.launch.kernel.outputs[k])
        value = convert(np, value, stored)
        if stored == "bfloat16":
            value = (value.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        self.views[k][where] = value

    def evaluated(self, e: Expr, operands: Sequence[Any] | None = None) -> Any:
        given = self.inputs if operands is None else operands
        return _Elements(self.env, (), given).value(e)

    def spread(self, e: Expr, dtype: str) -> Any:
        """``e`` at every point, in an accumulator's dtype."""
        value = convert(self.np, self.evaluated(e), dtype)
        return self.np.broadcast_to(value, self.extents)

    @property
    def first(self) -> tuple[Any, ...]:
        """The place of a result along the axes that are reduced."""
        return (..., *(slice(0, 1) for _ in self.reduced))


def _fold(run: _Run, combine: str, value: Any, dtype: str) -> Any:
    start = run.np.asarray(identity(combine, dtype)).astype(value.dtype)
    reduce = getattr(run.np, str(COMBINES[combine])).reduce
    axes = run.reduced
    return reduce(value, axis=axes, initial=start, dtype=value.dtype, keepdims=True)


def _run_map(run: _Run) -> None:
    form = run.form
    _check(run)
    if not run.reduced:
        # An output may be an input's memory, which other values read.
        values = [run.np.array(run.evaluated(value)) for value in form.values]
        for k, value in enumerate(values):
            run.write(k, run.np.broadcast_to(value, run.extents))
        return
    own = (slice(None),) * run.stored
    for point in run.np.ndindex(*run.extents[run.stored :]):
        operands = [x[own + point] for x in run.inputs]
        values = [run.np.array(run.evaluated(v, operands)) for v in form.values]
        for k, value in enumerate(values):
            run.write(k, value, own + point)


def _check(run: _Run) -> None:
    """Integers have divisors, and every element is as its check says."""
    for condition, failure in failures_of(run.form):
        if run.np.any(run.evaluated(condition)):
            raise KernelFailed(failure)


def _run_reduce(run: _Run) -> None:
    form, np = run.form, run.np
    value = run.spread(form.value, form.accumulator)
    if not form.combine.startswith("arg"):
        return run.write(
            0, _fold(run, form.combine, value, form.accumulator), run.first
        )
    flat = value.reshape(*run.extents[: run.stored], -1)
    best = getattr(np, form.combine)(flat, -1)[..., None]
    places = (..., 0, *(None for _ in run.reduced))
    run.write(0, np.take_along_axis(flat, best, -1)[places], run.first)
    run.write(1, best[places], run.first)
    return None


def _run_rows(run: _Run) -> None:
    form, results = run.form, 0
    made: dict[int, Any] = {}
    for item in form.passes:
        operands = [*run.inputs, *(made.get(k) for k in range(len(run.views)))]
        if isinstance(item, RowReduce):
            value = convert(
                run.np, run.evaluated(item.value, operands), item.accumulator
            )
            value = run.np.broadcast_to(value, run.extents)
            run.env[f"r{results}"] = _fold(run, item.combine, value, item.accumulator)
            results += 1
        elif isinstance(item, RowAdd):
            _add_rows(run, item, run.evaluated(item.value, operands))
        elif isinstance(item, RowMap):
            value = run.evaluated(item.value, operands)
            run.write(item.output, run.np.broadcast_to(value, run.extents))
            made[item.output] = run.read(
                item.output, run.launch.kernel.outputs[item.output]
            )
        else:
            run.write(item.output, run.evaluated(item.value, operands), run.first)


def _add_rows(run: _Run, item: RowAdd, value: Any) -> None:
    """Adds neighbouring rows: one sum per column and group."""
    np, sums = run.np, run.views[item.output]
    value = convert(np, value, run.launch.kernel.outputs[item.output])
    rows = np.broadcast_to(value, run.extents).reshape(-1, *sums.shape[1:])
    size = -(-len(rows) // max(len(sums), 1))
    for group in range(len(sums)):
        part = rows[group * size : (group + 1) * size]
        run.write(item.output, part.sum(0, dtype=rows.dtype), group)


def _run_scan(run: _Run) -> None:
    form = run.form
    value = run.spread(form.value, form.accumulator)
    scan = getattr(run.np, str(COMBINES[form.combine])).accumulate
    run.write(0, scan(value, axis=-1, dtype=value.dtype))


def _run_nest(run: _Run) -> None:
    form, np, rank = run.form, run.np, len(run.extents)
    axes = [
        np.arange(n).reshape([n if j == k else 1 for j in range(rank)])
        for k, n in enumerate(run.extents)
    ]
    elements = _Located(run.env, axes, run.inputs)
    if form.combine.startswith("arg"):
        return _search(run, elements, form.stores[0])
    target = np.array(run.read(0, run.launch.kernel.outputs[0]))
    shape = target.shape
    target = target.reshape(shape or (1,))
    for store in form.stores:
        _store(run, elements, store, target)
    run.write(0, target.reshape(shape))
    return None


def _store(run: _Run, elements: Evaluator, store: Store, target: Any) -> None:
    np = run.np
    value = elements.value(store.value)
    index = [elements.value(i) for i in store.index] or [np.zeros((), int)]
    inside = np.ones(run.extents, bool)
    for i, n in zip(index, target.shape, strict=True):
        inside = inside & (i >= 0) & (i < n)
    if not store.drop and not inside.all():
        raise IndexError("a store is out of bounds")
    place = tuple(np.broadcast_to(i, run.extents)[inside] for i in index)
    value = np.broadcast_to(value, run.extents)[inside]
    if run.form.combine == "assign":
        target[place] = value
    else:
        getattr(np, str(COMBINES[run.form.combine])).at(target, place, value)


def _search(run: _Run, elements: Evaluator, store: Store) -> None:
    """The first best point of each element, which the leading axes number."""
    np = run.np
    num_stored = 1 + max((a for i in store.index for a in axes_of(i)), default=-1)

    def flat(e: Expr) -> Any:
        value = np.broadcast_to(elements.value(e), run.extents)
        return value.reshape(*run.extents[:num_stored], -1)

    assert store.payload is not None
    best = getattr(np, run.form.combine)(flat(store.value), -1)[..., None]
    for k, e in enumerate(
        (store.payload, store.value)[: len(run.launch.kernel.outputs)]
    ):
        found = np.take_along_axis(flat(e), best, -1)
        run.write(k, found.reshape(run.views[k].shape))


def _run_gemm(run: _Run) -> None:
    np = run.np
    wide = [x.astype("float64" if x.dtype.kind == "f" else "int64") for x in run.inputs]
    if run.inputs[0].dtype.kind == "c":
        wide = list(run.inputs)
    a, b, *bias = wide
    total = (np.broadcast_to(a, run.extents) * b).sum(run.reduced, keepdims=True)
    run.write(0, total + bias[0][run.first] if bias else total, run.first)


_RUNS: dict[type, Callable[[_Run], None]] = {
    Map: _run_map,
    Reduce: _run_reduce,
    Rows: _run_rows,
    Scan: _run_scan,
    Nest: _run_nest,
    Gemm: _run_gemm,
}
