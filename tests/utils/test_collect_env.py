"""torch.utils.collect_env: what a report says of the system."""

import platform
import subprocess
import sys

import pellucid as torch
from pellucid.utils import collect_env


def test_facts_and_their_text():
    env = collect_env.get_env_info()
    assert torch.__version__ in env.torch_version
    assert env.python_version.startswith(platform.python_version())
    assert env.is_cuda_available == "False"
    text = collect_env.get_pretty_env_info()
    for part in (env.os, env.python_platform, env.cpu_info):
        assert part in text
    assert all(f"[pip3] {line}" in text for line in env.pip_packages.splitlines())


def test_commands_tell_their_status_and_output():
    code = "import sys; print('out'); sys.exit(3)"
    assert collect_env.run([sys.executable, "-c", code]) == (3, "out", "")
    assert collect_env._version_of("no-such-program-anywhere") is None


def test_it_runs_as_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "pellucid.utils.collect_env"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Versions of relevant libraries" in done.stdout
