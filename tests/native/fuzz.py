"""Calls ops with random tensors and arguments, sensible and not; prints what is wrong.

    python tests/native/fuzz.py <seed> <count>

Every call must give a result or one of PyTorch's error types with a message of at most
ten lines; nothing may crash. Results of tensors are read, so that wrong geometry shows.
Run by test_fuzz.py in a process of its own; run it by hand for longer.
"""

import random
import resource
import sys
import warnings

import pellucid as torch
import pellucid.ops
from pellucid.lang import REGISTRY

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
MEMORY = 2 << 30  # beyond what the process has at the start: absurd sizes fail


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
        """A shape; mostly one that the tensors of a call share or broadcast to."""
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
        """Something for an argument, mostly of its type."""
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
    """Look at every element; take gradients where there are any."""
    if isinstance(result, torch.Tensor):
        if result.device.type == "cpu" and result.numel() < 100_000:
            result.tolist()
            if result.requires_grad and result.is_floating_point():
                result.sum().backward()
        return
    if isinstance(result, (tuple, list)):
        for item in result:
            read(item)


def attempt(name, by_position, by_keyword):
    """What is wrong with the call, or None."""
    try:
        read(torch._C._op_named(name)(*by_position, **by_keyword))
    except ALLOWED as error:
        if len(str(error).splitlines()) > 10:
            return f"a message of more than ten lines: {error}"
        if "unknown status" in str(error):
            return str(error)
    except MemoryError:
        return None
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return None


def limit_memory():
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))


def describe(value):
    if isinstance(value, torch.Tensor):
        return f"<{value.dtype} {tuple(value.shape)} {value.stride()}>"
    if isinstance(value, list):
        return "[" + ", ".join(map(describe, value)) + "]"
    return repr(value)[:40]


def main(seed, count):
    warnings.simplefilter("ignore")
    limit_memory()
    fuzzer = Fuzzer(seed)
    names = [name for name, op in REGISTRY.items() if op.kind != "random"]
    failures = 0
    for _ in range(count):
        name = fuzzer.one_of(names)
        by_position, by_keyword = fuzzer.call(REGISTRY[name])
        given = [*map(describe, by_position)]
        given += [f"{key}={describe(value)}" for key, value in by_keyword.items()]
        line = f"{name}({', '.join(given)})"
        print(line, file=sys.stderr, flush=True)
        wrong = attempt(name, by_position, by_keyword)
        if wrong:
            failures += 1
            print(f"{line}: {wrong}")
    return failures


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]), int(sys.argv[2]))))
