"""Answers about groups of recorded ops, and their machine code, on disk.

A group's kernel is made by the compiler, whose import alone takes longer than many
programs. So what was answered for a group is stored in the user's folder of caches,
and a later process takes it from there. A file belongs to one state of the compiler's
sources and of the runtime; a damaged one counts as absent. The runtime compares a
stored kernel with its ops, as it does a new one. Called by ``tracing.py`` and
``_compile/background.py``.
"""

from __future__ import annotations

import functools
import hashlib
import os
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from pellucid import _C
from pellucid_compiler.abi.encode import Encodable, decode, encode
from pellucid_compiler.abi.status import definitions_file

Question = tuple[str, bytes]
Code = tuple[bytes, int]
"""Machine code and the offset of its entry."""


class Notes(NamedTuple):
    """What was answered on behalf of one group."""

    answers: dict[Question, tuple[bytes, tuple[bytes, ...]]]  # with their kernels' ids
    codes: dict[tuple[bytes, str], Code]  # by kernel and ISA level


class Stored(NamedTuple):
    """An entry: the answer to the group's description, or why there is none."""

    answer: bytes | None
    refusal: str
    notes: Notes


_known: Final = Notes({}, {})
_thread = threading.local()


@contextmanager
def noting() -> Iterator[Notes]:
    """Notes of what this thread's answers are."""
    _thread.notes = notes = Notes({}, {})
    try:
        yield notes
    finally:
        _thread.notes = None


def note_answer(question: Question, found: bytes, kernels: tuple[bytes, ...]) -> None:
    """An answer was traced."""
    notes = getattr(_thread, "notes", None)
    if notes is not None:
        notes.answers[question] = (found, kernels)


def note_code(kernel_id: bytes, level: str, code: Code) -> None:
    """A kernel's machine code was requested."""
    notes = getattr(_thread, "notes", None)
    if notes is not None:
        notes.codes[kernel_id, level] = code


def known_answer(question: Question) -> bytes | None:
    """An answer that came with a stored group."""
    found = _known.answers.get(question)
    return found[0] if found else None


def known_code(kernel_id: bytes, level: str) -> Code | None:
    """Machine code that came with a stored group."""
    return _known.codes.get((kernel_id, level))


def question_of(kernel_id: bytes) -> Question | None:
    """What to ask again for a kernel whose machine code was not stored."""
    for question, (_, kernels) in _known.answers.items():
        if kernel_id in kernels:
            return question
    return None


def load(description: bytes) -> Stored | None:
    """The stored group of this description, whose notes are known from now on."""
    path = _path(description)
    try:
        content = path.read_bytes() if path else b""
        if len(content) < 4 or zlib.crc32(content[4:]) != _number(content[:4]):
            return None
        fields: Any = decode(content[4:])
    except OSError:
        return None
    answer, refusal, answers, codes = fields
    notes = Notes(
        {(what, request): (a, tuple(ids)) for what, request, a, ids in answers},
        {(kernel, level): (code, entry) for kernel, level, code, entry in codes},
    )
    _known.answers.update(notes.answers)
    _known.codes.update(notes.codes)
    return Stored(answer, refusal, notes)


def save(description: bytes, stored: Stored) -> None:
    """Store a group; without a folder that can be written nothing happens."""
    path = _path(description)
    if path is None:
        return
    answers: list[Encodable] = [
        [*question, found, ids]
        for question, (found, ids) in stored.notes.answers.items()
    ]
    codes: list[Encodable] = [[*k, *code] for k, code in stored.notes.codes.items()]
    content = encode([stored.answer, stored.refusal, answers, codes])
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    try:
        draft.write_bytes(zlib.crc32(content).to_bytes(4, "little") + content)
        os.replace(draft, path)
    except OSError:
        draft.unlink(missing_ok=True)


def forget(description: bytes) -> None:
    """Removes what is stored of a group."""
    if path := _path(description):
        path.unlink(missing_ok=True)


def _number(four: bytes) -> int:
    return int.from_bytes(four, "little")


def _path(description: bytes) -> Path | None:
    folder = _folder()
    if folder is None:
        return None
    return folder / hashlib.sha256(_made_by() + description).hexdigest()[:40]


@functools.cache
def _folder() -> Path | None:
    if definitions_file():  # checked mode compiles other code
        return None
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(os.environ.get("PELLUCID_CACHE") or Path(base) / "pellucid")
    try:
        (folder / "groups").mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder / "groups"


@functools.cache
def _made_by() -> bytes:
    """Says which compiler and runtime these are, by their files' sizes and times."""
    import pellucid_compiler

    digest = hashlib.sha256()
    files = sorted(Path(pellucid_compiler.__path__[0]).rglob("*.py"))
    for file in [*files, Path(str(_C.__file__))]:
        state = file.stat()
        digest.update(f"{file} {state.st_size} {state.st_mtime_ns}\n".encode())
    return digest.digest()
