"""Every op overload on the chip of ``examples/toy_device.py``: a report as JSON.

Run by ``test_toy.py`` in a process of its own, because the first backend of a process
is its accelerator from then on.
"""

import json
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "examples")]

import toy_device  # noqa: E402
from tools.schema_calls import tensors  # noqa: E402

import pellucid as torch  # noqa: E402
from tests.composites.test_whole_catalogue import (  # noqa: E402
    DRAWS,
    drawn,
    names,
    overload_of,
)
from tests.devices.test_catalogue_on_twin import UNWRITTEN  # noqa: E402


def differs(found, known):
    """Whether numbers differ by more than another order of summation explains."""
    pairs = zip(tensors(found), tensors(known), strict=True)
    return not all(
        torch.allclose(a.detach().cpu(), b.detach(), 1e-5, 1e-6, equal_nan=True)
        for a, b in pairs
    )


def main():
    warnings.simplefilter("ignore")
    torch.devices.register(toy_device.Toy())
    report = {"equal": 0, "different": [], "failed": []}
    for name in names():
        known, overload = drawn(name), overload_of(name)
        try:
            torch.manual_seed(0)
            expected = known.run(overload)
            torch.manual_seed(0)
            found = known.run(overload, lambda tensor: tensor.to("toy"))
            is_wrong = name not in UNWRITTEN | DRAWS and differs(found, expected)
        except Exception as error:
            report["failed"].append(f"{name}: {error}")
            continue
        if is_wrong:
            report["different"].append(name)
        else:
            report["equal"] += 1
    report |= torch.devices.counts("toy")
    print(json.dumps(report))


if __name__ == "__main__":
    main()
