"""Helpers of pipes: checks of functions, files of folders."""

from __future__ import annotations

import fnmatch
import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["get_file_binaries_from_pathnames", "get_file_pathnames_from_root"]


def _check_unpickable_fn(fn: Callable[..., Any]) -> None:
    """Warns about a lambda, which cannot be pickled for spawned workers."""
    if not callable(fn):
        raise TypeError(f"A callable function is expected, but got {type(fn)}")
    if getattr(fn, "__name__", "") == "<lambda>":
        warnings.warn(
            "Lambda function is not supported for pickle, please use regular python "
            "function or functools.partial instead.",
            stacklevel=3,
        )
    elif inspect.isfunction(fn) and fn.__closure__ is not None:
        warnings.warn(
            "Local function is not supported by pickle, please use regular python "
            "function or functools.partial instead.",
            stacklevel=3,
        )


def match_masks(name: str, masks: str | list[str]) -> bool:
    """Whether a name matches one of the patterns, or there are no patterns."""
    if not masks:
        return True
    given = [masks] if isinstance(masks, str) else masks
    return any(fnmatch.fnmatch(name, mask) for mask in given)


def get_file_pathnames_from_root(
    root: str,
    masks: str | list[str],
    recursive: bool = False,
    abspath: bool = False,
    non_deterministic: bool = False,
) -> Iterator[str]:
    """The files of a folder whose names match, sorted by default."""
    if os.path.isfile(root):
        path = os.path.abspath(root) if abspath else root
        if match_masks(os.path.basename(path), masks):
            yield path
        return
    for path, folders, files in os.walk(root):
        path = os.path.abspath(path) if abspath else path
        if not non_deterministic:
            files.sort()
            folders.sort()
        yield from (os.path.join(path, f) for f in files if match_masks(f, masks))
        if not recursive:
            return


def get_file_binaries_from_pathnames(
    pathnames: Iterable[str], mode: str, encoding: str | None = None
) -> Iterator[tuple[str, Any]]:
    """Pairs of a path and its open file; ``mode`` "b", "t" and "" mean reading."""
    mode = "r" + mode if mode in ("b", "t", "") else mode
    if isinstance(pathnames, str):
        pathnames = [pathnames]
    for path in pathnames:
        if not isinstance(path, str):
            raise TypeError(f"Expected string type for pathname, but got {type(path)}")
        # The reader of the pair closes the file.
        yield path, open(path, mode, encoding=encoding)  # noqa: SIM115
