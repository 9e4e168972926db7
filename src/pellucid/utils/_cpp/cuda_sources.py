"""CUDA C++ as text: what a C++ compiler and NVRTC cannot read of it, rewritten.

``for_emulator`` rewrites launches (``kernel<<<grid, block>>>(...)``) and arrays of
dynamic shared memory, the two words of CUDA that no header can define.
``device_part`` leaves out the host's functions, which NVRTC refuses.
``defining_file`` finds a kernel's definition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_SKIPPED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![\w])'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)
_DYNAMIC = re.compile(
    r"\bextern\s+__shared__\s+(?:(?:__align__|alignas)\s*\([^)]*\)\s*)?"
    r"([\w:<>,\s*]+?)\s*\b(\w+)\s*\[\s*\]\s*;"
)
_NAME = re.compile(r"(?:::)?[A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)*$")
_MARKS = re.compile(r"\b(?:__global__|__device__|__constant__|constexpr)\b")
_HOST = re.compile(
    r"\b(?:at|torch|c10|pybind11|py)\s*::|\bPYBIND11_|\bTORCH_"
    r"|\busing\s+namespace\s+(?:at|torch|c10|pybind11)\b"
)
_TYPE = re.compile(r"^\s*(?:template\s*<.*?>\s*)?(?:struct|class|union|enum)\b", re.S)
_NESTED = re.compile(r'^\s*(?:(?:inline\s+)?namespace\b[\w:\s]*|extern\s*"C"\s*)$')
# Types that PyTorch's headers and CUDA's have.
_HALVES = {"Half": "__half", "BFloat16": "__nv_bfloat16"}
_THEIRS = re.compile(r"(\busing\s+)?(?:::)?\b(?:c10|at|torch)\s*::\s*(Half|BFloat16)\b")
_HEADERS_OF_HALVES = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
_QUOTED = re.compile(r'^\s*#\s*include\s*"([^"\n]+)"', re.M)
_INCLUDE = re.compile(r'#\s*include\s*(?:"|<(?:cuda_(?:fp|bf)|cuda/|mma|math_const))')


def _masked(text: str) -> str:
    """The text with spaces for comments and literals."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found.group())

    return _SKIPPED.sub(blank, text)


def for_emulator(text: str) -> str:
    """The source for a C++ compiler, with as many lines."""
    text = _with_launches(text)
    masked = _masked(text)
    parts, end = [], 0
    for found in _DYNAMIC.finditer(masked):
        kind, name = found.groups()
        value = f"reinterpret_cast<{kind}*>(::pellucid::cuda::dynamic_shared())"
        before = masked[: found.start()]
        is_in_function = before.count("{") > before.count("}")
        made = (
            f"{kind}* const {name} = {value};"
            if is_in_function
            else f"\n#define {name} ({value})\n#line {before.count(chr(10)) + 1}\n"
        )
        lines = "\n" * found.group().count("\n")
        parts += [text[end : found.start()], made, lines]
        end = found.end()
    return "".join([*parts, text[end:]])


def _with_launches(text: str) -> str:
    """``k<T><<<grid, block>>>`` as ``Launch<(&k<T>)>(grid, block)``."""
    while (at := (masked := _masked(text)).find("<<<")) >= 0:
        end = _end_of_grid(masked, at + 3)
        start = _start_of_name(masked[:at].rstrip())
        if end < 0 or start is None:
            line = masked[:at].count("\n") + 1
            raise ValueError(f"line {line}: a launch is kernel<<<grid, block>>>(...)")
        name, grid = text[start:at].strip(), text[at + 3 : end]
        made = f"::pellucid::cuda::Launch<(&{name})>({grid})"
        text = text[:start] + made + text[end + 3 :]
    return text


def _end_of_grid(masked: str, start: int) -> int:
    """Where the ``>>>`` of a launch is, or -1: the statement's last outside of
    parentheses, since template arguments of the grid may end in others."""
    depth, found = 0, -1
    for sign in re.finditer(r">>>|<<<|[(){};]", masked[start:]):
        what = sign.group()
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(what, 0)
        if depth < 0 or what in ("<<<", ";"):
            break
        if what == ">>>" and not depth:
            found = start + sign.start()
    return found


def _start_of_name(before: str) -> int | None:
    """Where a kernel's name starts, template arguments included."""
    end = len(before)
    if before.endswith(">"):
        depth = 0
        for end in range(len(before) - 1, -1, -1):
            depth += {">": 1, "<": -1}.get(before[end], 0)
            if not depth:
                break
    found = _NAME.search(before[:end].rstrip())
    return found.start() if found else None


