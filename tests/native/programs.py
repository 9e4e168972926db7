"""Differentiates random programs repeatedly: every run must give the same results.

    python tests/native/programs.py <seed> <count> [--threads]

A program calls ops on small tensors, writes in place, disables recording and is
differentiated. Its first run finds nothing cached; later ones use cached calls and
prepared derivatives (runtime/python/inline_cache.h, autograd/node_facts.h). Around and
between them come modes, hooks, ops that are registered again, second passes and other
graphs that run inside of this one. Results and gradients must have the same bits as in
the first run under such surroundings, errors the same words. With ``--threads`` several
threads run the same programs, and differentiate one graph, at once. Every program is
printed before it runs. Called by test_fuzz.py and, under the sanitizers, by
``tools/sanitize.py``.
"""

import gc
import random
import sys
import warnings
from contextlib import ExitStack, contextmanager, nullcontext

from threads import together

import pellucid as torch
from pellucid.autograd.graph import saved_tensors_hooks
from pellucid.nn import functional as F
from pellucid.overrides import TorchFunctionMode
from pellucid.utils._python_dispatch import TorchDispatchMode

SIZE = 4  # rows and columns of the leaves
RUNS = 10
REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError)

LIBRARY = torch.library.Library("programs", "DEF")
LIBRARY.define("twice(Tensor x) -> Tensor")


def register_twice():
    """Registers a kernel and derivative again, which invalidates cached calls."""
    LIBRARY.impl("twice", lambda x: x.clone() * 2, "CPU")
    torch.library.register_autograd(
        "programs::twice", lambda ctx, grad: grad * 2, lib=LIBRARY
    )


def definite(x):
    return x @ x.mT + torch.eye(len(x))


UNARY = (
    torch.sin, torch.exp, torch.tanh, torch.relu, torch.neg, torch.sigmoid,
    lambda x: x * 0.5, lambda x: 2 - x, lambda x: x**2, lambda x: x / 3,
    lambda x: x.softmax(1), lambda x: x.cumsum(0), lambda x: x.sum(1, keepdim=True),
    lambda x: x.mean(), lambda x: x.t(), lambda x: x[1:], lambda x: x[:, ::2],
    lambda x: x.flip(0), lambda x: x.expand(3, *x.shape).sum(0),
    lambda x: x.reshape(-1, 2), lambda x: x.max(1)[0], lambda x: x.sort(1)[0],
    lambda x: F.layer_norm(x, x.shape[-1:]),
    lambda x: F.batch_norm(x, None, None, training=True),
    lambda x: torch.cat([x, x]), lambda x: torch.stack([x, x], 1).flatten(1),
    lambda x: x.split(2)[0], lambda x: x.unbind(1)[-1], lambda x: x[x > 0],
    lambda x: x.detach(), lambda x: x.clone(), lambda x: x.double().float(),
    lambda x: torch.linalg.inv(definite(x)), torch.linalg.det,
    lambda x: torch.linalg.cholesky(definite(x)),
    lambda x: torch.linalg.eigvalsh(x + x.mT), torch.linalg.svdvals,
    lambda x: torch.ops.programs.twice(x),
)  # fmt: skip
BINARY = (
    torch.add, torch.mul, torch.sub, torch.matmul, torch.maximum, torch.atan2,
    lambda x, y: x * y.t(), lambda x, y: torch.where(x > 0, x, y),
    lambda x, y: torch.cat([x, y], 1), lambda x, y: torch.lerp(x, y, 0.25),
    lambda x, y: torch.addmm(x, y, y), lambda x, y: torch.linalg.solve(definite(x), y),
    lambda x, y: F.linear(x, y, y[0]), F.mse_loss,
)  # fmt: skip
IN_PLACE = (
    lambda x, y: x.mul_(0.5), lambda x, y: x.add_(y), lambda x, y: x.exp_(),
    lambda x, y: x[0].mul_(3), lambda x, y: x.t().add_(y), lambda x, y: x.copy_(y),
    lambda x, y: x.zero_(), lambda x, y: x.detach_(), lambda x, y: x.detach().add_(1),
    lambda x, y: x.clamp_(-1, 1),
)  # fmt: skip
TABLES = {"unary": UNARY, "binary": BINARY, "in place": IN_PLACE}


