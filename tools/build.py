#!/usr/bin/env python3
"""Builds the package in place: the runtime, the frozen op table and the kernel packs.

Called by setup.py, the Makefile and developers. Each step runs only if its inputs have
changed. Compiler output goes to ``build/``; results are placed beside the Python
sources: ``_C.<abi>.so``, ``distributed/_distributed.<abi>.so``, ``frozen.bin``,
``kernels-<level>.pack`` and ``_C/_op_types``. A ``ccache`` on the path is used.
``tools/write_offers.py`` runs before the compiler, ``freeze.py`` and ``make_stubs.py``
after it.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from part_sizes import report
from write_offers import write_offers

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "pellucid"
RUNTIME = ROOT / "runtime"
JOBS = min(2, os.cpu_count() or 1)

# No contraction of multiply-add: results must not depend on the optimiser.
COMMON = (
    "-std=c++20 -fPIC -fvisibility=hidden -fvisibility-inlines-hidden "
    "-ffp-contract=off -fno-strict-aliasing -fno-semantic-interposition -pthread"
)
# Missing initialisers: CPython's structures, and ours, name only the members they set.
# Function casts: CPython's method tables store three signatures as one type.
WARNINGS = "-Wall -Wextra -Wno-missing-field-initializers -Wno-cast-function-type"
# g++'s plain -Wshadow also refuses `member(member)` in constructors and, wrongly,
# scoped enumerators with the name of a class; clang++'s refuses the rest.
SHADOW = {"g++": "-Wshadow=local", "clang++": "-Wshadow"}
# These check whether the processor can run the others: runtime/module/loader.cpp.
BASELINE = {RUNTIME / "core" / "cpu.cpp", RUNTIME / "module" / "loader.cpp"}
RELEASE = "-O2 -ftree-vectorize -DNDEBUG"
DEBUG = "-O1 -g -fno-omit-frame-pointer"
# Reports need lines, not variables: -g1 halves the time of compiling. Reading a null
# pointer is reported by AddressSanitizer, so nothing checks for it beforehand.
LINES = "-O1 -g1 -fno-omit-frame-pointer"
SANITIZE = LINES + (
    " -fsanitize=address,undefined -fno-sanitize=null -fno-sanitize-recover=undefined"
)
THREADS = LINES + " -fsanitize=thread"


class BuildError(Exception):
    """A build step failed; the message is for the person who ran it."""


@dataclass(frozen=True)
class Mode:
    """One way of compiling the runtime; each keeps its own object files."""

    name: str
    flags: tuple[str, ...]
    link_flags: tuple[str, ...] = ()


MODES = {
    "release": Mode("release", tuple(RELEASE.split())),
    "debug": Mode("debug", tuple(DEBUG.split())),
    "sanitize": Mode(
        "sanitize", tuple(SANITIZE.split()), ("-fsanitize=address,undefined",)
    ),
    "threads": Mode("threads", tuple(THREADS.split()), ("-fsanitize=thread",)),
}


def compiler() -> list[str]:
    """The C++ compiler's command line prefix: ``$CXX``, else g++ or clang++."""
    named = os.environ.get("CXX")
    found = shlex.split(named) if named else []
    if not found:
        found = [name for name in ("g++", "clang++") if shutil.which(name)][:1]
    if not found or not shutil.which(found[0]):
        raise BuildError(
            "no C++ compiler found: install g++ 12 or newer (or set CXX); "
            "on Debian and Ubuntu: apt-get install g++"
        )
    return (["ccache"] if shutil.which("ccache") else []) + found


def warnings(driver: list[str], *, are_errors: bool) -> list[str]:
    """The options for warnings.

    They are errors for developers and in CI (``make check``, ``make clang``). A user's
    build continues: a newer compiler may have new warnings.
    """
    kind = "clang++" if "clang" in Path(driver[-1]).name else "g++"
    return [*WARNINGS.split(), SHADOW[kind], *(["-Werror"] if are_errors else [])]


SYSTEM_LIBRARIES = ("-pthread", "-ldl", "-lz")
# Extension modules other than the runtime's, which load without it, and their sources.
LIBRARIES = {"distributed/_distributed": RUNTIME / "distributed"}


