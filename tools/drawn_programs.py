"""Draws the programs of ``check_programs.py``: tensors, and calls on them."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import torch
from tools import drawn_calls, drawn_modules, drawn_tensors, drawn_transforms
from tools.compared_tensors import SIDES, is_tensor
from tools.program_calls import Pooled, Step, Word, is_out

import pellucid

# Of steps: calls with known arguments, of other forms, with out=, transforms, layers.
KNOWN_SHARE, OTHER_SHARE = 0.25, 0.13
OUT_SHARE, TRANSFORM_SHARE, LAYER_SHARE = 0.06, 0.06, 0.06
# Functions that take their tensors as separate arguments.
LOOSE = ("block_diag", "broadcast_tensors", "cartesian_prod", "chain_matmul")
INDEX_WORDS = ("index", "indices", "target", "repeats", "sorted_sequence", "boundaries")
NOT_DRAWN = ("layout", "device", "alpha", "pin_memory", "memory_format", "generator")
DIMS = (
    "dim",
    "dims",
    "dim0",
    "dim1",
    "axis",
    "axis0",
    "axis1",
    "source",
    "destination",
)


class Maker:
    """Draws programs; PyTorch's side determines which calls fit."""

    def __init__(self, seed: int, table: list[tuple[str, Any]]) -> None:
        self.draw = random.Random(seed)
        self.table = [x for x in table if not is_out(x[1])]
        self.outs = [x for x in table if is_out(x[1])]
        self.pools: tuple[list[Any], list[Any]] = ([], [])
        self.leaves: list[int] = []
        self.hidden: set[int] = set()  # views on one side, of memory of their own
        self.shown: list[str] = []
        shape = self.draw.choice(drawn_tensors.SHAPES)
        for _ in range(self.draw.randint(2, 4)):
            if self.draw.random() < 0.35:
                shape = self.draw.choice(drawn_tensors.SHAPES)
            self.add_leaf(shape)
        self.add_leaf(self.draw.choice([(3,), (2,), (2, 3)]), "int64")

    def add_leaf(self, shape: tuple[int, ...], dtype: str | None = None) -> None:
        dtype = dtype or self.draw.choice(drawn_tensors.DTYPES)
        self.add_array(drawn_tensors.values(self.draw, shape, dtype), dtype)

    def add_array(self, array: Any, dtype: str, role: str = "") -> None:
        """A leaf with these values; of some layout and with a gradient at random,
        unless it is a parameter or a constant.
        """
        draw, shape = self.draw, array.shape
        layout = drawn_tensors.as_drawn if role else drawn_tensors.layout(draw, shape)
        wide = "complex128" if array.dtype.kind == "c" else "float64"
        gradient = dtype[:2] in ("fl", "bf", "co") and draw.random() < 0.45
        gradient = gradient and role != "constant"
        for side, pool in zip(SIDES, self.pools, strict=True):
            tensor = side.tensor(array.tolist(), dtype=getattr(side, wide))
            tensor = tensor.reshape(shape).to(getattr(side, dtype))
            tensor = layout(side, tensor)
            pool.append(tensor.detach().requires_grad_(gradient))
        index = len(self.pools[0]) - 1
        if gradient:
            self.leaves.append(index)
        values = self.pools[0][index].detach().tolist()
        self.shown.append(
            f"t{index} = torch.tensor({values}, dtype=torch.{dtype}, "
            f"requires_grad={gradient})  # {tuple(self.pools[0][index].shape)} "
            f"{self.pools[0][index].stride()}"
        )

    def keep(self, results: list[list[Any]]) -> None:
        """Adds new results to the pools."""
        for a, b in zip(*results, strict=True):
            is_new = is_tensor(a) and not any(a is x for x in self.pools[0])
            if is_new and a.numel() < 200 and a.layout == torch.strided:
                self.shown.append(f"t{len(self.pools[0])} = result")
                if a._is_view() != b._is_view():
                    self.hidden.add(len(self.pools[0]))
                self.pools[0].append(a)
                self.pools[1].append(b)

    def step(self) -> Step:
        kind = self.draw.random()
        if kind < OTHER_SHARE:
            return self.other_step()
        kind -= OTHER_SHARE
        if kind < LAYER_SHARE:
            return self.layer_step()
        kind -= LAYER_SHARE
        if kind < TRANSFORM_SHARE:
            return self.transform_step()
        kind -= TRANSFORM_SHARE
        if kind < OUT_SHARE and self.outs:
            return self.schema_step(*self.draw.choice(self.outs))
        form, schema = self.draw.choice(self.table)
        if kind < OUT_SHARE + KNOWN_SHARE:
            name = schema.name.partition("::")[2]
            known = drawn_calls.known_call(name, schema.overload_name)
            if known is not None:
                return self.known_step(form, name, *known)
        return self.schema_step(form, schema)

    def layer_step(self) -> Any:
        """A layer of ``torch.nn``; its parameters, buffers and inputs become leaves."""
        name, given, shapes = drawn_modules.drawn(self.draw)
        state: dict[str, int] = {}
        try:
            layer = getattr(torch.nn, name)(**given)
        except Exception:
            layer = torch.nn.Identity()  # both sides refuse the arguments
        for key, tensor in layer.state_dict().items():
            dtype = str(tensor.dtype).rpartition(".")[2]
            array = tensor.numpy(force=True)
            if dtype == "float32":
                array = drawn_tensors.values(self.draw, tuple(tensor.shape), dtype)
            if "running_var" in key:
                array = np.abs(array)
            self.add_array(
                array, dtype, "constant" if "running" in key else "parameter"
            )
            state[key] = len(self.pools[0]) - 1
        inputs = []
        for shape in shapes:
            self.add_leaf(shape, "float32")
            inputs.append(len(self.pools[0]) - 1)
        training = self.draw.random() < 0.5
        return drawn_modules.Layer(name, given, state, inputs, training)

    def transform_step(self) -> Any:
        """A transform of a call that writes nothing, as a function of an operand."""
        for _ in range(50):
            form, schema = self.draw.choice(self.table)
            name = schema.name.partition("::")[2]
            known = drawn_calls.known_call(name, schema.overload_name)
            if name.endswith("_") or form == "special":
                continue  # PyTorch's gradients of some special functions are zeros
            if known is not None and self.draw.random() < 0.6:
                step = self.known_step(form, name, *known)
            else:
                step = self.schema_step(form, schema)
            if step.operands():
                varied = self.draw.choice(step.operands())
                return drawn_transforms.Transformed(self.draw, step, varied)
        return self.other_step()

    def schema_step(self, form: str, schema: Any) -> Step:
        """A call with arguments drawn by type and name."""
        name = schema.name.partition("::")[2]
        if form in ("linalg", "special", "fft"):
            name = name.removeprefix(form + "_")
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        skipped = False
        outs: list[Pooled] = []
        for k, argument in enumerate(schema.arguments):
            if argument.is_out:
                outs.append(self.destination(args))
                continue
            has_default = argument.has_default_value()
            is_left_out = has_default and argument.name != "reduction"
            if is_left_out and self.draw.random() < 0.65:
                skipped = True
                continue
            value = self.value(argument, args, k)
            if value is Ellipsis:
                skipped = True
            elif argument.kwarg_only or skipped:
                kwargs[argument.name] = value
            else:
                args.append(value)
        if name in LOOSE:
            args = [*args[0], *args[1:]]
        if outs:
            kwargs["out"] = outs[0] if len(outs) == 1 else tuple(outs)
        return Step(form, name, args, kwargs)

    def destination(self, args: list[Any]) -> Pooled:
        """A tensor to write a result to: one of the pool, or an empty one."""
        if self.draw.random() < 0.4 or not (args and isinstance(args[0], Pooled)):
            return self.tensor("")
        dtype = str(self.pools[0][args[0]].dtype).rpartition(".")[2]
        self.add_array(np.zeros((0,)), dtype, "constant")
        return Pooled(len(self.pools[0]) - 1)

    def other_step(self) -> Step:
        """An operator, or a read or write at an index."""
        draw = self.draw
        form = draw.choice(drawn_calls.FORMS)
        x = self.tensor("")
        if form == "operator":
            name = draw.choice(drawn_calls.OPERATORS)
            args: list[Any] = [x]
            if name not in drawn_calls.UNARY:
                is_number = draw.random() < 0.4
                args.append(
                    draw.choice(drawn_calls.NUMBERS) if is_number else self.tensor("")
                )
                if is_number and draw.random() < 0.5 and not name.startswith("i"):
                    args.reverse()
            return Step(form, name, args, {})
        pool = self.pools[0]
        indices = [
            Pooled(k)
            for k, t in enumerate(pool)
            if t.dtype in (torch.int64, torch.bool)
        ]
        where = drawn_calls.index(draw, tuple(pool[x].shape), indices)
        value = draw.choice([self.tensor(""), draw.choice(drawn_calls.NUMBERS)])
        return Step(form, "", [x, where, value][: 2 if form == "getitem" else 3], {})

    def known_step(self, form: str, name: str, args: Any, kwargs: Any) -> Step:
        """A call with arguments that an op takes; its tensors become leaves."""
        dtype = self.draw.choice(["float32"] * 4 + ["float64", "bfloat16"])

        def drawn(item: Any) -> Any:
            if isinstance(item, (list, tuple)):
                return [drawn(x) for x in item]
            if isinstance(item, (pellucid.dtype, pellucid.memory_format)):
                return Word(str(item).rpartition(".")[2])
            if not is_tensor(item):
                return item
            own = str(item.dtype).rpartition(".")[2]
            self.add_array(item.numpy(), dtype if own == "float64" else own)
            return Pooled(len(self.pools[0]) - 1)

        if form in ("linalg", "special", "fft"):
            name = name.removeprefix(form + "_")
        args = [drawn(x) for x in args]
        if name in LOOSE:
            args = [*args[0], *args[1:]]
        named = {k: drawn(x) for k, x in kwargs.items() if x is not None}
        return Step(form, name, args, named)

    def value(self, argument: Any, args: list[Any], position: int) -> Any:
        draw, name, kind = self.draw, argument.name, str(argument.type)
        rank = (
            self.pools[0][args[0]].dim() if args and isinstance(args[0], Pooled) else 2
        )
        if name in NOT_DRAWN:
            return Ellipsis
        if kind.startswith("Optional["):
            if draw.random() < 0.3:
                return None
            kind = kind[9:-1]
        if kind == "Tensor":
            return self.tensor(name)
        if kind in ("List[Tensor]", "List[Optional[Tensor]]"):
            return [self.tensor(name) for _ in range(draw.randint(1, 3))]
        if name == "dtype" or name.endswith("_dtype"):
            return Word(draw.choice(drawn_tensors.DTYPES))
        if kind == "bool":
            return draw.random() < 0.5
        if kind in ("int", "SymInt"):
            if name in DIMS:
                return draw.randint(-rank - (draw.random() < 0.05), max(rank - 1, 0))
            if name == "reduction":
                return draw.choice([0, 1, 2])
            return draw.choice([0, 1, 1, 2, 2, 3, -1])
        if kind in ("List[int]", "List[SymInt]"):
            return self.numbers(name, args, rank)
        if kind == "float":
            return draw.choice([0.5, 1.0, 2.0, 0.0, -1.5])
        if kind == "number" or kind == "Scalar":
            return draw.choice([0, 1, 2, -1, 0.5, 2.5, True, -0.5])
        if kind == "List[float]":
            return [draw.choice([0.5, 1.0, 2.0]) for _ in range(draw.randint(1, 2))]
        if kind == "str":
            return draw.choice(
                ["mean", "none", "sum", "floor", "trunc", "ij", "linear"]
            )
        if kind == "List[bool]":
            return [draw.random() < 0.5 for _ in range(2)]
        return Ellipsis

    def tensor(self, name: str) -> Pooled:
        pool = self.pools[0]
        fits = range(len(pool))
        if name in INDEX_WORDS and self.draw.random() < 0.85:
            fits = [k for k in fits if pool[k].dtype == torch.int64] or fits
        if name in ("mask", "condition") and self.draw.random() < 0.85:
            fits = [k for k in fits if pool[k].dtype == torch.bool] or fits
        return Pooled(self.draw.choice(list(fits)))

    def numbers(self, name: str, args: list[Any], rank: int) -> list[int]:
        draw = self.draw
        if name in DIMS or name == "dim":
            dims = list(range(rank))
            draw.shuffle(dims)
            dims = dims[
                : draw.randint(0 if draw.random() < 0.1 else min(1, rank), rank)
            ]
            return [d - rank if draw.random() < 0.3 else d for d in dims]
        if name in ("size", "shape", "normalized_shape") and args:
            shape = list(self.pools[0][args[0]].shape) if args[0] is not None else [2]
            how = draw.random()
            if how < 0.3:
                return [math.prod(shape)]
            if how < 0.5:
                return [-1, *shape[1:]]
            if how < 0.7:
                return shape[::-1]
            return [2, *shape] if how < 0.85 else shape
        return [draw.choice([0, 1, 1, 2, 2, 3]) for _ in range(draw.randint(1, 3))]
