"""Damaged and missing data files: one clear error or a slower path, no crash."""

import os
import shutil
import subprocess
import sys
import textwrap
import zlib
from dataclasses import fields
from pathlib import Path

import pytest

import pellucid
from pellucid_compiler.abi.encode import decode, encode
from pellucid_compiler.abi.limits import FROZEN_MAGIC
from pellucid_compiler.abi.records import FrozenFile, OpRow
from pellucid_compiler.ir.opcodes import OPCODE_DIGEST

PACKAGE = Path(pellucid.__file__).parent
PACK = f"kernels-{pellucid._C._isa_level()}.pack"

SCRIPT = """
    from tests.exec.other_files import start_with

    torch = start_with({folder!r})
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * x).sum().backward()
    print(x.grad.tolist(), torch.tensor([2, 3]).to(torch.float64).exp().sum().item())
"""
ANSWER = "[2.0, 4.0, 6.0] 27.474593"


# No pack has the kernels of this.
RARE = """
    from tests.exec.other_files import start_with

    torch = start_with({folder!r})
    x = torch.arange(64.0).reshape(2, 2, 2, 2, 2, 2)
    index = torch.zeros(2, 2, 2, 2, 2, 2, dtype=torch.int64)
    print(x.gather(3, index).sum().item())
"""
RARE_ANSWER = "1888"


def run_with(folder, script=SCRIPT, **environment):
    script = textwrap.dedent(script).format(folder=str(folder))
    return subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=300,
    )


def assert_refused(done, *words):
    """An exception with a message of at most ten lines; no signal."""
    assert done.returncode == 1, (done.returncode, done.stderr[-2000:])
    message = done.stderr.split("Error: ")[-1]
    assert all(word in message for word in words), done.stderr[-2000:]
    assert len(message.splitlines()) <= 10


@pytest.fixture
def folder(tmp_path):
    """A copy of the package's data files."""
    for name in ("frozen.bin", PACK):
        shutil.copy(PACKAGE / name, tmp_path / name)
    return tmp_path


def test_whole_files_work(folder):
    assert run_with(folder).stdout.startswith(ANSWER)


def test_a_missing_pack_says_what_to_do(folder):
    (folder / PACK).unlink()
    assert_refused(run_with(folder), "rebuild the kernel pack")


@pytest.mark.parametrize("keep", [0, 10, 1000, 0.5], ids=str)
def test_a_cut_pack_is_refused(folder, keep):
    path = folder / PACK
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if keep == 0.5 else keep])
    assert_refused(run_with(folder), "pack")


def test_a_kernel_with_other_bytes_is_refused(folder):
    path = folder / PACK
    content = bytearray(path.read_bytes())
    middle = len(content) // 4
    content[middle:] = bytes(b ^ 0x55 for b in content[middle:])
    path.write_bytes(content)
    assert_refused(run_with(folder), "pack")


@pytest.mark.parametrize("keep", [0, 10, 1000, 0.5, 0.999], ids=str)
def test_a_cut_table_is_refused(folder, keep):
    path = folder / "frozen.bin"
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if 0 < keep < 1 else keep])
    assert_refused(run_with(folder))


def test_a_missing_table_is_refused(folder):
    (folder / "frozen.bin").unlink()
    assert_refused(run_with(folder), "frozen.bin")


@pytest.mark.parametrize("seed", range(4))
def test_a_table_with_other_bytes_never_crashes(folder, seed):
    import random

    path = folder / "frozen.bin"
    content = bytearray(path.read_bytes())
    numbers = random.Random(seed)
    for _ in range(2000):
        content[numbers.randrange(len(content))] = numbers.randrange(256)
    path.write_bytes(content)
    done = run_with(folder)
    assert done.returncode in (0, 1), (done.returncode, done.stderr[-2000:])


TWICE = """
    from tests.exec.other_files import start_with

    torch = start_with({folder!r})
    x = torch.tensor([[1.0, 2.0]], requires_grad=True)
    calls = [
        lambda: x.detach().acosh(), lambda: x.detach().cumprod(1), lambda: x.erf().sum()
    ]
    for call in (*calls, lambda: calls[1]().double(), *calls):
        try:
            call().backward() if call is calls[2] else call()
        except ValueError as error:
            print("refused:", error)
"""
DAMAGED = {"acosh": "keys", "cumprod": "keys", "erf": "derivatives"}


def with_damaged_ends(content):
    """The table with a last entry of some ops' lists that is none."""
    start = content[: len(FROZEN_MAGIC) + len(OPCODE_DIGEST)]
    file = decode(content[len(start) :])
    columns = [field.name for field in fields(OpRow)]
    for row in file[[field.name for field in fields(FrozenFile)].index("ops")]:
        name = row[columns.index("schema")].split("(")[0]
        place = columns.index(DAMAGED.get(name, "keys"))
        if name in DAMAGED and row[place][0]:
            entries = encode([*decode(zlib.decompress(row[place][1])), 0])
            row[place] = [len(entries), zlib.compress(entries)]
    return start + encode(file)


def test_a_damaged_entry_is_refused_every_time(folder):
    path = folder / "frozen.bin"
    path.write_bytes(with_damaged_ends(path.read_bytes()))
    done = run_with(folder, TWICE)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("refused:") == 7, done.stdout


def test_damaged_cache_entries_are_rebuilt(folder):
    cache = folder / "cache"
    rare = run_with(folder, RARE, PELLUCID_CACHE=str(cache))
    assert rare.stdout.startswith(RARE_ANSWER), rare.stderr[-2000:]
    entries = [p for p in cache.rglob("*") if p.is_file()]
    assert entries
    for number, path in enumerate(entries):
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] if number % 2 else b"\0" * 100)
    done = run_with(folder, RARE, PELLUCID_CACHE=str(cache))
    assert done.stdout.startswith(RARE_ANSWER), done.stderr[-2000:]
    assert all(path.stat().st_size > 100 for path in entries)
