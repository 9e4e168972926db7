#!/usr/bin/env python3
"""Freezes the catalogue: op records, plans, element functions, derivatives and their
kernels.

Writes ``src/pellucid/frozen.bin``, which the runtime maps at import, and passes the
kernels to the packs, one per ISA level. An op is traced again only if its file, a file
that it imports from, or the tracing code has changed; a kernel is compiled again only
if its text or the compiler has. Called by tools/build.py. Read next:
src/pellucid/specialise/.
"""

from __future__ import annotations

import argparse
import ast
import copyreg
import functools
import gc
import hashlib
import itertools
import multiprocessing
import pickle
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
from freeze_samples import (
    DTYPES,
    FLOATS,
    STATES,
    frozen_dtypes,
    graph_samples,
    pointwise_samples,
)
from part_sizes import report
from pellucid_compiler.abi.dtypes import BY_NAME, COMPLEX, INTEGRAL
from pellucid_compiler.abi.encode import Encodable, encode
from pellucid_compiler.abi.fields import encode_record, fields_of
from pellucid_compiler.abi.limits import FROZEN_MAGIC
from pellucid_compiler.abi.plan import encode_plan
from pellucid_compiler.abi.records import (
    ConversionRow,
    FrozenFile,
    KeyedDerivative,
    KeyedPlan,
    OpRow,
)
from pellucid_compiler.codegen.kernel import Block, Kernel, Map
from pellucid_compiler.codegen.targets.x86 import (
    PRODUCT_TARGETS,
    TARGETS,
    X86_64_V4_BF16,
    X86_64_V4_DOT,
    host_product_targets,
    host_target,
    target_named,
)
from pellucid_compiler.composites import all_composites
from pellucid_compiler.declare.documentation import encode_texts
from pellucid_compiler.declare.intrinsics import INTRINSICS
from pellucid_compiler.declare.late_forms import (
    FUNCTIONAL,
    IN_PLACE,
    OUT,
    encode_late_ops,
    late_ops,
)
from pellucid_compiler.declare.op import REGISTRY, SCALAR_KINDS, Op
from pellucid_compiler.declare.schema import Schema
from pellucid_compiler.declare.seen import seen_rows
from pellucid_compiler.declare.tags import Known
from pellucid_compiler.declare.variants import (
    casts_written,
    inplace_is_function,
    inplace_is_method,
    inplace_schema,
    out_schema,
)
from pellucid_compiler.ir.dtypes import is_float
from pellucid_compiler.ir.expr import Expr, cast, intern_expr, load
from pellucid_compiler.ir.opcodes import OPCODE_DIGEST
from pellucid_compiler.lower.contraction import (
    bfloat16_kernels,
    product_kernels,
    word_kernels,
)
from pellucid_compiler.lower.registers import LoweringError
from pellucid_compiler.lower.tile import (
    elementary_kernels,
    encoded_programs,
    program_table,
)
from pellucid_compiler.pack.cache import (
    KernelCache,
    fingerprint,
    replace_file,
    text_fingerprint,
)
from pellucid_compiler.pack.kernel_pack import compile_kernels, write_pack
from pellucid_compiler.specialise.batching import derive_batched
from pellucid_compiler.specialise.derivative_answer import encode_derivative
from pellucid_compiler.specialise.derivative_assembly import DerivativeOp
from pellucid_compiler.specialise.derivatives import (
    derive,
    derive_saving,
    derive_tangent,
)
from pellucid_compiler.specialise.graphs import declared_graph
from pellucid_compiler.specialise.keyed import KeyedOp
from pellucid_compiler.specialise.pointwise import declared_pointwise
from pellucid_compiler.specialise.promotion import promoted_mask

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "pellucid"
ENGINE = ROOT / "src" / "pellucid_compiler"
BUILD = ROOT / "build"
PROCESSES = 2
TRIES = 4  # calls tried for each key wanted: many samples fit no op
TRANSFORMED = "float32"  # rules for tangents and batches are frozen for this dtype,
TRANSFORMED_KEYS = 4  # and of ops with a Graph for this many keys
FOREACH_DTYPES = ("float32", "float64")

# What the small packs have that is not in the pack of the level below.
PRODUCTS = {X86_64_V4_DOT.name: word_kernels, X86_64_V4_BF16.name: bfloat16_kernels}

# The gradients of a join are parts of the result's gradient; factories have none.
WITHOUT_VJP = ("join", "factory")

