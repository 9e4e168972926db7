"""docs/aten.md: PyTorch's table of ops compared with ``torch.ops.aten``; needs PyTorch.

    python tools/aten_page.py           # rewrites the page
    python tools/aten_page.py --record  # and the counts in benchmarks/results.json

It compares public names of PyTorch's schema table whose schemas have tensors, without
those of other vendors' libraries. Whether a missing name is TorchScript's own is
determined, not entered: then PyTorch's dispatcher has no such op.
``tests/docs/test_aten.py`` checks the page without PyTorch.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import results  # noqa: E402

import pellucid  # noqa: E402

PAGE = ROOT / "docs" / "aten.md"
VENDORS = re.compile(
    r"^(cudnn|miopen|mkldnn|mkl_|fbgemm|mps_|vulkan|is_vulkan|to_mkldnn|cuda$|hip)"
)
INTERPRETED = "registered by TorchScript's interpreter: lists, dicts, its own literals"
OTHER = (
    "one vendor's; or layers that take cell parameters, objects of classes of "
    "TorchScript"
)
HEAD = """\
# Ops of PyTorch's table that are left out

`torch.ops.aten` has the ops of PyTorch {version}'s schema table under the same names,
with the same schemas to the letter, but for those below ({names};
`python tools/aten_page.py` writes this page). A test looks every one of them up: a name
that exists is taken off the list.

"""


def table() -> dict[str, dict[str, str]]:
    """PyTorch's schemas, by name and overload."""
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name.removeprefix("aten::")
        overload = schema.overload_name or "default"
        if name == schema.name or name.startswith("_") or VENDORS.match(name):
            continue
        if "Tensor" not in " ".join(
            str(item.type) for item in (*schema.arguments, *schema.returns)
        ):
            continue
        try:
            getattr(getattr(torch.ops.aten, name), overload)
        except (AttributeError, RuntimeError):
            continue  # not callable in PyTorch itself
        found[name][overload] = str(schema)
    return dict(found)


def reason(name: str, overloads: Any, dispatched: set[str]) -> str:
    """Why ``name`` is not an op here."""
    full = {name if o == "default" else f"{name}.{o}" for o in overloads}
    if not full & dispatched:
        return INTERPRETED
    return OTHER


def main() -> None:
    known = table()
    dispatched = {
        name.removeprefix("aten::") for name in torch._C._dispatch_get_all_op_names()
    }
    missing: defaultdict[str, list[str]] = defaultdict(list)
    lacking: list[str] = []
    same = 0
    for name, overloads in sorted(known.items()):
        packet = getattr(pellucid.ops.aten, name, None)
        if packet is None:
            missing[reason(name, overloads, dispatched)].append(name)
            continue
        for overload, schema in overloads.items():
            op = getattr(packet, overload, None)
            same += op is not None and str(op._schema) == schema
            if op is None:
                lacking.append(f"{name}.{overload}")
            elif str(op._schema) != schema:
                print(f"{name}.{overload}:\n  {schema}\n  {op._schema}")
    count = sum(map(len, missing.values()))
    total = sum(map(len, known.values()))
    names = f"{len(known) - count:,} of {len(known):,} names are here"
    version = torch.__version__.partition("+")[0].rpartition(".")[0]
    text = HEAD.format(version=version, names=names) + lines("names", missing)
    text += "\nOf names that exist, these overloads:\n\n"
    text += lines("overloads", {INTERPRETED: lacking})
    PAGE.write_text(text)
    if "--record" in sys.argv:
        values = {
            "names": len(known) - count,
            "public names": len(known),
            "overloads": same,
            "public overloads": total,
        }
        results.record("aten", values)


def lines(what: str, found: dict[str, list[str]]) -> str:
    body = [
        f"| {why} | {' '.join(f'`{name}`' for name in sorted(found[why]))} |"
        for why in (OTHER, INTERPRETED)
        if found.get(why)
    ]
    return "\n".join([f"| why | {what} |", "|---|---|", *body, ""])


if __name__ == "__main__":
    main()
