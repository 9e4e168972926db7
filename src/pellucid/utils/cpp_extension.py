"""``torch.utils.cpp_extension``: C++ extensions, compiled just in time or by
setuptools.

PyTorch's headers are Pellucid's own: its names in C++ over a table of C
functions (``pellucid/extension.h``), with every op as a function and a method, from the
op table. Nothing is linked. docs/cpp-extensions.md describes it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from typing import Any, NoReturn

import pellucid
from pellucid.utils._cpp import build, cuda, loading, precompiled

__all__ = [
    "BuildExtension",
    "CUDAExtension",
    "CppExtension",
    "SyclExtension",
    "check_compiler_is_gcc",
    "check_compiler_ok_for_platform",
    "get_cxx_compiler",
    "get_default_build_root",
    "include_paths",
    "is_ninja_available",
    "library_paths",
    "load",
    "load_inline",
    "verify_ninja_availability",
]

BuildExtension: Any  # made by __getattr__
CUDA_HOME: str | None = None
CUDNN_HOME: str | None = None
ROCM_HOME: str | None = None
SYCL_HOME: str | None = None


def include_paths(device_type: str = "cpu") -> list[str]:
    """The folders for the compiler's ``-I``."""
    return build.include_folders()


def library_paths(device_type: str = "cpu") -> list[str]:
    """No folders: extensions do not link Pellucid."""
    return []


def get_cxx_compiler() -> str:
    """The C++ compiler."""
    return build.compiler()


def check_compiler_is_gcc(compiler: str) -> bool:
    """Whether a compiler calls itself GCC."""
    return build.is_gcc(compiler)


def check_compiler_ok_for_platform(compiler: str) -> bool:
    """Whether the command exists: extensions call Pellucid through C functions, so any
    compiler of C++17 will do.
    """
    return shutil.which(compiler) is not None


def get_default_build_root() -> str:
    """The folder of all builds: ``TORCH_EXTENSIONS_DIR`` or the user's cache."""
    return str(build.root_folder())


def is_ninja_available() -> bool:
    """False: the compiler is called without ninja."""
    return False


def verify_ninja_availability() -> NoReturn:
    """RuntimeError: ninja is not used."""
    raise RuntimeError(
        "Ninja is not used to load C++ extensions here: the compiler is called by "
        "itself. Leave use_ninja out"
    )


def load(
    name: str,
    sources: str | Sequence[str],
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_sycl_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: str | Sequence[str] | None = None,
    build_directory: str | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    is_standalone: bool = False,
    keep_intermediates: bool = True,
) -> Any:
    """Compiles ``sources`` if necessary, and loads the library.

    Sources in CUDA C++ (``.cu``) run on GPUs by NVRTC, and on the emulator: launches
    are for tensors of ``cuda`` and ``emu``. docs/gpu-kernels.md says what a GPU
    compiles of a source.

    The result is its module; with ``is_python_module=False`` the ops that it registers
    are in ``torch.ops``, and the result is the library's path. RuntimeError with the
    compiler's first errors if compilation fails.

    Example::

        module = load("lltm", ["lltm.cpp"], extra_cflags=["-O2"])
    """
    _refuse_sycl(with_sycl)
    if is_standalone:
        raise RuntimeError("is_standalone: standalone programs cannot be built here")
    given = [sources] if isinstance(sources, str) else list(sources)
    includes = extra_include_paths or []
    includes = [includes] if isinstance(includes, str) else list(includes)
    folder = build.build_folder(name, build_directory, verbose)
    options = [*(extra_cuda_cflags or []), *(f"-I{path}" for path in includes)]
    options.append(f"-DTORCH_EXTENSION_NAME={name}")
    plain, objects = cuda.objects_of(given, folder, options)
    path = build.built(
        name,
        plain,
        folder,
        [*(extra_cflags or []), *(["-DWITH_CUDA"] if objects else [])],
        [*objects, *(extra_ldflags or [])],
        includes,
        verbose,
    )
    if objects:
        kernels = [source for source in given if source not in plain]
        pellucid.cuda._take_launches(str(path), kernels, options)
    if is_python_module:
        return loading.import_module(name, str(path))
    loading.load_library(str(path))
    return str(path)


