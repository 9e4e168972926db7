"""Mistakes raise PyTorch's type of error, say what is wrong, and leave all usable."""

from __future__ import annotations

import re
import warnings

import pytest
from message_parts import MESSAGE_PARTS
from mistakes import MISTAKES

import pellucid as torch

CASES = [
    pytest.param(program, error, id=f"{theme}-{number}")
    for theme, cases in MISTAKES.items()
    for number, (program, error) in enumerate(cases)
]
WORD = re.compile(r"[a-z]+")
# What messages name besides what the program does.
SUBJECTS = """
    tensor storage number data element integer dim rank size shape channel batch index
    indices slice mask stride dtype device gradient operand argument input output target
    feature key object instance file function parameter module state optimizer list
    string literal class kernel memory type probability recurrence length sample modulo
    epoch vector loss float positive step count interpolation
    random bool bound val
"""
INTERNALS = re.compile(r"INTERNAL|\bInternal|\bassert\b|\.(cpp|h):\d")


def run(program: str) -> Exception | None:
    """The error that a program raises."""
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(program, names)
        except Exception as raised:
            return raised
    return None


def assert_says_something(raised: Exception, program: str) -> None:
    """A few words about something that the program names, in at most ten lines."""
    message = str(raised)
    assert len(message.splitlines()) <= 10
    assert not INTERNALS.search(message)
    if isinstance(raised, (KeyError, StopIteration)):
        return  # Python's own: of a key, or of nothing
    assert len(message.split()) >= 3
    named = program.lower().replace("_", "") + SUBJECTS
    short = set(WORD.findall(program.lower()))
    words = WORD.findall(message.lower())
    said = [*words, *(word.removesuffix("s") for word in words)]
    assert any(w in short or (len(w) > 2 and w in named) for w in said), message


@pytest.mark.parametrize(("program", "error"), CASES)
def test_a_mistake_raises_what_pytorch_raises(program: str, error: str) -> None:
    raised = run(program)
    assert raised is not None, f"nothing was raised instead of {error}"
    assert type(raised).__name__ == error, raised
    assert_says_something(raised, program)
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(("program", "part"), MESSAGE_PARTS)
def test_a_message_has_the_part_that_programs_search_for(
    program: str, part: str
) -> None:
    assert part in str(run(program))


def test_devices_that_differ_are_named_so() -> None:
    raised = run('torch.ones(2) + torch.ones(2, device="meta")')
    assert "Expected all tensors to be on the same device" in str(raised)
