"""The launcher: ``python -m pellucid.distributed.run --nproc-per-node=2 train.py``.

With several machines, run the same command on each, with ``--nnodes=2`` (or ``1:4``)
and ``--rdzv-endpoint=first-host:29500``. An option that is not given is taken from a
variable: ``--max-restarts`` from PET_MAX_RESTARTS.
"""

from __future__ import annotations

import argparse
import os
import sys
import uuid
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any

from pellucid.distributed.elastic.agent.server.api import DEFAULT_SIGNALS
from pellucid.distributed.elastic.multiprocessing.api import (
    DefaultLogsSpecs,
    LogsSpecs,
    Std,
)
from pellucid.distributed.elastic.multiprocessing.errors import ChildFailedError
from pellucid.distributed.elastic.utils.api import macros
from pellucid.distributed.launcher.api import LaunchConfig, elastic_launch
from pellucid.numa.binding import AffinityMode, NumaOptions

__all__ = ["config_from_args", "get_args_parser", "main", "parse_args", "run"]

_STREAMS = "1 stdout, 2 stderr, 3 both, or 0:1,1:2"


class _Parser(argparse.ArgumentParser):
    """Accepts --nproc_per_node for --nproc-per-node, and variables for options."""

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:
        long = [name[2:] for name in names if name.startswith("--")]
        others = [f"--{name.replace('-', '_')}" for name in long]
        both = dict.fromkeys([*names, *others])
        action = super().add_argument(*both, **options)
        value = os.environ.get(f"PET_{action.dest.upper()}")
        if long and value is not None:
            is_flag = options.get("action") == "store_true"
            self.set_defaults(**{action.dest: value == "1" if is_flag else value})
        return action


def get_args_parser() -> argparse.ArgumentParser:
    """The launcher's command line, compatible with torchrun's."""
    parser = _Parser(prog="pellucid.distributed.run", description=__doc__)
    add = parser.add_argument
    add("--nnodes", default="1:1", help="machines: N or MIN:MAX")
    add("--nproc-per-node", default="1", help="processes of each: a number, auto, cpu")
    add("--rdzv-backend", default="static", help="static (by --node-rank) or c10d")
    add("--rdzv-endpoint", default="", help="host:port of the first machine")
    add("--rdzv-id", default="none", help="the run's name, equal on all machines")
    add("--rdzv-conf", default="", help="such as join_timeout=60,last_call_timeout=5")
    add("--standalone", action="store_true", help="one machine, at a free port")
    add("--max-restarts", type=int, default=0, help="of all ranks, when one fails")
    add("--monitor-interval", type=float, default=0.1, help="seconds")
    add("--start-method", default="spawn", choices=["spawn", "fork", "forkserver"],
        help="of processes that run a function")  # fmt: skip
    add("--event-log-handler", default="null", help="where events go: null or console")
    add("--role", default="default", help="a name for logs")
    add("--module", "-m", action="store_true", help="the program is a module")
    add("--no-python", action="store_true", help="the program is a command")
    add("--run-path", action="store_true", help="the program is run by runpy")
    add("--log-dir", default=None, help="where output goes with -r or -t")
    add("--redirects", "-r", default="0", help=_STREAMS)
    add("--tee", "-t", default="0", help="as --redirects, and to the console")
    add("--local-ranks-filter", default="", help="whose output is shown, such as 0,1")
    for stream in ("stdout", "stderr"):
        add(f"--duplicate-{stream}-filters", default=[], nargs="+",
            help=f"lines of {stream} with these texts also go to one file")  # fmt: skip
    add("--node-rank", type=int, default=0, help="this machine's number, with static")
    add("--master-addr", default="127.0.0.1", help="the first machine")
    add("--master-port", type=int, default=None, help="a free port of it")
    add("--local-addr", default=None, help="this machine's address")
    add("--logs-specs", default=None,
        help="a class by its entry point in torchrun.logs_specs")  # fmt: skip
    add("--signals-to-handle", default=DEFAULT_SIGNALS, help="signals that end all")
    add("--shutdown-timeout", type=int, default=None, help="seconds before SIGKILL")
    add("--numa-binding", default=None, choices=[mode.value for mode in AffinityMode],
        help="the CPUs of each rank, by its GPU")  # fmt: skip
    add("--virtual-local-rank", action="store_true", help="each rank sees one GPU, 0")
    add("training_script", help="the script, module or command")
    add("training_script_args", nargs=argparse.REMAINDER, help="of the program")
    return parser


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """The parsed command line."""
    return get_args_parser().parse_args(args)


def parse_min_max_nnodes(nnodes: str) -> tuple[int, int]:
    """The numbers of "2" or "1:4"."""
    numbers = nnodes.split(":")
    if len(numbers) > 2:
        raise RuntimeError(f'nnodes={nnodes} is not in "MIN:MAX" format')
    return int(numbers[0]), int(numbers[-1])


