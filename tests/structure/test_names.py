"""Whoever opens the package sees PyTorch's modules and at most a dozen others."""

import pytest

from tests.structure.imports import SOURCES

MOST = 12
# The modules and folders of PyTorch 2.13 that exist here.
OF_PYTORCH = {
    *("_C", "__config__", "__future__", "_compile", "_custom_ops", "_decomp"),
    *("_dynamo", "_functorch", "_higher_order_ops", "_library"),
    *(
        "_guards",
        "_inductor",
        "_jit_internal",
        "_logging",
        "_ops",
        "_subclasses",
        "_tensor",
        "_tensor_str",
    ),
    "_utils",
    *("accelerator", "amp"),
    *("ao", "autograd", "backends", "compiler", "cpu", "cuda", "distributed"),
    *("distributions", "export", "fft", "func", "functional", "futures", "fx", "hub"),
    *("include", "jit", "library", "linalg", "masked", "mps", "mtia"),
    *(
        "monitor",
        "multiprocessing",
        "nested",
        "nn",
        "numa",
        "onnx",
        "ops",
        "optim",
        "overrides",
        "package",
    ),
    *("profiler", "quantization", "quasirandom", "random", "return_types"),
    *("serialization", "signal", "sparse", "special", "storage", "testing"),
    *("torch_version", "types", "utils", "version", "xpu"),
}
# Its own, with what each is for.
OWN = {
    "_functions": "functions that are written in Python",
    "_package": "how the package is put together",
    "alias": "import torch finds Pellucid in an environment",
    "devices": "backends for devices",
    "diagnose": "where time went",
    "explain": "what a call does",
    "lang": "the declaration language",
    "memory": "where memory went",
    "run": "a program whose import torch finds Pellucid",
    "safetensors": "a file format",
    "tour": "the map of layers",
    "viz": "pictures of graphs",
}
DATA = {".bin", ".md", ".pack", ".typed"}


def names():
    """What the package's folder offers for import."""
    entries = [e for e in (SOURCES / "pellucid").iterdir() if e.suffix not in DATA]
    return {e.name.partition(".")[0] for e in entries} - {"__init__", "__pycache__"}


def test_the_package_has_a_dozen_names_of_its_own_at_most():
    assert len(OWN) <= MOST
    assert names() - OF_PYTORCH == OWN.keys()


def test_the_modules_of_pytorch_exist():
    assert names() >= OF_PYTORCH


@pytest.mark.parametrize("name", sorted(OWN))
def test_a_name_of_its_own_is_documented(name):
    readme = (SOURCES / "pellucid" / "README.md").read_text()
    assert f"`{name}`" in readme or f"`{name}.py`" in readme
