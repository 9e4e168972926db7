"""``ErrorHandler``: writes errors of a process for its launcher."""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import os
import time
import traceback
from typing import Any

__all__ = ["ErrorHandler"]


class ErrorHandler:
    """Writes an error with its traceback to the file in TORCHELASTIC_ERROR_FILE, which
    the launcher reads. Subclasses may override ``initialize`` and
    ``record_exception``.
    """

    def _get_error_file_path(self) -> str | None:
        return os.environ.get("TORCHELASTIC_ERROR_FILE")

    def initialize(self) -> None:
        """Called before the recorded function: fatal signals show the stacks."""
        with contextlib.suppress(io.UnsupportedOperation):  # stderr is not a file
            faulthandler.enable(all_threads=True)

    def record_exception(self, e: BaseException) -> None:
        """Writes an error."""
        stack = "".join(traceback.format_exception(e))
        notes = {"py_callstack": stack, "timestamp": str(time.time())}
        message = {"message": f"{type(e).__name__}: {e}", "extraInfo": notes}
        self._write({"message": message})

    def override_error_code_in_rootcause_data(
        self,
        rootcause_error_file: str,
        rootcause_error: dict[str, Any],
        error_code: int = 0,
    ) -> None:
        """Sets the exit code in the contents of an error file."""
        if isinstance(rootcause_error.get("message"), dict):
            rootcause_error["message"]["errorCode"] = error_code

    def dump_error_file(self, rootcause_error_file: str, error_code: int = 0) -> None:
        """Writes the error of a child as this process's."""
        with open(rootcause_error_file) as file:
            data = json.load(file)
        if error_code:
            self.override_error_code_in_rootcause_data(
                rootcause_error_file, data, error_code
            )
        self._write(data)

    def _write(self, data: dict[str, Any]) -> None:
        """Writes a file that exists only once it is complete."""
        path = self._get_error_file_path()
        if path:
            temporary = f"{path}.{os.getpid()}.tmp"
            with open(temporary, "w") as file:
                json.dump(data, file)
            os.replace(temporary, path)