def new_leaves():
    numbers = torch.arange(float(SIZE * SIZE)).reshape(SIZE, SIZE)
    return [
        (numbers * 0.37 % 1.7 - 0.6).requires_grad_(),
        (numbers * 0.53 % 1.1 - 0.4).requires_grad_(),
    ]


class Program:
    """Steps over a list of values, of which the first two are arguments."""

    def __init__(self, seed):
        choose = random.Random(seed)
        self.seed, self.steps = seed, []
        for last in range(1, choose.randint(3, 10)):
            name = choose.choice(["unary", "unary", "unary", "binary", "in place"])
            first = last if choose.random() < 0.6 else choose.randint(0, last)
            which = choose.randrange(len(TABLES[name]))
            recorded = choose.random() < 0.95
            self.steps.append((name, which, first, choose.randint(0, last), recorded))

    def __str__(self):
        return f"{self.seed}: " + "; ".join(
            f"{name} {which} of {first}, {second}" + ("" if recorded else " unrecorded")
            for name, which, first, second, recorded in self.steps
        )

    def run(self, arguments, hook=None):
        """A number that depends on all values."""
        values = list(arguments)
        for name, which, first, second, recorded in self.steps:
            operands = [values[first], values[second]][: 1 if name == "unary" else 2]
            with nullcontext() if recorded else torch.no_grad():
                result = TABLES[name][which](*operands)
            if hook and result.requires_grad:
                hook(result)
            values.append(result)
        return sum(value.sum() for value in values)


# --------------------------------------------------------------------- surroundings