def determine_local_world_size(nproc_per_node: str) -> int:
    """The number of processes: a number, "cpu", "gpu", or "auto"."""
    if nproc_per_node.isdigit():
        return int(nproc_per_node)
    from pellucid import cuda

    if nproc_per_node == "gpu" and not cuda.is_available():
        raise ValueError("Cuda is not available.")
    if nproc_per_node == "gpu" or (nproc_per_node == "auto" and cuda.is_available()):
        return int(cuda.device_count())
    if nproc_per_node in ("auto", "cpu"):
        return len(os.sched_getaffinity(0))
    raise ValueError(f"Unsupported nproc_per_node value: {nproc_per_node}")


def get_rdzv_endpoint(args: argparse.Namespace) -> str:
    """Where the machines meet."""
    if args.rdzv_backend == "static" and not args.rdzv_endpoint:
        port = 29500 if args.master_port is None else args.master_port
        return f"{args.master_addr}:{port}"
    return str(args.rdzv_endpoint)


def _logs_specs(args: argparse.Namespace) -> LogsSpecs:
    kind: Any = DefaultLogsSpecs
    if args.logs_specs is not None:
        points = metadata.entry_points(group="torchrun.logs_specs")
        named = {point.name: point for point in points}
        if args.logs_specs not in named:
            raise ValueError(
                f"Could not find entrypoint under 'torchrun.logs_specs' key: "
                f"{args.logs_specs}; there are {sorted(named)}"
            )
        kind = named[args.logs_specs].load()
    chosen = {int(rank) for rank in args.local_ranks_filter.split(",") if rank}
    return kind(  # type: ignore[no-any-return]
        log_dir=args.log_dir,
        redirects=Std.from_str(args.redirects),
        tee=Std.from_str(args.tee),
        local_ranks_filter=chosen or None,
    )


def _numa_options(mode: str | None) -> NumaOptions | None:
    return None if mode is None else NumaOptions(AffinityMode(mode))


def config_from_args(
    args: argparse.Namespace,
) -> tuple[LaunchConfig, Callable[..., Any] | str, list[str]]:
    """What to launch: the options, the function or command, and its arguments."""
    least, most = parse_min_max_nnodes(args.nnodes)
    pairs = [part.partition("=") for part in args.rdzv_conf.split(",") if part]
    configs: dict[str, Any] = {key.strip(): value.strip() for key, _, value in pairs}
    if args.rdzv_backend == "static":
        configs["rank"] = args.node_rank
    config = LaunchConfig(
        min_nodes=least,
        max_nodes=most,
        nproc_per_node=determine_local_world_size(args.nproc_per_node),
        logs_specs=_logs_specs(args),
        run_id=args.rdzv_id,
        role=args.role,
        rdzv_endpoint=get_rdzv_endpoint(args),
        rdzv_backend=args.rdzv_backend,
        rdzv_configs=configs,
        max_restarts=args.max_restarts,
        monitor_interval=args.monitor_interval,
        start_method=args.start_method,
        local_addr=args.local_addr,
        event_log_handler=args.event_log_handler,
        signals_to_handle=args.signals_to_handle,
        duplicate_stdout_filters=args.duplicate_stdout_filters,
        duplicate_stderr_filters=args.duplicate_stderr_filters,
        virtual_local_rank=args.virtual_local_rank,
        shutdown_timeout=args.shutdown_timeout,
        numa_options=_numa_options(args.numa_binding),
    )
    return config, *_program(args)


def _program(args: argparse.Namespace) -> tuple[Callable[..., Any] | str, list[str]]:
    words = [args.training_script, *args.training_script_args]
    if args.run_path:
        return run_script_path, words
    if args.no_python:
        if args.module:
            raise ValueError("Don't use both the '--no-python' and the '--module' flag")
        return args.training_script, args.training_script_args
    module = ["-m"] if args.module else []
    command = os.environ.get("PYTHON_EXEC", sys.executable)
    return command, ["-u", *module, *words]


def run_script_path(training_script: str, *training_script_args: str) -> None:
    """Runs a script in this process, as a program."""
    import runpy

    sys.argv = [training_script, *training_script_args]
    runpy.run_path(training_script, run_name="__main__")


def get_use_env(args: argparse.Namespace) -> bool:
    """Whether ranks read LOCAL_RANK instead of an argument: True but for ``launch``."""
    return bool(getattr(args, "use_env", True))


def run(args: argparse.Namespace) -> None:
    """Launches according to the parsed command line."""
    if args.standalone:
        args.rdzv_backend, args.rdzv_endpoint = "c10d", "localhost:0"
        args.rdzv_id = str(uuid.uuid4())
    config, command, words = config_from_args(args)
    if not get_use_env(args):
        after_script = len(words) - len(args.training_script_args)
        words = [*words[:after_script], f"--local-rank={macros.local_rank}",
                 *args.training_script_args]  # fmt: skip
    elastic_launch(config, command)(*words)


def main(args: Sequence[str] | None = None) -> None:
    """The command: its exit code is 1 when a rank has failed."""
    try:
        run(parse_args(args))
    except ChildFailedError as error:
        print(error.format_msg(), file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
