"""The launcher: environment of ranks, restarts, reports."""

import sys

from pellucid.distributed import run
from pellucid.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
from tests.distributed.ranks import run_command

PROGRAM = """
import atexit, os, signal, sys, time
if "raise" in sys.argv and os.environ["RANK"] == "1":
    atexit.register(time.sleep, 1.0)  # after the group's end, which rank 0 sees
import pellucid as torch
import pellucid.distributed as dist
from pellucid.distributed.elastic.multiprocessing.errors import record

@record
def main():
    dist.init_process_group("gloo")
    total = torch.ones(1)
    dist.all_reduce(total)
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    if dist.get_rank() == 1 and attempt == "0":
        if "kill" in sys.argv:
            os.kill(os.getpid(), signal.SIGKILL)
        if "raise" in sys.argv:
            raise ValueError("a bad batch")
    dist.barrier()
    place = os.environ["LOCAL_RANK"], os.environ["LOCAL_WORLD_SIZE"]
    sys.stdout.write(f"{dist.get_rank()} of {int(total)} {place} attempt {attempt}\\n")
    sys.stdout.flush()
    dist.destroy_process_group()

main()
"""


def launch(folder, *options, program=()):
    script = folder / "train.py"
    script.write_text(PROGRAM)
    command = [sys.executable, "-m", "pellucid.distributed.run", "--standalone"]
    return run_command([*command, *options, str(script), *program])


def test_ranks_know_their_places(tmp_path):
    done = launch(tmp_path, "--nproc-per-node=2")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        f"{rank} of 2 ('{rank}', '2') attempt 0" for rank in range(2)
    ]


def test_a_killed_rank_restarts_all_and_is_reported(tmp_path):
    options = ("--nproc_per_node=2", "--max-restarts=1", "--tee=3")
    logs = tmp_path / "logs"
    done = launch(tmp_path, *options, f"--log-dir={logs}", program=["kill"])
    assert done.returncode == 0, done.stderr
    assert "killed by SIGKILL; restart 1 of 1" in done.stderr
    assert "[default1]:1 of 2 ('1', '2') attempt 1" in done.stdout
    (log,) = logs.glob("*/attempt_1/1/stdout.log")
    assert log.read_text().startswith("1 of 2")


def test_other_ranks_are_told_how_a_rank_was_killed(tmp_path):
    done = launch(tmp_path, "--nproc-per-node=2", program=["kill"])
    assert done.returncode == 1
    assert "has ended, killed by SIGKILL; it had finished #" in done.stderr


def test_the_first_failure_is_reported_with_its_traceback(tmp_path):
    done = launch(tmp_path, "--nproc-per-node=2", program=["raise"])
    assert done.returncode == 1
    assert "train.py FAILED: rank 1" in done.stderr
    assert "ValueError: a bad batch" in done.stderr


def test_the_command_line_is_torchruns():
    words = "--nnodes=1:4 --nproc_per_node=3 --rdzv-backend=c10d --rdzv-id=j"
    more = "--rdzv-endpoint=h:1 --rdzv-conf=last_call_timeout=5 -r 0:1,1:3 a.py --lr 1"
    args = run.parse_args(f"{words} {more}".split())
    config, command, arguments = run.config_from_args(args)
    assert (config.min_nodes, config.max_nodes, config.nproc_per_node) == (1, 4, 3)
    specs = DefaultLogsSpecs(redirects={0: Std.OUT, 1: Std.ALL})
    assert config.logs_specs == specs
    assert config.rdzv_configs == {"last_call_timeout": "5", "timeout": 900}
    assert (command, arguments) == (sys.executable, ["-u", "a.py", "--lr", "1"])


def test_options_come_from_variables_too(monkeypatch):
    monkeypatch.setenv("PET_MAX_RESTARTS", "2")
    monkeypatch.setenv("PET_STANDALONE", "1")
    args = run.parse_args(["--max-restarts=3", "a.py"])
    assert args.max_restarts == 3 and args.standalone
    assert run.parse_args(["a.py"]).max_restarts == 2


def test_the_former_launcher_passes_the_local_rank(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import sys; sys.stdout.write(' '.join(sys.argv[1:]) + '\\n')")
    command = [sys.executable, "-m", "pellucid.distributed.launch", "--standalone"]
    done = run_command([*command, "--nproc-per-node=2", str(script), "--lr", "1"])
    lines = sorted(done.stdout.splitlines())
    assert lines == [f"--local-rank={rank} --lr 1" for rank in range(2)], done.stderr


def test_a_script_runs_as_a_function(tmp_path):
    done = launch(tmp_path, "--nproc-per-node=2", "--run-path")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2
