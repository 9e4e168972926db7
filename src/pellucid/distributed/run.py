"""The launcher: ``python -m pellucid.distributed.run --nproc-per-node=2 train.py``.

With several machines, run the same command on each, with ``--nnodes=2`` (or ``1:4``)
and ``--rdzv-endpoint=first-host:29500``.
"""

from __future__ import annotations

import argparse
import os
import sys
import uuid
from collections.abc import Sequence
from typing import Any

from pellucid.distributed._launch.config import LaunchConfig
from pellucid.distributed._launch.meeting import free_port
from pellucid.distributed.elastic.multiprocessing.errors import ChildFailedError
from pellucid.distributed.launcher.api import launch_agent

__all__ = ["config_from_args", "get_args_parser", "main", "parse_args", "run"]


class _Names(argparse.ArgumentParser):
    """Accepts --nproc_per_node for --nproc-per-node."""

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:
        long = [name[2:] for name in names if name.startswith("--")]
        others = [f"--{name.replace('-', '_')}" for name in long]
        both = dict.fromkeys([*names, *others])
        return super().add_argument(*both, **options)


def get_args_parser() -> argparse.ArgumentParser:
    """The launcher's command line, compatible with torchrun's."""
    parser = _Names(prog="pellucid.distributed.run", description=__doc__)
    add = parser.add_argument
    environ = os.environ.get
    add("--nnodes", default=environ("PET_NNODES", "1:1"), help="machines: N or MIN:MAX")
    add("--nproc-per-node", default=environ("PET_NPROC_PER_NODE", "1"),
        help="processes of each: a number, auto or cpu")  # fmt: skip
    add("--rdzv-backend", default="static", help="static (by --node-rank) or c10d")
    add("--rdzv-endpoint", default="", help="host:port of the first machine")
    add("--rdzv-id", default="none", help="the run's name, equal on all machines")
    add("--rdzv-conf", default="", help="such as join_timeout=60,last_call_timeout=5")
    add("--standalone", action="store_true", help="one machine, at a free port")
    add("--max-restarts", type=int, default=0, help="of all ranks, when one fails")
    add("--monitor-interval", type=float, default=0.1, help="seconds")
    add("--start-method", default="spawn", help="ignored: ranks are commands")
    add("--role", default="default", help="a name for logs")
    add("--module", "-m", action="store_true", help="the program is a module")
    add("--no-python", action="store_true", help="the program is a command")
    add("--run-path", action="store_true", help="the program is run by runpy")
    add("--log-dir", default=None, help="where output goes with -r or -t")
    add("--redirects", "-r", default="0", help="1 stdout, 2 stderr, 3 both, or 0:1,1:2")
    add("--tee", "-t", default="0", help="as --redirects, and to the console")
    add("--local-addr", default=None, help="this machine's address")
    add("--node-rank", type=int, default=int(environ("PET_NODE_RANK", "0")),
        help="this machine's number, with --rdzv-backend=static")  # fmt: skip
    add("--master-addr", default="127.0.0.1", help="the first machine")
    add("--master-port", type=int, default=29500, help="a free port of it")
    add("program", help="the script, module or command")
    add("arguments", nargs=argparse.REMAINDER, help="of the program")
    return parser


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """The parsed command line."""
    return get_args_parser().parse_args(args)


def _processes(text: str) -> int:
    if text.isdigit():
        return int(text)
    if text in ("auto", "cpu"):
        return len(os.sched_getaffinity(0))
    if text == "gpu":
        raise ValueError("Cuda is not available.")
    raise ValueError(f"Unsupported nproc_per_node value: {text}")


def _streams(text: str, processes: int) -> dict[int, int]:
    if text.isdigit():
        return dict.fromkeys(range(processes), int(text))
    pairs = [part.partition(":") for part in text.split(",")]
    return {int(rank): int(value) for rank, _, value in pairs}


def config_from_args(args: argparse.Namespace) -> tuple[LaunchConfig, list[str]]:
    """What to launch, and the command."""
    least, _, most = args.nnodes.partition(":")
    processes = _processes(args.nproc_per_node)
    endpoint, node_rank, run_id = args.rdzv_endpoint, -1, args.rdzv_id
    if args.standalone:
        endpoint, run_id = f"localhost:{free_port()}", str(uuid.uuid4())
    elif args.rdzv_backend == "static":
        endpoint = endpoint or f"{args.master_addr}:{args.master_port}"
        node_rank = args.node_rank
    pairs = [part.partition("=") for part in args.rdzv_conf.split(",") if part]
    config = LaunchConfig(
        min_nodes=int(least),
        max_nodes=int(most or least),
        nproc_per_node=processes,
        run_id=run_id,
        role=args.role,
        rdzv_endpoint=endpoint,
        rdzv_backend=args.rdzv_backend,
        rdzv_configs={key: value for key, _, value in pairs},
        max_restarts=args.max_restarts,
        monitor_interval=args.monitor_interval,
        log_dir=args.log_dir,
        redirects=_streams(args.redirects, processes),
        tee=_streams(args.tee, processes),
        local_addr=args.local_addr,
        node_rank=node_rank,
    )
    return config, _command(args)


def _command(args: argparse.Namespace) -> list[str]:
    if args.no_python:
        return [args.program, *args.arguments]
    module = ["-m"] if args.module else []
    return [sys.executable, "-u", *module, args.program, *args.arguments]


def run(args: argparse.Namespace) -> None:
    """Launches according to the parsed command line."""
    config, (entrypoint, *rest) = config_from_args(args)
    launch_agent(config, entrypoint, rest)


def main(args: Sequence[str] | None = None) -> None:
    """The command: its exit code is 1 when a rank has failed."""
    try:
        run(parse_args(args))
    except ChildFailedError as error:
        print(error.format_msg(), file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
