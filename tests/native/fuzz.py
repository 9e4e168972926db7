"""Calls ops with random tensors and arguments, valid and invalid; prints failures.

    python tests/native/fuzz.py <seed> <count>

Every call must give a result or one of PyTorch's error types with a message of at most
ten lines; nothing may crash. Ops are called as functions, in place, with ``out=``,
under vmap and for second derivatives; tensors are read, written and resized, too.
Results are read, so that wrong geometry shows. Run by test_fuzz.py in a process of its
own and by ``make sanitize`` under the sanitizers; run it by hand for longer.
"""

import math
import os
import random
import resource
import sys
import warnings
from functools import partial

import pellucid as torch
import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.declare.variants import inplace_schema, out_schema

ALLOWED = (
    RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, OverflowError
)  # fmt: skip
DTYPES = (
    torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64,
    torch.int32, torch.uint8, torch.bool,
)  # fmt: skip
SIZES = (0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 17)
NUMBERS = (
    0, 1, -1, 2, 3, 0.5, -2.5, 1e30, float("nan"), float("inf"), True, 2**31, 2**62,
    -(2**63),
)  # fmt: skip
NONSENSE = (None, "text", [], [1, "a"], {}, object(), 2**70, b"x", 1j, (1, (2,)))
MEMORY = 2 << 30  # beyond the process's initial memory: absurd sizes fail