def extension_path(mode: Mode, name: str = "_C") -> Path:
    """The path of a built extension module."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX") or ".so"
    if mode.name in ("sanitize", "threads"):
        return ROOT / "build" / mode.name / "pellucid" / f"{name}{suffix}"
    return PACKAGE / f"{name}{suffix}"


def module_of(target: Path) -> str:
    """The extension module that an object file is linked into."""
    owners = [
        name
        for name, folder in LIBRARIES.items()
        if folder.relative_to(ROOT).as_posix() in target.as_posix()
    ]
    return owners[0] if owners else "_C"


def read_dependencies(dependency_file: Path) -> list[Path]:
    """The files named by a ``-MMD`` rule, without its target."""
    text = dependency_file.read_text().replace("\\\n", " ")
    return [ROOT / name for name in text.split(":", 1)[1].split()]


def is_stale(target: Path, dependencies: list[Path]) -> bool:
    """Whether `target` is absent or older than one of its inputs."""
    if not target.exists():
        return True
    made = target.stat().st_mtime_ns
    return any(not d.exists() or d.stat().st_mtime_ns > made for d in dependencies)


def run(command: list[str]) -> str:
    """Runs `command` at the project's root; its output is the error's text.

    Returns what it wrote to the standard error stream: a compiler's warnings.
    """
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        shown = shlex.join(command)
        if len(shown) > 400:
            shown = shown[:200] + " ... " + shown[-100:]
        raise BuildError(f"{shown}\n{done.stderr or done.stdout}")
    if done.stderr:
        print(done.stderr, file=sys.stderr)
    return done.stderr


def warned(target: Path) -> Path:
    """A file that exists if compiling the object file `target` gave warnings."""
    return target.with_suffix(".warned")


def compile_object(target: Path, command: list[str]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if run(command):
        warned(target).touch()
    else:
        warned(target).unlink(missing_ok=True)


def runtime_sources() -> list[Path]:
    return sorted(RUNTIME.rglob("*.cpp"))


def compile_commands(
    mode: Mode, sources: Iterable[Path], *, werror: bool = False
) -> dict[Path, list[str]]:
    """Object file to command line, for sources of the runtime or of its tests."""
    driver = compiler()
    python = sysconfig.get_paths()["include"]
    include = ["-Iruntime", "-Isrc/pellucid/include", f"-isystem{python}"]
    common = [*driver, *COMMON.split(), *mode.flags, *include]
    # A change of flags must not reuse objects, so the folder's name depends on the
    # flags.
    digest = hashlib.sha256("\0".join(common).encode()).hexdigest()[:12]
    common += warnings(driver, are_errors=werror)
    folder = Path("build") / f"{mode.name}-{digest}"
    baseline = [*common, "-march=x86-64"]
    level3 = [*common, "-march=x86-64-v3"]
    level3 += precompiled_headers(folder, level3)
    commands = {}
    for source in sources:
        relative = source.relative_to(ROOT)
        target = folder / relative.with_suffix(".o")
        prefix = baseline if source in BASELINE else level3
        commands[ROOT / target] = [
            *prefix, "-MMD", "-c", str(relative), "-o", str(target)
        ]  # fmt: skip
    return commands


def precompiled_headers(folder: Path, prefix: list[str]) -> list[str]:
    """The options that use the precompiled standard headers, which are compiled if
    needed.

    Compiling these headers takes a quarter of a build. With ccache there are none,
    because it does not cache files that use precompiled headers.
    """
    if prefix[0] == "ccache":
        return []
    target = folder / "standard.h.gch"
    if is_stale(ROOT / target, [RUNTIME / "standard.h"]):
        (ROOT / folder).mkdir(parents=True, exist_ok=True)
        source = str(Path("runtime") / "standard.h")
        run([*prefix, "-x", "c++-header", source, "-o", str(target)])
    return ["-Winvalid-pch", "-include", str(target.with_suffix(""))]


def compile_sources(
    mode: Mode, sources: Iterable[Path], *, werror: bool = False
) -> dict[Path, bool]:
    """Compiles what changed: all objects, and whether each is new.

    Where warnings are errors, what was compiled with warnings is compiled again.
    """
    commands = compile_commands(mode, sources, werror=werror)
    stale = {}
    for target, command in commands.items():
        dependency_file = target.with_suffix(".d")
        if (
            not dependency_file.exists()
            or is_stale(target, read_dependencies(dependency_file))
            or (werror and warned(target).exists())
        ):
            stale[target] = command
    with ThreadPoolExecutor(JOBS) as pool:
        failures = []
        for future in [pool.submit(compile_object, *item) for item in stale.items()]:
            try:
                future.result()
            except BuildError as error:
                failures.append(str(error))
    if failures:
        raise BuildError("\n".join(failures))
    return {target: target in stale for target in commands}


def build_runtime(mode: Mode, *, werror: bool = False) -> Path:
    """Compiles what changed and links the extension modules; the runtime's path."""
    compiled = compile_sources(mode, runtime_sources(), werror=werror)
    for name in ("_C", *LIBRARIES):
        objects = [target for target in compiled if module_of(target) == name]
        extension = extension_path(mode, name)
        if any(compiled[o] for o in objects) or is_stale(extension, objects):
            link(mode, objects, extension)
    return extension_path(mode)


