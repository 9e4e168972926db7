"""Whether Python's work in a loop is the same in every round, by the source."""

import pytest

from pellucid.diagnose.repeating import is_same_work
from pellucid.diagnose.rules import python_time

EPOCHS = """
import random
from collections import deque
LINES, recent = ["1 2"] * 9, deque(maxlen=100)
class Env:
    def __init__(self):
        self.at = [0]
    def step(self, action):
        self.at = [action]
        return self.look()
    def look(self):
        return sorted(self.at * 9)
def parsed(lines):
    for line in lines:
        yield [int(word) for word in line.split()]
def numbers(count):
    return [random.random() for _ in range(count)]
env, state = Env(), 0
for epoch in range(9):
    for row in parsed(LINES):
        mean = sum(recent) / 100
        recent.append(row[0])
        state = max(state, row[0])
        best = sorted([state] * 9)
        seen = env.step(row[0])
        drawn = sorted(numbers(9))
        own = sorted(row)
    later = sorted([epoch] * 9)
for line in LINES:
    once = sorted(line.split())
"""


@pytest.fixture
def place_of(tmp_path):
    """A function that gives the place of the line that begins with a text."""
    path = tmp_path / "program.py"
    path.write_text(EPOCHS)
    lines = [line.strip() for line in EPOCHS.split("\n")]

    def place(text):
        (number,) = [k for k, one in enumerate(lines, 1) if one.startswith(text)]
        return str(path), number

    return place


@pytest.mark.parametrize(
    ("frames", "is_same"),
    [
        (("yield [int(", "for row in"), True),
        (("own =",), True),
        (("yield [int(", "for row in", "for line in LINES"), True),  # several times
        (("mean =",), False),  # of a window that the loop moves
        (("best =",), False),  # of an earlier round's result
        (("return sorted(self", "return self.look", "seen ="), False),
        (("return [random", "drawn ="), False),
        (("later =",), False),  # of each epoch its own
        (("once =",), False),  # one pass
    ],
)
def test_work_is_the_same_unless_it_reads_what_differs(place_of, frames, is_same):
    assert is_same_work([place_of(text) for text in frames]) is is_same


def test_an_array_by_items_is_named_unless_a_window_moves(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        "import numpy as np\nfor x in stream():\n    recent.append(x)\n"
        "    a = np.array([v / 2.0 for v in recent])\n"
        "    b = np.array([v / 2.0 for v in x])\n"
        "    c = sum(v / 2.0 for v in recent)\n"
    )
    fixes = [python_time._fix(str(path), n, [(str(path), n)]) for n in (4, 5, 6)]
    assert fixes == [None, python_time._BY_ITEMS, None]