def device_part(text: str, name: str = "kernel.cu") -> str:
    """What a GPU compiles of a source: kernels, functions for the device, types,
    constants, macros; headers of the device's alone. Lines have the numbers that they
    have in the file ``name``."""
    made = _with_halves(text)
    kept, last = [], 0
    for first, behind in _of_device(made, _masked(made), 0, len(made)):
        kept += ["\n" * made.count("\n", last, first), made[first:behind]]
        last = behind
    part = "".join(kept)
    is_narrow = made != text and any(own in part for own in _HALVES.values())
    headers = _HEADERS_OF_HALVES if is_narrow else ""
    return f'{headers}#line 1 "{name}"\n{part}\n'


def _with_halves(text: str) -> str:
    """PyTorch's halves by CUDA's names; a declaration by ``using`` is a typedef."""
    parts, end = [], 0
    for found in _THEIRS.finditer(_masked(text)):
        own = _HALVES[found[2]]
        made = f"typedef {own} {found[2]}" if found[1] else own
        parts += [text[end : found.start()], made]
        end = found.end()
    return "".join([*parts, text[end:]])


def _of_device(
    text: str, masked: str, start: int, end: int
) -> Iterator[tuple[int, int]]:
    """Where the parts for a device start and end."""
    for first, body, last in _declarations(masked, start, end):
        head, whole = masked[first : max(body, first)], text[first:last]
        if whole.lstrip().startswith("#"):
            is_include = re.match(r"\s*#\s*include\b", whole) is not None
            if not is_include or _INCLUDE.match(whole.lstrip()):
                yield first, last
        elif body >= 0 and _NESTED.match(text[first:body]):
            yield first, body + 1
            yield from _of_device(text, masked, body + 1, last - 1)
            yield last - 1, last
        elif _is_for_device(head if body >= 0 else masked[first:last], body >= 0):
            yield first, last


def defining_file(
    source: Path, kernel: str, folders: Sequence[Path], seen: set[Path] | None = None
) -> Path | None:
    """The file that defines a kernel: a source, or one that it includes by ``"..."``
    from its own folder or one of ``folders``."""
    seen = set() if seen is None else seen
    if source in seen or not source.is_file():
        return None
    seen.add(source)
    text = source.read_text()
    masked = _masked(text)
    signature = rf"\b__global__\b[^;{{}}]*\b{kernel}\s*\([^;{{}}]*\{{"
    if re.search(signature, masked):
        return source
    for found in _QUOTED.finditer(text):
        if "#" not in masked[found.start() : found.end()]:
            continue  # in a comment
        places = ((folder / found[1]).resolve() for folder in (source.parent, *folders))
        header = next((place for place in places if place.is_file()), source)
        made = defining_file(header, kernel, folders, seen)
        if made is not None:
            return made
    return None


def _is_for_device(head: str, has_body: bool) -> bool:
    if _MARKS.search(head):
        return True
    is_function = has_body and "(" in head and not _TYPE.match(head)
    return not is_function and not _HOST.search(head)


def _declarations(masked: str, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The declarations of a scope: start, the ``{`` of a body or -1, end."""
    at = start
    while at < end:
        line = masked[at:end]
        if not line.strip():
            return
        at += len(line) - len(line.lstrip())
        if masked[at] == "#":
            last = _end_of_directive(masked, at, end)
            yield at, -1, last
            at = last
            continue
        body, last = _end_of_declaration(masked, at, end)
        yield at, body, last
        at = last


def _end_of_directive(masked: str, at: int, end: int) -> int:
    while (line := masked.find("\n", at, end)) >= 0 and masked[line - 1] == "\\":
        at = line + 1
    return end if line < 0 else line


def _end_of_declaration(masked: str, at: int, end: int) -> tuple[int, int]:
    """Where the body of a declaration starts, or -1, and where it ends."""
    first, depth, body = at, 0, -1
    while at < end:
        sign = masked[at]
        if sign == "{":
            body = at if body < 0 and not depth else body
            depth += 1
        elif sign == "}":
            depth -= 1
            is_type = _TYPE.match(masked[first:body]) or "=" in masked[first:body]
            if not depth and not is_type:
                return body, at + 1
        elif sign == ";" and not depth:
            return body, at + 1
        at += 1
    return body, end