def link(mode: Mode, objects: list[Path], extension: Path) -> None:
    """Links `objects`; the result replaces the old module in one step."""
    extension.parent.mkdir(parents=True, exist_ok=True)
    fresh = extension.with_suffix(".new")
    names = [str(o.relative_to(ROOT)) for o in objects]
    # ccache only compiles; the linker's command starts at the compiler itself.
    driver = [word for word in compiler() if word != "ccache"]
    options = ["-shared", *SYSTEM_LIBRARIES, "-Wl,-O1", "-Wl,--gc-sections"]
    run([*driver, *mode.link_flags, *names, *options, "-o", str(fresh)])
    fresh.replace(extension)
    if mode.name == "release":
        sizes = {f"{o.parent.name}/{o.stem}": o.stat().st_size for o in objects}
        print(report(extension, sizes))


def run_generators(*, all_levels: bool) -> None:
    """Freezes the op table, fills the kernel packs, writes the stubs; incrementally."""
    freeze = ["freeze.py", "--all-levels"] if all_levels else ["freeze.py"]
    environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent)}
    for name, *options in (freeze, ["write_definitions.py"], ["make_stubs.py"]):
        script = ROOT / "tools" / name
        command = [sys.executable, str(script), *options]
        if subprocess.run(command, cwd=ROOT, env=environment).returncode:
            raise BuildError(f"tools/{name} failed (its output is above)")


def write_generated_sources() -> None:
    """Writes the generated headers shared by the compiler and the runtime, their page,
    and the names that the package binds lazily.
    """
    sys.path.insert(0, str(PACKAGE.parent))
    from pellucid_compiler.abi.headers import headers
    from pellucid_compiler.abi.pages import PAGE, page
    from pellucid_compiler.catalogue import intrinsics as _declared  # noqa: F401
    from pellucid_compiler.declare.intrinsics import kernel_table
    from pellucid_compiler.ir.opcodes import OPCODES
    from pellucid_compiler.ir.register_code import register_code

    generated = {**headers(), **register_code(), **kernel_table()}
    texts = {RUNTIME / name: text for name, text in generated.items()}
    for path, text in {**texts, ROOT / PAGE: page(OPCODES.values())}.items():
        if not path.parent.exists():  # a source distribution without documents
            continue
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(f"wrote {path.relative_to(ROOT)}")
    write_offers()


def main() -> int:
    """Parses the command line and builds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--debug", action="store_true", help="-O1 and debug symbols")
    choice.add_argument(
        "--sanitize", action="store_true", help="address and undefined sanitizers"
    )
    parser.add_argument(
        "--only-runtime", action="store_true", help="skip the frozen table and packs"
    )
    parser.add_argument(
        "--only-compile",
        action="store_true",
        help="compile the runtime and link nothing, to try another compiler ($CXX)",
    )
    parser.add_argument("--werror", action="store_true", help="warnings are errors")
    parser.add_argument(
        "--all-levels",
        action="store_true",
        help="kernel packs for every ISA level, as a wheel needs, not for this machine",
    )
    arguments = parser.parse_args()
    name = "sanitize" if arguments.sanitize else "release"
    mode = MODES["debug" if arguments.debug else name]
    start = time.monotonic()
    try:
        write_generated_sources()
        if arguments.only_compile:
            compiled = compile_sources(mode, runtime_sources(), werror=arguments.werror)
            print(f"compiled {len(compiled)} sources")
            return 0
        extension = build_runtime(mode, werror=arguments.werror)
        if not arguments.only_runtime:
            run_generators(all_levels=arguments.all_levels)
    except BuildError as error:
        print(f"build failed: {error}", file=sys.stderr)
        return 1
    seconds = time.monotonic() - start
    print(f"built {extension.relative_to(ROOT)} in {seconds:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
