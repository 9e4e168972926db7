"""Threads that call ops, derivatives and batched forms for the first time."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys, threading
import pellucid as torch

sys.setswitchinterval(1e-6)
errors = []
x = torch.arange(24, dtype=torch.int16).view(2, 3, 4)

def work(number):
    try:
        for dim in range(3):
            x.amax(dim), x.cumsum(dim), x.flip(dim), (x > number).all(dim)
            x.sort(dim), x.double().cumprod(dim), x.argmin(dim), x.roll(1, dim)
            torch.func.vmap(lambda row: row.amax(dim - 2))(x)
            leaf = x.to(torch.bfloat16).requires_grad_()
            (leaf.cumsum(dim) * leaf.logcumsumexp(dim)).sum().backward()
    except Exception as error:
        errors.append(error)

threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not errors, errors
assert x.amax(2).tolist() == [[3, 7, 11], [15, 19, 23]]
"""


def test_first_calls_of_many_threads() -> None:
    assert subprocess.run([sys.executable, "-c", PROGRAM], timeout=300).returncode == 0
