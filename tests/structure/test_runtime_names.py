"""The functions of ``pellucid._C``: each name is in one table of the runtime."""

import re
from collections import Counter
from pathlib import Path

RUNTIME = Path(__file__).resolve().parents[2] / "runtime"
TABLE = re.compile(r"PyMethodDef \w*functions\w*\[\] = \{(.*?)\n\};", re.DOTALL)


def test_no_two_functions_have_one_name():
    """The module would keep the later one."""
    names: Counter[str] = Counter()
    for source in RUNTIME.rglob("*.cpp"):
        for table in TABLE.findall(source.read_text()):
            names.update(re.findall(r'^    \{"(\w+)"', table, re.MULTILINE))
    assert len(names) > 200
    assert [name for name, count in names.items() if count > 1] == []