def load_inline(
    name: str,
    cpp_sources: str | Sequence[str],
    cuda_sources: str | Sequence[str] | None = None,
    sycl_sources: str | Sequence[str] | None = None,
    functions: str | Sequence[str] | dict[str, str] | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_sycl_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    keep_intermediates: bool = True,
    use_pch: bool = False,
    no_implicit_headers: bool = False,
) -> Any:
    """``load`` for sources as strings; ``functions`` are the exported functions, by
    name, or by name and documentation. ``cuda_sources`` are a file of their own: a
    function that it defines is declared in ``cpp_sources``. ``use_pch`` keeps the
    parsed headers for the next build with the same flags.

    Example::

        module = load_inline("m", "at::Tensor f(at::Tensor x) { return x.sin(); }",
                             functions="f")
    """
    _refuse_sycl(with_sycl or bool(sycl_sources))
    parts = [cpp_sources] if isinstance(cpp_sources, str) else list(cpp_sources)
    if not no_implicit_headers:
        parts.insert(0, "#include <torch/extension.h>")
    if functions is not None:
        parts.append(_bindings(functions))
    folder = build.build_folder(name, build_directory, verbose)
    source = folder / "main.cpp"
    source.write_text("\n".join(parts) + "\n")
    sources = [str(source)]
    if cuda_sources:
        kernels = folder / "cuda.cu"
        given = [cuda_sources] if isinstance(cuda_sources, str) else list(cuda_sources)
        kernels.write_text("\n".join(given) + "\n")
        sources.append(str(kernels))
    if use_pch and not no_implicit_headers:
        cflags, includes = list(extra_cflags or []), list(extra_include_paths or [])
        extra_cflags = [*cflags, *precompiled.flags(cflags, includes)]
    return load(
        name,
        sources,
        extra_cflags,
        extra_cuda_cflags,
        extra_ldflags=extra_ldflags,
        extra_include_paths=extra_include_paths,
        build_directory=str(folder),
        verbose=verbose,
        is_python_module=is_python_module,
    )


def _bindings(functions: str | Sequence[str] | dict[str, str]) -> str:
    """The module of these functions."""
    if isinstance(functions, str):
        functions = [functions]
    named = functions if isinstance(functions, dict) else {f: f for f in functions}
    lines = [f'm.def("{name}", &{name}, "{doc}");' for name, doc in named.items()]
    return "\n".join(("PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {", *lines, "}"))


def _refuse_sycl(with_sycl: bool | None) -> None:
    if with_sycl:
        raise OSError(
            "SYCL_HOME environment variable is not set: Pellucid compiles C++ and CUDA "
            "C++. Leave SYCL sources out"
        )


def CppExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> Any:
    """A ``setuptools.Extension`` with Pellucid's headers; ``BuildExtension`` compiles
    it.

    Example::

        setup(ext_modules=[CppExtension("lltm_cpp", ["lltm.cpp"])],
              cmdclass={"build_ext": BuildExtension})
    """
    from importlib import import_module

    kwargs["include_dirs"] = [*kwargs.get("include_dirs", []), *include_paths()]
    kwargs["language"] = "c++"
    return import_module("setuptools").Extension(name, sources, *args, **kwargs)


def CUDAExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> Any:
    """OSError: setuptools builds C++ alone; CUDA C++ is compiled when it is loaded."""
    raise OSError(
        "CUDA_HOME environment variable is not set: extensions that setuptools builds "
        "are C++ alone. Compile CUDA C++ when the program runs, by "
        "torch.utils.cpp_extension.load"
    )


def SyclExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> Any:
    """OSError: there is no SYCL to compile for."""
    _refuse_sycl(True)


def _build_extension() -> type:
    from importlib import import_module

    build_ext: Any = import_module("setuptools.command.build_ext").build_ext

    class BuildExtension(build_ext):  # type: ignore[misc]
        """``build_ext`` for :func:`CppExtension`: flags by language, C++17."""

        @classmethod
        def with_options(cls, **options: Any) -> type:
            """The class with keywords for its constructor."""

            class Configured(cls):  # type: ignore[misc, valid-type]
                def __init__(self, *args: Any, **kwargs: Any) -> None:
                    super().__init__(*args, **kwargs | options)

            return Configured

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("use_ninja", None)
            kwargs.pop("parallel", None)
            self._has_suffix = not kwargs.pop("no_python_abi_suffix", False)
            super().__init__(*args, **kwargs)

        def get_ext_filename(self, ext_name: str) -> str:
            """The file's name, without the ABI tag if requested."""
            found: str = super().get_ext_filename(ext_name)
            if self._has_suffix:
                return found
            folder, file = os.path.split(found)
            return os.path.join(folder, f"{file.split('.')[0]}.so")

        def build_extension(self, ext: Any) -> None:
            """Compiles one extension."""
            given: Any = ext.extra_compile_args
            flags = list(given.get("cxx", []) if isinstance(given, dict) else given)
            name = ext.name.rpartition(".")[2]
            flags.append(f"-DTORCH_EXTENSION_NAME={name}")
            if not any(flag.startswith("-std=") for flag in flags):
                flags.append(build.STANDARD)
            # The headers use more of Python than the limited interface has.
            limited = [f for f in flags if f.startswith("-DPy_LIMITED_API")]
            ext.extra_compile_args = [f for f in flags if f not in limited]
            ext.py_limited_api = False
            super().build_extension(ext)

    return BuildExtension


def __getattr__(name: str) -> Any:
    """Makes ``BuildExtension`` at first use: setuptools is slow to import."""
    if name != "BuildExtension":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = made = _build_extension()
    return made