# A declaration refuses a key by raising one of these; the runtime will raise it again.
REFUSALS = (TypeError, ValueError, RuntimeError, IndexError, NotImplementedError)


@dataclass(frozen=True)
class TracedOp:
    """The encoded entries of one op, and the kernels that it needs."""

    keys: bytes
    derivatives: bytes
    kernels: dict[bytes, Kernel]
    programs: dict[bytes, bytes]
    without_plan: list[str]
    saves: bool


@dataclass
class FrozenOp:
    """An op being traced: its keys, its derivatives and their kernels."""

    keys: list[Encodable] = field(default_factory=list)
    derivatives: list[Encodable] = field(default_factory=list)
    kernels: dict[bytes, Kernel] = field(default_factory=dict)
    refused: int = 0
    transformed: int = 0
    saves: bool = False
    without_plan: list[str] = field(default_factory=list)

    def add_derivative(self, rule: str, mask: int, key: list[Any], data: bytes) -> None:
        keyed = KeyedDerivative(rule, mask, key, data)
        self.derivatives.append(encode_record(keyed))

    def traced(self) -> TracedOp:
        keys, derivatives = encode(self.keys), encode(self.derivatives)
        programs = encoded_programs(self.kernels)
        reasons = sorted(set(self.without_plan))
        return TracedOp(keys, derivatives, self.kernels, programs, reasons, self.saves)


def freeze_pointwise(op: Op) -> FrozenOp:
    frozen = FrozenOp()
    seen: set[bytes] = set()
    for dtype in FOREACH_DTYPES if op.kind == "foreach" else frozen_dtypes(op):
        for arguments in pointwise_samples(op, dtype):
            try:
                pointwise = declared_pointwise(op, arguments)
                keyed: Any = pointwise.keyed(frozen.kernels)
            except REFUSALS:
                frozen.refused += 1
                continue
            if encode(keyed[0]) not in seen:
                seen.add(encode(keyed[0]))
                frozen.keys.append(keyed)
            if dtype in FLOATS and op.kind != "foreach":
                numbers = [place.number for place in pointwise.places]
                alone = (1 << number for number in numbers)
                for mask in dict.fromkeys((*masks(numbers), *alone)):
                    freeze_rule("vjp", derive, pointwise, mask, frozen)
                    if dtype == TRANSFORMED:
                        freeze_rule("jvp", derive_tangent, pointwise, mask, frozen)
    return frozen


def freeze_graph(op: Op) -> FrozenOp:
    frozen = FrozenOp()
    seen: set[bytes] = set()
    for wanted, samples in graph_samples(op):
        most = len(frozen.keys) + wanted
        for arguments in itertools.islice(samples, TRIES * wanted):
            freeze_key(op, arguments, frozen, seen)
            if len(frozen.keys) == most:
                break
    return frozen


def freeze_key(
    op: Op, arguments: list[Any], frozen: FrozenOp, seen: set[bytes]
) -> None:
    """Add the plan for a call, and those of its derivatives, unless they exist."""
    try:
        graph_op = declared_graph(op, arguments)
        variant = encode(graph_op.identity())
        if variant in seen:
            return
        lowered = graph_op.lower()
    except REFUSALS:
        frozen.refused += 1
        return
    except LoweringError as error:
        frozen.without_plan.append(str(error))
        return
    seen.add(variant)
    frozen.kernels.update(lowered.kernels)
    keyed = KeyedPlan(graph_op.specification(), encode_plan(lowered.plan))
    frozen.keys.append(encode_record(keyed))
    floats = {
        place.number: op.schema.arguments[place.argument].name
        for place, value in zip(graph_op.places, graph_op.graph.inputs, strict=True)
        if is_float(value.dtype)
    }
    rest = [number for number, name in floats.items() if name not in STATES]
    if op.kind not in WITHOUT_VJP:
        everything = sum(1 << number for number in floats)
        for mask in dict.fromkeys((*masks(rest), *([everything] if floats else []))):
            freeze_rule("vjp", derive, graph_op, mask, frozen)
            if graph_op.saving_graph is not None:
                frozen.saves = True
                freeze_rule("saved_vjp", derive_saving, graph_op, mask, frozen)
    inputs = graph_op.graph.inputs
    is_transformed = any(value.dtype == TRANSFORMED for value in inputs)
    if not is_transformed or frozen.transformed == TRANSFORMED_KEYS:
        return
    frozen.transformed += 1
    if op.kind != "view":  # a view's tangent is the view of the tangent
        for mask in masks(list(floats)):
            freeze_rule("jvp", derive_tangent, graph_op, mask, frozen)
    for mask in masks([place.number for place in graph_op.places]):
        freeze_rule("batch", derive_batched, graph_op, mask, frozen)


