"""The conformance kit with the arguments of tests: a report as JSON.

``python run_kit.py twin``, ``toy``, ``emu`` or ``late``. A process of its own: the
first backend of a process is its accelerator from then on.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "examples")]

import toy_device  # noqa: E402
from tools.given_calls import GIVEN  # noqa: E402

import pellucid as torch  # noqa: E402
from pellucid.devices import check  # noqa: E402
from pellucid.devices.emulated import Emulated  # noqa: E402
from pellucid.devices.late import Late  # noqa: E402


def main():
    if sys.argv[1] == "twin":  # test_catalogue_on_twin.py calls the ops
        torch.devices.register_twin()
        report = check.run("twin", [s for s in check.SECTIONS if s != "ops"])
    elif sys.argv[1] == "emu":  # a random order of threads; all ops take minutes
        sections = [s for s in check.SECTIONS if s != "ops"]
        report = check.run(Emulated(order=7), sections)
    elif sys.argv[1] == "late":
        torch.devices.register(Late(toy_device.Toy(), seed=5))
        report = check.run("late", given=GIVEN)
    else:
        report = check.run(toy_device.Toy(), given=GIVEN)
    actual = {"failures": report.failures, "checked": report.checked}
    print(json.dumps(actual | {"launched": report.launched, "text": str(report)}))


if __name__ == "__main__":
    main()
