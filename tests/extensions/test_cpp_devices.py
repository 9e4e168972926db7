"""A device in C++: memory, kernels, errors, and the kit. In processes of their own."""

import json
import textwrap

import pytest

from pellucid.utils._cpp import build
from tests.devices.programs import ROOT, run, run_program

BUILD = ROOT / "build" / "tests-extensions"
LOADED = """
import json
import pellucid as torch
from pellucid.devices import check
torch.ops.load_library({path!r})
"""


@pytest.fixture(scope="module")
def ram():
    return built("ram_device", [str(ROOT / "examples" / "ram_device.cpp")])


def built(name, sources):
    """The path of a library, which is not loaded here."""
    BUILD.mkdir(parents=True, exist_ok=True)
    return build.built(name, sources, BUILD)


def program(path, text):
    return run_program(LOADED.format(path=str(path)) + textwrap.dedent(text))


def test_the_example_trains_and_passes_the_kit(ram):
    text = program(
        ram,
        """
        def trained(device):
            x = torch.linspace(-1, 1, 12).reshape(3, 4).to(device)
            w = torch.ones(4, 1, device=device, requires_grad=True)
            for _ in range(3):
                loss = (x @ w * 2 + 1 - x.sum(1, keepdim=True)).square().mean()
                (grad,) = torch.autograd.grad(loss, w)
                w = (w - 0.1 * grad).detach().requires_grad_()
            return w.cpu().tolist()

        with torch.devices.trace() as log:
            actual = trained("ram:1")
        outcomes = sorted({(e.form, e.outcome) for e in log if e.form == "map"})
        sections = ["memory", "dtypes", "views", "errors", "random", "autograd"]
        report = check.run("ram", sections)
        print(json.dumps([actual == trained("cpu"), outcomes, bool(report),
                          str(report), report.launched, torch.ram.device_count()]))
        """,
    )
    same, outcomes, holds, report, launched, count = json.loads(text)
    assert same
    assert ["map", "launched"] in outcomes
    assert holds, report
    assert launched > 50
    assert count == 2


def test_the_command_checks_a_library(ram):
    text = run("-m", "pellucid.devices.check", f"{ram}:ram", "memory")
    assert text.splitlines()[0] == "ram: 2 devices; launches"
    assert text.splitlines()[1].split() == ["memory", "9", "checks", "ok"]


def test_it_has_no_memory_left(ram):
    text = program(
        ram,
        """
        try:
            torch.empty(1 << 28, device="ram")
        except torch.OutOfMemoryError as error:
            print(error)
        """,
    )
    assert text.startswith("ram:0 has no memory for 1073741824 bytes: ")


def test_a_kernels_text_is_asked_for_again_after_an_error(ram):
    text = program(
        ram,
        """
        import sys
        from pellucid.devices import launching

        asked, text_of = [], launching.text_of
        def fails_once(kernel_id):
            asked.append(kernel_id)
            if len(asked) == 1:
                raise OSError("no file")
            return text_of(kernel_id)

        launching.text_of = fails_once
        sys.unraisablehook = lambda found: print(found.exc_value)
        with torch.devices.trace():
            x = torch.ones(2, device="ram").neg()
        first, again, other = asked
        print(first == again != other, x.tolist())
        """,
    )
    assert text == "no file\nTrue [-1.0, -1.0]\n"


FAULTY = """
#include <pellucid/device.h>
using namespace pellucid::extension;
struct Faulty : Device {
  uint64_t allocate(int, size_t) override { return address; }
  void release(int, uint64_t, size_t) override {}
  void to_host(int, void*, uint64_t, size_t, int64_t) override {}
  void from_host(int, uint64_t, const void*, size_t, int64_t) override {
    throw std::runtime_error("the bus is on fire");
  }
  bool launch(int, const Kernel&) override {
    throw std::runtime_error("the clock is off");
  }
  uint64_t address = 4096;
};
PELLUCID_DEVICE("faulty", Faulty);
"""


def test_errors_name_the_method_and_the_device(tmp_path):
    source = tmp_path / "faulty.cpp"
    source.write_text(FAULTY)
    path = built("faulty_device", [str(source)])
    text = program(
        path,
        """
        def error_of(call):
            try:
                call()
            except Exception as error:
                print(type(error).__name__, error)

        error_of(lambda: torch.tensor([1.0]).to("faulty"))
        kept = torch.empty(2, device="faulty")
        error_of(lambda: torch.empty(2, device="faulty"))
        with torch.devices.trace() as log:
            error_of(lambda: kept.neg_())
        from pellucid.devices import launching
        print(log, getattr(launching._refusal, "reason", None))
        """,
    )
    lines = text.splitlines()
    assert lines[0] == (
        "RuntimeError faulty's from_host() for faulty:0: the bus is on fire"
    )
    assert "returned 0x1000, inside of a block that is not released yet" in lines[1]
    assert lines[2] == ("RuntimeError faulty's launch() for faulty:0: the clock is off")
    assert lines[-1] == "[] None"


def test_a_name_that_is_taken_is_refused_where_the_library_is_loaded(tmp_path):
    source = tmp_path / "cuda.cpp"
    source.write_text(FAULTY.replace('"faulty"', '"cuda"'))
    path = built("device_named_cuda", [str(source)])
    text = run_program(
        f"""
import pellucid as torch
try:
    torch.ops.load_library({str(path)!r})
except RuntimeError as error:
    print(error)
"""
    )
    assert text == "a backend cannot be named 'cuda': torch.cuda exists\n"
