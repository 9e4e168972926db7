"""``python -m torch.distributed.launch``: the launcher under its former name.

Programs get ``--local-rank=N`` as an argument, or read LOCAL_RANK with ``--use-env``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pellucid.distributed.run import get_args_parser, run

__all__ = ["launch", "main", "parse_args"]


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """The parsed command line."""
    parser = get_args_parser()
    parser.add_argument(
        "--use-env",
        action="store_true",
        help="programs read LOCAL_RANK, and get no --local-rank=N",
    )
    return parser.parse_args(args)


def launch(args: argparse.Namespace) -> None:
    """Launches according to the parsed command line."""
    if args.no_python and not args.use_env:
        raise ValueError(
            "When using the '--no-python' flag, you must also set the '--use-env' flag."
        )
    run(args)


def main(args: Sequence[str] | None = None) -> None:
    """The command."""
    launch(parse_args(args))


if __name__ == "__main__":
    main()
