"""``python -m torch.distributed.launch``: the launcher under its former name.

Processes read LOCAL_RANK, as with ``--use-env``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pellucid.distributed import run as launcher

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> None:
    """The command."""
    given = sys.argv[1:] if args is None else args
    words = [a for a in given if a not in ("--use-env", "--use_env")]
    launcher.main(words)


if __name__ == "__main__":
    main()
