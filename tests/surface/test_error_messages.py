"""Bad input: PyTorch's error type and a short message that says what to do.

Nothing here may crash or give silent garbage; a message has at most ten lines.
"""

import signal
import subprocess
import sys
import textwrap

import pytest

import pellucid as torch

F = torch.nn.functional
X = torch.arange(6.0).reshape(2, 3)
I64 = torch.arange(6).reshape(2, 3)
META = torch.empty(2, 3, device="meta")


def mutated_then_backward():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    z = y * y
    y.add_(1)
    z.sum().backward()


def backward_twice():
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    y.backward()


CALLS = {
    # shapes
    "sizes that do not broadcast": (RuntimeError, lambda: X + torch.ones(2, 4)),
    "in place into a smaller shape": (RuntimeError, lambda: torch.ones(3).add_(X)),
    "matmul of unequal sizes": (RuntimeError, lambda: X @ X),
    "mm of vectors": (RuntimeError, lambda: torch.mm(X[0], X)),
    "bmm of unequal batches": (
        RuntimeError,
        lambda: torch.bmm(torch.ones(2, 3, 4), torch.ones(3, 4, 5)),
    ),
    "cat of unequal sizes": (RuntimeError, lambda: torch.cat([X, torch.ones(2, 4)], 0)),
    "cat of nothing": (ValueError, lambda: torch.cat([])),
    "stack of unequal sizes": (RuntimeError, lambda: torch.stack([X, X[0]])),
    "view of another number": (RuntimeError, lambda: X.view(4, 2)),
    "view across strides": (RuntimeError, lambda: X.t().view(6)),
    "two inferred sizes": (RuntimeError, lambda: X.view(-1, -1)),
    "reshape of another number": (RuntimeError, lambda: X.reshape(7)),
    "expand of a size": (RuntimeError, lambda: X.expand(4, 3)),
    "linear of unequal sizes": (
        RuntimeError,
        lambda: F.linear(X, torch.ones(4, 4)),
    ),
    "layer_norm of another shape": (RuntimeError, lambda: F.layer_norm(X, [4])),
    "squeezed out dims": (IndexError, lambda: X.sum(2)),
    "a dim named twice": (RuntimeError, lambda: X.sum([0, 0])),
    "permute with too few dims": (RuntimeError, lambda: X.permute(0)),
    "split sizes that do not add up": (RuntimeError, lambda: X.split([1, 1], 1)),
    "a bool mask of another shape": (IndexError, lambda: X[torch.ones(3) > 0]),
    "item of many": (RuntimeError, lambda: X.item()),
    "the truth of many": (RuntimeError, lambda: bool(X)),
    "max of nothing": (RuntimeError, lambda: torch.empty(0).max()),
    "argmax of nothing": (IndexError, lambda: torch.empty(0, 3).argmax(0)),
    # dtypes
    "matmul of two dtypes": (RuntimeError, lambda: X @ I64.t()),
    "mean of integers": (RuntimeError, lambda: I64.mean()),
    "float places": (IndexError, lambda: X[X]),
    "in place into integers": (RuntimeError, lambda: I64.clone().add_(0.5)),
    "minus of bools": (RuntimeError, lambda: -(X > 0)),
    "an integer divided by zero": (RuntimeError, lambda: I64 // 0),
    "an integer's remainder by zero": (RuntimeError, lambda: 5 % I64),
    "a float alpha of integers": (RuntimeError, lambda: I64.add(I64, alpha=1.5)),
    "gradients of integers": (RuntimeError, lambda: I64.clone().requires_grad_()),
    "places of a float dtype": (RuntimeError, lambda: X.gather(1, X)),
    "~ of floats": (TypeError, lambda: ~X),
    "a number beyond int64": (RuntimeError, lambda: I64.clone().fill_(1e30)),
    "a dtype that is none": (RuntimeError, lambda: X.to("text")),
    # devices
    "a device that is none": (RuntimeError, lambda: torch.ones(2, device="mars")),
    "two devices": (RuntimeError, lambda: X + META),
    "the number in a meta tensor": (RuntimeError, lambda: META.sum().item()),
    # places
    "a place past the end": (IndexError, lambda: X[2]),
    "a place before the start": (IndexError, lambda: X[0, -4]),
    "too many places": (IndexError, lambda: X[0, 0, 0]),
    "places out of bounds": (IndexError, lambda: X[torch.tensor([0, 5])]),
    "gather out of bounds": (
        RuntimeError,
        lambda: X.gather(1, torch.tensor([[7]])),
    ),
    "index_select out of bounds": (
        IndexError,
        lambda: X.index_select(0, torch.tensor([2])),
    ),
    "embedding out of bounds": (
        IndexError,
        lambda: F.embedding(torch.tensor([2]), X),
    ),
    "a label out of bounds": (
        IndexError,
        lambda: F.cross_entropy(X, torch.tensor([0, 3])),
    ),
    "narrow past the end": (RuntimeError, lambda: X.narrow(1, 2, 2)),
    "a negative step": (ValueError, lambda: X[::-1]),
    "text as a place": (TypeError, lambda: X["a"]),
    # sizes
    "2**62 elements": (RuntimeError, lambda: torch.empty(2**62)),
    "2**66 elements": (RuntimeError, lambda: torch.zeros(2**33, 2**33)),
    "2**124 elements": (RuntimeError, lambda: X.repeat(2**62, 2**62)),
    "a range of 2**62": (RuntimeError, lambda: torch.arange(2**62)),
    "2**62 pairs": (
        RuntimeError,
        lambda: torch.ones(1).expand(2**31).outer(torch.ones(1).expand(2**31)),
    ),
    "a negative size": (RuntimeError, lambda: torch.ones(-1)),
    "padding by 2**62": (RuntimeError, lambda: F.pad(X, (2**62, 0))),
    "one_hot of 2**60 classes": (
        RuntimeError,
        lambda: F.one_hot(torch.tensor([0]), 2**60),
    ),
    "as_strided past the storage": (
        RuntimeError,
        lambda: X.as_strided((100,), (1,)),
    ),
    "as_strided before the storage": (
        RuntimeError,
        lambda: X.as_strided((2,), (1,), -1),
    ),
    # data
    "a ragged list": (ValueError, lambda: torch.tensor([[1, 2], [3]])),
    "a list of words": (ValueError, lambda: torch.tensor(["a"])),
    "a list with None": ((TypeError, RuntimeError), lambda: torch.tensor([1, None])),
    "an object": (RuntimeError, lambda: torch.tensor(object())),
    # arguments
    "a number for a tensor": (TypeError, lambda: torch.exp(1.0)),
    "None for a tensor": (TypeError, lambda: torch.matmul(X, None)),
    "an unknown keyword": (TypeError, lambda: torch.exp(X, speed=2)),
    "an unknown keyword of a factory": (TypeError, lambda: torch.ones(2, size=3)),
    "a missing argument": (TypeError, lambda: torch.matmul(X)),
    "too many arguments": (TypeError, lambda: torch.exp(X, X, X)),
    "text for a dim": (TypeError, lambda: X.sum("rows")),
    "a float for a dim": (TypeError, lambda: X.sum(1.5)),
    "an unknown reduction": (ValueError, lambda: F.mse_loss(X, X, reduction="all")),
    "a word for rounding": (
        RuntimeError,
        lambda: torch.div(X, X, rounding_mode="up"),
    ),
    # gradients
    "backward twice": (RuntimeError, backward_twice),
    "a changed saved value": (RuntimeError, mutated_then_backward),
    "backward of many": (
        RuntimeError,
        lambda: torch.ones(2, requires_grad=True).mul(2).backward(),
    ),
    "backward of a constant": (RuntimeError, lambda: X.sum().backward()),
    "a leaf changed in place": (
        RuntimeError,
        lambda: torch.ones(2, requires_grad=True).add_(1),
    ),
    "NumPy of a tensor with gradients": (
        RuntimeError,
        lambda: torch.ones(2, requires_grad=True).numpy(),
    ),
}


@pytest.mark.parametrize("case", CALLS)
def test_errors(case):
    error, call = CALLS[case]
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert message
    assert len(message.splitlines()) <= 10, message


def expanded(*sizes):
    return torch.ones(1).expand(*sizes)


LONG = {
    "a reduction": lambda: expanded(1 << 40).sum(),
    "a reduction that keeps rows": lambda: expanded(64, 1 << 36).sum(1),
    "a map": lambda: [torch.ones(1 << 24).exp() for _ in range(10_000)],
    "a product": lambda: [
        expanded(4096, 4096) @ expanded(4096, 4096) for _ in range(1000)
    ],
}


@pytest.mark.parametrize("case", LONG)
def test_an_interrupt_ends_a_long_kernel(case):
    def interrupt(*_):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            LONG[case]()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert torch.ones(3).sum().item() == 3


def run_script(script, **environment):
    """The finished process of a Python script."""
    import os

    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=300,
    )


def test_a_failed_allocation_loses_nothing():
    done = run_script(
        """
        import resource
        import pellucid as torch

        x = torch.ones(1000, requires_grad=True)
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        limit = used + (256 << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        for _ in range(100):
            for make in (
                lambda: torch.ones(1 << 30),
                lambda: x.expand(1 << 20, 1000).exp(),
                lambda: x.expand(1 << 20, 1000).cumsum(0),
                lambda: torch.cat([x.expand(1 << 20, 1000)] * 2),
                lambda: x.expand(1 << 20, 1000).contiguous().sum().backward(),
            ):
                try:
                    make()
                except RuntimeError as error:
                    assert len(str(error).splitlines()) <= 10
                else:
                    raise SystemExit("an allocation of gigabytes succeeded")
        assert x.exp().sum().item() > 2718
        print("fine")
        """
    )
    assert done.stdout.strip() == "fine", done.stderr[-2000:]
