"""Reports in one line what this machine lacks; lists pyproject.toml's requirements.

`make` calls it before anything else, so it runs on any Python 3. Without arguments
it checks the system; `--requirements [extra]` prints requirement strings;
`--link-source` makes the environment import the package from `src/`.
"""

import os
import pathlib
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CXX20_PROBE = (
    "#include <span>\n#include <bit>\nint main() { return std::has_single_bit(3u); }\n"
)
ZLIB_PROBE = "#include <zlib.h>\nint main() { return zlibVersion() == nullptr; }\n"


def fail(message):
    sys.exit(f"pellucid: {message}")


def check_system():
    if sys.version_info < (3, 11):  # noqa: UP036 - older Pythons get here too
        version = platform.python_version()
        fail(f"Python 3.11 or newer is needed, this is {version}; set PYTHON=...")
    if sys.platform != "linux" or platform.machine() != "x86_64":
        fail(
            f"Linux on x86-64 is needed, this is {sys.platform} on {platform.machine()}"
        )
    with open("/proc/cpuinfo") as file:
        flags = next((line.split() for line in file if line.startswith("flags")), [])
    missing = {"avx2", "fma", "bmi2", "f16c", "movbe"} - set(flags)
    if missing:
        names = ", ".join(sorted(missing))
        fail(f"a CPU of level x86-64-v3 is needed, this one lacks {names}")
    check_compiler()
    if not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")):
        fail("Python's headers are needed; install python3-dev")


def check_compiler():
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None:
        fail(f"a C++20 compiler is needed; '{compiler}' is missing: install g++")
    if not compiles(compiler, CXX20_PROBE):
        fail(f"'{compiler}' does not compile C++20; g++ 12 or newer does")
    if not compiles(compiler, ZLIB_PROBE, "-lz"):
        fail("zlib and its headers are needed; install zlib1g-dev (or zlib-devel)")


def compiles(compiler, text, *libraries):
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "probe.cpp"), pathlib.Path(folder, "p")
        source.write_text(text)
        command = [compiler, "-std=c++20", str(source), "-o", str(program), *libraries]
        return subprocess.run(command, capture_output=True).returncode == 0


def requirements(extra=None):
    import tomllib

    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = (
        config["project"]["optional-dependencies"][extra]
        if extra
        else config["project"]["dependencies"]
    )
    return " ".join(f"'{name}'" if " " in name else name for name in wanted)


def link_source():
    folder = pathlib.Path(sysconfig.get_paths()["purelib"])
    (folder / "pellucid-source.pth").write_text(f"{ROOT / 'src'}\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--requirements"]:
        print(requirements(*sys.argv[2:]))
    elif sys.argv[1:2] == ["--link-source"]:
        link_source()
    else:
        check_system()
