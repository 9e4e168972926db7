"""The texts of kernels that ship for devices."""

import hashlib
from pathlib import Path

import pytest

import pellucid
from pellucid_compiler.codegen.kernel import Kernel, Map
from pellucid_compiler.devices.definitions import Definitions, encode_definitions
from pellucid_compiler.devices.parse import long_dtype, parse_kernel
from pellucid_compiler.ir.dtypes import DTYPES
from pellucid_compiler.ir.expr import load
from pellucid_compiler.ir.show import short_dtype

SHIPPED = Path(pellucid.__file__).parent / "definitions.bin"


def test_every_shipped_text_is_the_text_of_what_it_parses_to():
    definitions = Definitions(SHIPPED.read_bytes())
    assert len(definitions) > 5000
    for kernel_id, text in definitions._texts.items():
        kernel = parse_kernel(text)
        assert kernel.text == text
        assert (
            kernel.kernel_id == kernel_id == hashlib.sha256(text.encode()).digest()[:16]
        )


def test_an_encoded_kernel_is_found_by_its_id():
    kernel = Kernel(Map((load(0, (), "float32") + 1.5,)), ("float32",), ("float32",))
    definitions = Definitions(encode_definitions([kernel]))
    assert definitions.get(kernel.kernel_id) == kernel
    assert definitions.get(b"0" * 16) is None


@pytest.mark.parametrize("dtype", list(DTYPES))
def test_short_dtypes_are_read_back(dtype):
    assert long_dtype(short_dtype(dtype)) == dtype


@pytest.mark.parametrize("text", ["", "map", "tree (f32) () -> (f32)\nreturn %0\n"])
def test_other_texts_are_refused(text):
    with pytest.raises((ValueError, IndexError)):
        parse_kernel(text or "\n")