def freeze_rule(
    name: str,
    rule: Callable[[Any, int], DerivativeOp | None],
    op: KeyedOp,
    mask: int,
    frozen: FrozenOp,
) -> None:
    try:
        data = encode_derivative(op, rule(op, mask), frozen.kernels)
    except LoweringError as error:
        frozen.without_plan.append(f"{name}: {error}")
        return
    except REFUSALS:
        frozen.refused += 1
        return
    frozen.add_derivative(name, mask, op.called_specification(), data)


def masks(numbers: list[int]) -> Iterator[int]:
    """All inputs that may need a gradient together; only the first, as for layers with
    frozen weights; all but the first: a model's own input needs none.
    """
    bits = [1 << number for number in numbers]
    if bits:
        yield sum(bits)
    if len(bits) > 1:
        yield bits[0]
        yield sum(bits[1:])


# ---------------------------------------------------------------- records


def runtime_schema(op: Op, schema: Schema) -> str:
    """The schema's text, with annotations of what else arguments accept."""
    text = schema.text
    for argument in op.schema.arguments:
        if argument.is_tensor and argument.name in op.options.numbers:
            text = re.sub(rf"\bTensor( {argument.name}\b)", r"Tensor|Scalar\1", text)
        if argument.name in op.options.symbolic:
            text = re.sub(rf"\bint(\S* {argument.name}\b)", r"int|SymInt\1", text)
    return text


def variants(op: Op) -> Iterator[tuple[str, Schema]]:
    """The forms that a declaration implies, the declared one first."""
    writes = any(argument.mutated for argument in op.schema.arguments)
    yield IN_PLACE if writes else FUNCTIONAL, op.schema
    in_place, out = inplace_schema(op), out_schema(op)
    if in_place is not None:
        yield IN_PLACE, in_place
    if out is not None:
        yield OUT, out


def records(name: str, position: int, traced: TracedOp) -> list[OpRow]:
    """The records of an op and its variants; ``position`` is the first one's."""
    op = REGISTRY[name]
    known = Known(op.schema, op.kind, op.options.tags, op.options.core)
    made: list[OpRow] = []
    for variant, schema in variants(op):
        is_declared = schema is op.schema
        method, function = op.options.method, op.options.function
        if variant == IN_PLACE and not is_declared:
            method = inplace_is_method(op)
            function = inplace_is_function(op, schema.name)
        elif op.options.inplace_only:
            method = function = False
        row = OpRow(
            schema=runtime_schema(op, schema),
            kind=op.kind,
            variant=variant,
            functional=-1 if is_declared else position,
            is_method=method and variant != OUT,
            is_function=function,
            module=op.options.namespace,
            int_to_float=op.options.int_to_float,
            refuses_bools=op.options.refuses_bools,
            promoted=promoted_mask(op),
            inverse=op.options.inverse,
            layout=op.options.layout,
            autocast=op.options.autocast if variant == FUNCTIONAL else "",
            casts_out=casts_written(op, variant),
            out_dtypes=op.options.out_dtypes if variant == OUT else (),
            writes_shared=op.options.writes_shared and variant == IN_PLACE,
            saves=traced.saves and is_declared,
            unrecorded=sum(1 << k for k in op.options.unrecorded),
            tags=known.tags_of(schema),
            keys=traced.keys if is_declared else b"",
            derivatives=traced.derivatives if is_declared else b"",
        )
        made.append(row)
    return made


# ---------------------------------------------------------------- what changed