class Functions(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class Dispatched(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@contextmanager
def doubles():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def anomalies():
    return torch.autograd.set_detect_anomaly(True, check_nan=False)


def copies_saved():
    return saved_tensors_hooks(lambda x: x.clone(), lambda x: x.clone())


PLAIN = (nullcontext, Functions, anomalies)
# These decompose ops, save values that are written later, or compute otherwise: only
# runs under the same ones are compared.
OTHER = (Dispatched, copies_saved)
OF_THE_PROCESS = (doubles,)  # not while other threads run


def inner_pass(_):
    """Another graph of the same ops, differentiated inside of a pass."""
    with torch.enable_grad():
        x = new_leaves()[0]
        torch.autograd.grad((torch.sin(x) * x @ x).sum(), x)


def hook_everything(tensor):
    """Hooks of every kind, without effects."""
    tensor.register_hook(lambda grad: grad.view_as(grad))
    tensor.register_hook(inner_pass)
    if tensor.grad_fn is not None:
        tensor.grad_fn.register_hook(lambda grads, inputs: grads)
        tensor.grad_fn.register_prehook(lambda inputs: inputs)


def disturb(choose):
    """Work between two runs, which must not change the results."""
    kind = choose.randrange(5)
    if kind == 0:
        register_twice()
    elif kind == 1:
        gc.collect()
    elif kind == 2:
        torch.set_num_threads(choose.randint(1, 3))
    elif kind == 3:
        with torch.inference_mode() if choose.random() < 0.5 else torch.no_grad():
            outcome(Program(choose.random()))


# ------------------------------------------------------------------------------ runs


def outcome(program, forward=(), backward=(), hook=None, way="once"):
    """The number and the leaves' gradients as text, or the error."""
    leaves = new_leaves()
    try:
        with ExitStack() as around:
            for surrounding in forward:
                around.enter_context(surrounding())
            number = program.run([leaf * 1 for leaf in leaves], hook)
        if not number.requires_grad:
            return [repr(number.tolist())]
        with ExitStack() as around:
            for surrounding in backward:
                around.enter_context(surrounding())
            gradients = differentiate(number, leaves, way)
    except REFUSALS as error:
        return [type(error).__name__, str(error).splitlines()[0]]
    return texts([number, *gradients])


def texts(tensors):
    return [repr(tensor if tensor is None else tensor.tolist()) for tensor in tensors]


def differentiate(number, leaves, way):
    if way == "accumulated":
        number.backward()
        return [leaf.grad for leaf in leaves]
    if way == "twice":
        torch.autograd.grad(number, leaves, retain_graph=True, allow_unused=True)
    if way == "second":
        for grad in torch.autograd.grad(
            number, leaves, create_graph=True, allow_unused=True
        ):
            if grad is not None and grad.requires_grad:
                torch.autograd.grad(
                    grad.sum(), leaves, retain_graph=True, allow_unused=True
                )
    return torch.autograd.grad(number, leaves, allow_unused=True)


class Runner:
    """Runs one program in many ways and compares the results."""

    def __init__(self, program, seed, others):
        self.program, self.others = program, others
        self.choose = random.Random(f"{seed} of {program.seed}")
        self.expected = {}

    def surroundings(self):
        tables = [PLAIN, PLAIN, PLAIN, self.others]
        return [
            self.choose.choice(self.choose.choice(tables))
            for _ in range(self.choose.randint(0, 2))
        ]

    def run(self):
        """The difference of another run, or None."""
        forward, backward = self.surroundings(), self.surroundings()
        hook = hook_everything if self.choose.random() < 0.2 else None
        way = self.choose.choice(["once", "once", "accumulated", "twice", "second"])
        actual = outcome(self.program, forward, backward, hook, way)
        key = [
            *(surrounding for surrounding in forward if surrounding in self.others),
            "then",
            *(surrounding for surrounding in backward if surrounding in self.others),
        ]
        expected = self.expected.setdefault(tuple(key), actual)
        if actual == expected:
            return None
        how = [getattr(x, "__name__", x) for x in (*forward, "then", *backward)]
        return f"{how} {way}, hooks: {bool(hook)}: {actual} in place of {expected}"


def alone(program, seed):
    """The differences of a program's runs."""
    runner = Runner(program, seed, OTHER + OF_THE_PROCESS)
    actual = [outcome(program)]
    runner.expected["then",] = actual[0]
    for _ in range(RUNS):
        disturb(runner.choose)
        if wrong := runner.run():
            return wrong
    return None


def among_threads(program, seed):
    """The differences of the runs of several threads, and of their common graph."""
    expected = outcome(program)
    shared = None
    if len(expected) == 3:
        leaves = new_leaves()
        shared = program.run([leaf * 1 for leaf in leaves])
    wrong = []

    def work(number):
        runner = Runner(program, f"{seed} {number}", OTHER)
        runner.expected["then",] = expected
        for _ in range(RUNS):
            if actual := runner.run():
                wrong.append(actual)
            if shared is not None:
                grads = torch.autograd.grad(
                    shared, leaves, retain_graph=True, allow_unused=True
                )
                if texts([shared, *grads]) != expected:
                    wrong.append(f"the common graph gave {texts(grads)}")
            if number == 0:
                register_twice()

    together(work)
    return wrong[0] if wrong else None


def main(seed, count, run):
    warnings.simplefilter("ignore")
    register_twice()
    failures = 0
    for number in range(count):
        program = Program(f"{seed}.{number}")
        print(program, file=sys.stderr, flush=True)
        if wrong := run(program, seed):
            failures += 1
            print(f"{program}: {wrong}")
    return failures


if __name__ == "__main__":
    of_threads = sys.argv[3:] == ["--threads"]
    called = main(sys.argv[1], int(sys.argv[2]), among_threads if of_threads else alone)
    sys.exit(bool(called))