class Fuzzer:
    """Draws calls from one random stream."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.shape = (2, 3)

    def one_of(self, choices):
        return self.random.choice(choices)

    def chance(self, probability):
        return self.random.random() < probability

    def new_shape(self):
        """A shape, mostly one that the tensors of a call have or broadcast to."""
        if self.chance(0.7):
            return [1 if self.chance(0.1) else n for n in self.shape]
        if self.chance(0.5):
            return list(self.shape[self.random.randint(0, len(self.shape)) :])
        return [self.one_of(SIZES) for _ in range(self.random.randint(0, 5))]

    def tensor(self, dtype=None):
        dtype = dtype or (torch.float32 if self.chance(0.5) else self.one_of(DTYPES))
        base = torch.arange(1024).reshape(-1).to(torch.float32) * 0.37 - 3
        sizes = self.new_shape()
        count = 1
        for n in sizes:
            count *= n
        flat = base.repeat(count // 1024 + 1)[:count].to(dtype)
        return self.viewed(flat.reshape(sizes))

    def viewed(self, x):
        """The tensor itself or a view of it, with other strides."""
        kind = self.random.randint(0, 7)
        if kind == 0 and x.dim() > 1:
            return x.transpose(0, x.dim() - 1)
        if kind == 1 and x.dim() and x.shape[0] > 1:
            return x[::2]
        if kind == 2 and x.dim():
            return x[:1].expand(x.shape) if x.shape[0] else x
        if kind == 3 and x.dim():
            return x[1:]
        if kind == 4 and x.is_floating_point():
            return x.clone().requires_grad_()
        return x

    def number(self):
        small = self.chance(0.8)
        return self.random.randint(-3, 5) if small else self.one_of(NUMBERS)

    def value(self, argument):
        """A value for an argument, mostly of its type."""
        if self.chance(0.02):
            return self.one_of(NONSENSE)
        if argument.optional and self.chance(0.4):
            return None
        if argument.is_list:
            length = argument.length or self.random.randint(0, 4)
            length = length if self.chance(0.9) else self.random.randint(0, 4)
            return [self.single(argument) for _ in range(length)]
        return self.single(argument)

    def single(self, argument):
        kind = argument.type
        if kind == "Tensor":
            names = ("index", "indices", "target", "repeats")
            whole = argument.name in names and self.chance(0.8)
            return self.tensor(torch.int64 if whole else None)
        if kind == "bool":
            return self.chance(0.5)
        if kind == "ScalarType":
            return self.one_of(DTYPES)
        if kind == "str":
            words = ("mean", "sum", "none", "floor", "trunc", "amax", "replicate", "")
            return self.one_of(words)
        if kind in ("int", "SymInt", "Scalar", "float"):
            return self.number()
        return None

    def call(self, op):
        """(arguments by position, by keyword) of a call."""
        self.shape = [self.one_of(SIZES) for _ in range(self.random.randint(0, 4))]
        by_position, by_keyword = [], {}
        for argument in op.schema.arguments:
            if argument.has_default and self.chance(0.5):
                break
            value = self.value(argument)
            if argument.keyword_only:
                by_keyword[argument.name] = value
            else:
                by_position.append(value)
        if self.chance(0.02):
            by_keyword["surprise"] = 1
        return by_position, by_keyword


def read(result):
    """Read every element; compute gradients if there are any."""
    if isinstance(result, torch.Tensor):
        lists = math.prod(
            max(size, 1) for size in result.shape
        )  # also without elements
        if result.device.type == "cpu" and lists < 100_000:
            result.tolist()
            if result.requires_grad and result.is_floating_point():
                result.sum().backward()
        return
    if isinstance(result, (tuple, list)):
        for item in result:
            read(item)


def second_derivatives(call):
    """The call with its results differentiated twice."""
    results = call()
    results = results if isinstance(results, (tuple, list)) else [results]
    for y in results:
        if isinstance(y, torch.Tensor) and y.requires_grad and y.numel() < 10_000:
            leaves = [x for x in call.args if isinstance(x, torch.Tensor) and x.is_leaf]
            leaves = [x for x in leaves if x.requires_grad]
            first = torch.autograd.grad(
                y.sum(), leaves, create_graph=True, allow_unused=True
            )
            for grad in first:
                if grad is not None and grad.requires_grad:
                    grad.sum().backward(retain_graph=True)
    return results


def batched(call):
    """The call under vmap, over the first dim of its first tensor."""
    first = [isinstance(x, torch.Tensor) and x.dim() > 0 for x in call.args]
    where = first.index(True) if True in first else None
    if where is None:
        return call()

    def of_one(x):
        arguments = [*call.args[:where], x, *call.args[where + 1 :]]
        return call.func(*arguments, **call.keywords)

    return torch.func.vmap(of_one)(call.args[where])


REFUSED = "refused as it may be"
MOST_REFUSED = 0.75  # of all actions; 0.6 are refused, since operands are random


def attempt(action):
    """The failure of the action, or None; REFUSED if it had no result."""
    try:
        read(action())
    except ALLOWED as error:
        if len(str(error).splitlines()) > 10:
            return f"a message of more than ten lines: {error}"
        if "unknown status" in str(error):
            return str(error)
        return REFUSED
    except MemoryError:
        return REFUSED
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return None


def limit_memory():
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        return  # AddressSanitizer reserves terabytes of addresses
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))


def index_of(fuzzer):
    """An index ``x[...]``, mostly valid."""
    kinds = (
        lambda: fuzzer.random.randint(-3, 3),
        lambda: slice(fuzzer.number(), fuzzer.number()),
        lambda: slice(None, None, fuzzer.random.randint(0, 3)),
        lambda: None,
        lambda: Ellipsis,
        lambda: fuzzer.chance(0.5),
        lambda: fuzzer.tensor(torch.int64),
        lambda: fuzzer.tensor(torch.bool),
        lambda: [fuzzer.random.randint(-2, 2), fuzzer.random.randint(-2, 2)],
        lambda: fuzzer.one_of(NONSENSE),
    )
    parts = tuple(fuzzer.one_of(kinds)() for _ in range(fuzzer.random.randint(1, 3)))
    return parts if fuzzer.chance(0.6) else parts[0]


def read_at(x, index):
    return x[index]


def write_at(x, index, value):
    x[index] = value
    return x


def write_through(x, view, value):
    """Writes a view of x before x is differentiated."""
    y = x * 1
    seen = y.exp()
    y[view] = value
    return seen.sum() + y.sum()


def strided(x, sizes, strides, offset):
    return x.as_strided(sizes, strides, offset)


def resized(x, sizes):
    return x.clone().resize_(sizes)


def tensor_action(fuzzer):
    """An action on tensors that is not the call of an op by its schema."""
    fuzzer.shape = [fuzzer.one_of(SIZES) for _ in range(fuzzer.random.randint(0, 4))]
    x, rank = fuzzer.tensor(), fuzzer.random.randint(0, 3)
    value = fuzzer.tensor() if fuzzer.chance(0.5) else fuzzer.number()
    sizes = [fuzzer.random.randint(-1, 5) for _ in range(rank)]
    strides = [fuzzer.random.randint(-1, 7) for _ in range(rank)]
    return fuzzer.one_of(
        (
            partial(read_at, x, index_of(fuzzer)),
            partial(write_at, x, index_of(fuzzer), value),
            partial(write_through, x, index_of(fuzzer), value),
            partial(strided, x, sizes, strides, fuzzer.random.randint(-1, 4)),
            partial(resized, x, sizes),
        )
    )


def op_action(fuzzer, variants):
    """A call of an op in one of its forms, plain or under a transform."""
    op = REGISTRY[fuzzer.one_of(sorted(variants))]
    by_position, by_keyword = fuzzer.call(op)
    forms = variants[op.full_name]
    form = op.full_name if fuzzer.chance(0.6) else fuzzer.one_of(forms)
    if form != op.full_name and form.endswith("out"):
        target = fuzzer.tensor()
        tensors = [x for x in by_position if isinstance(x, torch.Tensor)]
        shares = tensors and fuzzer.chance(0.3)
        by_keyword["out"] = fuzzer.viewed(tensors[0]) if shares else target
    call = partial(torch._C._op_named(form), *by_position, **by_keyword)
    call.label = form
    kind = fuzzer.random.random()
    if kind < 0.1:
        return partial(second_derivatives, call)
    return partial(batched, call) if kind < 0.2 else call


def all_variants():
    """Full name of every op to the full names of its forms."""
    variants = {}
    for name, op in REGISTRY.items():
        if op.kind != "random":
            schemas = filter(None, (inplace_schema(op), out_schema(op)))
            variants[name] = [name, *(schema.full_name for schema in schemas)]
    return variants


def describe(value):
    if isinstance(value, torch.Tensor):
        return f"<{value.dtype} {tuple(value.shape)} {value.stride()}>"
    if isinstance(value, list):
        return "[" + ", ".join(map(describe, value)) + "]"
    if isinstance(value, partial):
        name = getattr(value, "label", None) or value.func.__name__
        inputs = [*map(describe, value.args)]
        inputs += [f"{key}={describe(item)}" for key, item in value.keywords.items()]
        return f"{name}({', '.join(inputs)})"
    return repr(value)[:40]


def main(seed, count):
    warnings.simplefilter("ignore")
    limit_memory()
    fuzzer = Fuzzer(seed)
    variants = all_variants()
    failures = refused = 0
    for _ in range(count):
        plain = fuzzer.chance(0.8)
        action = op_action(fuzzer, variants) if plain else tensor_action(fuzzer)
        line = describe(action)
        print(line, file=sys.stderr, flush=True)
        wrong = attempt(action)
        if wrong is REFUSED:
            refused += 1
        elif wrong:
            failures += 1
            print(f"{line}: {wrong}")
    if refused > count * MOST_REFUSED:
        failures += 1
        print(f"{refused} of {count} actions gave no result")
    return failures


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]), int(sys.argv[2]))))
