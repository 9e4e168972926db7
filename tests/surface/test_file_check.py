"""``testing.FileCheck``: what is found in which order."""

import re

import pytest

import pellucid as torch
from pellucid.testing import FileCheck

TEXT = "x = relu(a)  # first\ny = relu(b)\n    ~~~~\nz = x + y\nreturn z\n"


def checks(*calls):
    result = FileCheck()
    for name, *arguments in calls:
        assert getattr(result, name)(*arguments) is result
    return result


HOLDS = [
    [("check", "relu(a)"), ("check", "relu(b)")],
    [("check", "x ="), ("check_same", "first"), ("check_next", "relu")],
    [("check", "relu(b)"), ("check_not", "relu"), ("check", "return")],
    [("check_not", "sigmoid")],
    [("check_not", "y ="), ("check", "relu(a)"), ("check", "y =")],
    [("check_dag", "relu(b)"), ("check_dag", "relu(a)"), ("check", "return")],
    [("check_count", "relu", 2)],
    [("check_count", "relu", 2, True), ("check", "return")],
    [("check_count", "relu", 1, True), ("check", "relu(b)")],
    [("check_regex", r"relu\([bc]\)"), ("check", "z =")],
    [("check_source_highlighted", "relu")],
]
FAILS = [
    ([("check", "relu(b)"), ("check", "relu(a)")], 'Expected to find "relu(a)"'),
    ([("check", "x ="), ("check_same", "relu(b)")], 'Expected to find "relu(b)"'),
    ([("check", "x ="), ("check_next", "z =")], 'Expected to find "z ="'),
    ([("check", "return z\n"), ("check_next", "z")], 'Expected to find "z"'),
    ([("check", "x ="), ("check_not", "relu")], 'Expected to not find "relu"'),
    ([("check_not", "x ="), ("check", "relu(a)")], 'Expected to not find "x ="'),
    ([("check_dag", "relu"), ("check_dag", "tanh")], 'Expected to find "tanh"'),
    ([("check_count", "relu", 3)], 'Expected to find "relu"'),
    ([("check_count", "relu", 1, True)], 'Expected to not find "relu"'),
    ([("check_regex", "relu.c")], 'Expected to find regex "relu.c"'),
    ([("check_source_highlighted", "= relu")], 'Expected to find "= relu"'),
]


@pytest.mark.completes
@pytest.mark.parametrize("calls", HOLDS)
def test_a_text_has_what_it_is_checked_for(calls):
    checks(*calls).run(TEXT)


@pytest.mark.parametrize(("calls", "message"), FAILS)
def test_what_is_not_so_is_said(calls, message):
    with pytest.raises(RuntimeError, match=re.escape(message)) as error:
        checks(*calls).run(TEXT)
    assert "Searched string:" in str(error.value)


def test_checks_may_be_written_in_a_text():
    written = "# CHECK: relu(a)\n# CHECK-NEXT: relu(b)\n# CHECK-NOT: relu\n# CHECK: z"
    FileCheck().run(written, TEXT)
    FileCheck().run("# CHECK-COUNT-2: relu\n# CHECK-REGEX: [xy] . y", TEXT)
    with pytest.raises(RuntimeError, match='Expected to not find "relu"'):
        FileCheck().run("# CHECK-COUNT-1: EXACTLY relu", TEXT)
    with pytest.raises(RuntimeError, match="is not a check"):
        FileCheck().run("# CHECK-LAST: relu", TEXT)
    with pytest.raises(RuntimeError, match="no line like"):
        FileCheck().run(TEXT, TEXT)


def test_graphs_are_checked_as_they_print():
    graph = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1).graph
    torch.FileCheck().check("relu").check_next("add").check("return").run(graph)
    assert torch.FileCheck is FileCheck