@functools.cache
def code_of(path: Path) -> str:
    """The syntax tree without docstrings: rewording traces nothing again."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                del node.body[0]
    return ast.dump(tree)


def source_digest(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(code_of(path).encode())
    return digest.hexdigest()


def machinery() -> list[Path]:
    """The sources that trace and lower: a change here traces everything again."""
    folders = ("abi", "ir", "transforms", "passes", "declare", "specialise", "lower")
    # Additional schemas, headers, documents and reports: these trace nothing.
    names = (
        *("variants.py", "late_forms.py", "seen.py", "intrinsics.py", "named_ops.py"),
        *("documentation.py", "tags.py"),
        *("headers.py", "pages.py", "pack_file.py", "register_code.py"),
        *("cost.py", "plan_cost.py"),
    )
    found = [
        path
        for folder in folders
        for path in (ENGINE / folder).rglob("*.py")
        if path.name not in names
    ]
    tools = Path(__file__).parent
    return [
        *found,
        ENGINE / "codegen" / "kernel.py",
        tools / "freeze.py",
        tools / "freeze_samples.py",
    ]


def imported_families(source: Path) -> Iterator[Path]:
    """The modules of the catalogue that one imports from: their functions are traced as
    parts of its ops.
    """
    for node in ast.walk(ast.parse(source.read_text())):
        if not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        for name in (node.module, *(f"{node.module}.{n.name}" for n in node.names)):
            found = PACKAGE.parent / (name.replace(".", "/") + ".py")
            if found.is_relative_to(ENGINE / "catalogue") and found.exists():
                yield found


def families_of(source: Path) -> list[Path]:
    """The module and all of its transitive imports in the catalogue."""
    reached, left = {source}, [source]
    while left:
        fresh = set(imported_families(left.pop())) - reached
        reached |= fresh
        left += fresh
    return sorted(reached)


class TraceCache:
    """Traced ops on disk, keyed by their sources."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.base = source_digest(machinery())
        self.files: dict[str, str] = {}

    def path(self, op: Op) -> Path:
        source = op.function.__code__.co_filename
        if source not in self.files:
            self.files[source] = source_digest(families_of(Path(source)))
        key = f"{self.base} {self.files[source]} {op.full_name}"
        return self.directory / hashlib.sha256(key.encode()).hexdigest()[:32]

    def is_known(self, op: Op) -> bool:
        return self.path(op).exists()

    def traced(self, op: Op) -> TracedOp:
        """The op from the cache, or traced now."""
        path = self.path(op)
        if path.exists():
            return TracedOp(**pickle.loads(path.read_bytes()))
        freeze = freeze_pointwise if op.kind in SCALAR_KINDS else freeze_graph
        found = freeze(op).traced()
        replace_file(path, pickle.dumps(vars(found)))
        return found

    def fill(self) -> None:
        """Trace what is not cached, in two processes: the largest ops come first."""
        missing = [name for name, op in REGISTRY.items() if not self.is_known(op)]
        missing.sort(key=lambda name: REGISTRY[name].kind in SCALAR_KINDS)
        if len(missing) > 1:
            with multiprocessing.get_context("fork").Pool(PROCESSES) as pool:
                pool.map(self._trace, missing, chunksize=1)

    def _trace(self, name: str) -> None:
        self.traced(REGISTRY[name])


def _reduce_expr(e: Expr) -> tuple[Any, ...]:
    """Expressions are interned: unpickling goes through the interning constructor."""
    return intern_expr, (e.op, e.args, e.attr, e.dtype)


copyreg.pickle(Expr, _reduce_expr)


# ---------------------------------------------------------------- the whole


def conversion_pairs() -> Iterator[tuple[str, str]]:
    """The pairs of dtypes whose conversion is frozen: all pairs of the common dtypes,
    and storage formats with their compute dtype; the rest runs in C++.
    """
    yield from itertools.product(DTYPES, repeat=2)
    for name, row in BY_NAME.items():
        if row.offers is None or row.opaque or row.category == COMPLEX:
            continue
        wide = "int64" if row.category == INTEGRAL else "bfloat16"
        for other in (wide, "float32"):
            yield from ((name, other), (other, name))


def freeze_conversions(kernels: dict[bytes, Kernel]) -> list[ConversionRow]:
    """The kernel of every pair of dtypes, used by staging and copies."""
    made: list[ConversionRow] = []
    for source, target in conversion_pairs():
        body = cast(load(0, (), source), target)
        kernel = Kernel(Map((body,)), (source,), (target,))
        kernels[kernel.kernel_id] = kernel
        made.append(ConversionRow(target, source, kernel.kernel_id))
    return made


@dataclass(frozen=True)
class FrozenCatalogue:
    """The contents of the frozen file and every kernel that it names. ``sizes``: bytes
    by op and part of the file; ``owners``: the first op that needs a kernel.
    """

    data: bytes
    kernels: dict[bytes, Kernel]
    sizes: dict[str, int]
    owners: dict[bytes, str]


