"""On a processor older than x86-64-v3 the import fails with a sentence."""

import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from pellucid import _C

EMULATOR = shutil.which("qemu-x86_64")


def section_sizes(path):
    """Name to size, of the sections of a 64-bit ELF file."""
    data = Path(path).read_bytes()
    (table,) = struct.unpack_from("<Q", data, 0x28)
    entry_size, count, names_index = struct.unpack_from("<HHH", data, 0x3A)
    headers = [
        struct.unpack_from("<IIQQQQ", data, table + entry_size * k)
        for k in range(count)
    ]
    names = headers[names_index][4]
    return {
        data[names + name : data.index(b"\0", names + name)].decode(): size
        for name, _, _, _, _, size in headers
    }


def test_nothing_of_the_runtime_runs_before_the_processor_is_checked():
    # The one entry is the C runtime's own, which is compiled for the baseline.
    sizes = section_sizes(_C.__file__)
    assert sizes[".init_array"] == 8
    assert ".ctors" not in sizes
    assert ".preinit_array" not in sizes


@pytest.mark.skipif(EMULATOR is None, reason="qemu-x86_64 (qemu-user) is not installed")
def test_an_older_processor_gets_a_sentence():
    import_runtime = (
        "import importlib.util as u; "
        f"spec = u.spec_from_file_location('pellucid._C', {_C.__file__!r}); "
        "u.module_from_spec(spec)"
    )
    done = subprocess.run(
        [EMULATOR, "-cpu", "Nehalem", sys.executable, "-I", "-S", "-c", import_runtime],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stderr
    last_line = done.stderr.splitlines()[-1]
    assert last_line.startswith("ImportError: this processor lacks AVX, AVX2, FMA")
    assert "needs an x86-64-v3 processor" in last_line