def freeze_catalogue(cache: TraceCache) -> FrozenCatalogue:
    cache.fill()
    kernels: dict[bytes, Kernel] = {}
    owners: dict[bytes, str] = {}
    programs: dict[bytes, bytes] = {}
    table: list[OpRow] = []
    for name, op in REGISTRY.items():
        traced = cache.traced(op)
        kernels.update(traced.kernels)
        for kernel_id in traced.kernels:
            owners.setdefault(kernel_id, name)
        programs.update(traced.programs)
        for reason in traced.without_plan:
            print(f"{name} has keys without a plan: {reason.splitlines()[0]}")
        table += records(name, len(table), traced)
    common = {**elementary_kernels(), **product_kernels()}
    conversions = freeze_conversions(common)
    kernels.update(common)
    programs.update(encoded_programs(common))
    rows, texts = encode_texts()
    file = FrozenFile(
        ops=tuple(table),
        intrinsics=tuple(op.row() for op in INTRINSICS.values()),
        conversions=tuple(conversions),
        programs=encode(program_table(programs)),
        late=encode_late_ops(late_ops(REGISTRY, all_composites())),
        seen=tuple(seen_rows(REGISTRY.values())),
        documentation=tuple(rows),
        texts=texts,
    )
    fields = encode_record(file)
    data = FROZEN_MAGIC + OPCODE_DIGEST + encode(fields)
    return FrozenCatalogue(data, kernels, sizes_of(file, fields), owners)


def sizes_of(file: FrozenFile, fields: Sequence[Encodable]) -> dict[str, int]:
    """The bytes of each op, and of each other field, in the encoded file."""
    named = dict(
        zip((item.name for item in fields_of(FrozenFile)), fields, strict=True)
    )
    rows: Any = named.pop("ops")
    sizes: dict[str, int] = {}
    for op, row in zip(file.ops, rows, strict=True):
        name = op.schema.split("(")[0]
        sizes[name] = sizes.get(name, 0) + len(encode(row))
    return sizes | {name: len(encode(value)) for name, value in named.items()}


def write_packs(frozen: FrozenCatalogue, levels: list[str]) -> None:
    """One pack per ISA level, beside the frozen file; small ones have products. Blocks
    are for devices: the CPU runs their members."""
    kernels = {k: v for k, v in frozen.kernels.items() if not isinstance(v.form, Block)}
    for level in levels:
        target = target_named(level)
        held = PRODUCTS[level]() if level in PRODUCT_TARGETS else kernels
        folder = BUILD / "kernels" / level
        blobs = compile_kernels(
            held.values(),
            target,
            processes=PROCESSES,
            cache=KernelCache(folder, fingerprint(target)),
            texts=KernelCache(folder / "texts", text_fingerprint(target)),
        )
        path = PACKAGE / f"kernels-{level}.pack"
        sizes: Counter[str] = Counter()
        for kernel_id, size in write_pack(path, blobs).items():
            sizes[frozen.owners.get(kernel_id, "shared")] += size
        print(report(path, sizes))


def main() -> int:
    gc.set_threshold(200_000, 20, 100)  # graphs die young, and there are many
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--all-levels", action="store_true", help="packs for every ISA level"
    )
    parser.add_argument("--no-packs", action="store_true", help="write the table alone")
    parser.add_argument(
        "--definitions",
        metavar="FILE",
        help="write the kernels' definitions alone, for checked mode",
    )
    arguments = parser.parse_args()
    start = time.monotonic()
    frozen = freeze_catalogue(TraceCache(BUILD / "traces"))
    if arguments.definitions:
        replace_file(Path(arguments.definitions), pickle.dumps(frozen.kernels))
        return 0
    path = PACKAGE / "frozen.bin"
    replace_file(path, frozen.data)
    traced = time.monotonic()
    print(f"froze {len(REGISTRY)} ops in {traced - start:.1f} s")
    print(report(path, frozen.sizes))
    if not arguments.no_packs:
        levels = [host_target().name, *(t.name for t in host_product_targets())]
        if arguments.all_levels:
            levels = [*TARGETS, *PRODUCT_TARGETS]
        write_packs(frozen, levels)
        seconds = time.monotonic() - traced
        print(
            f"packed {len(frozen.kernels)} kernels for {', '.join(levels)} "
            f"in {seconds:.1f} s"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
