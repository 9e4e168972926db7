"""Two machines as two network namespaces with a link and no shared memory: addresses
are those of the link, although the host name is the same.
"""

import contextlib
import os
import subprocess
import sys

import pytest

from tests.distributed.ranks import has_gloo, run_all

PROGRAM = """
import datetime, sys
import pellucid as torch
from pellucid import distributed as dist
from pellucid.distributed import rpc
rank = int(sys.argv[1])
limit = datetime.timedelta(seconds=60)
dist.init_process_group("gloo", init_method="tcp://10.213.7.1:29611", rank=rank,
                        world_size=2, timeout=limit)
x = torch.full((100_000,), rank + 1.0)
dist.all_reduce(x)
assert x.unique().tolist() == [3.0], x
options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://10.213.7.1:29612")
rpc.init_rpc(f"worker{rank}", rank=rank, world_size=2, rpc_backend_options=options)
found = rpc.rpc_sync(1 - rank, torch.add, args=(x, 1))
assert found.unique().tolist() == [4.0], found
rpc.shutdown()
dist.destroy_process_group()
"""


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=20)


@contextlib.contextmanager
def two_networks():
    """The names of two namespaces, joined by a link."""
    names = [f"pellucid{os.getpid()}{side}" for side in "ab"]
    try:
        for name in names:
            ip("netns", "add", name)
        links = [f"p{os.getpid()}{side}" for side in "ab"]
        ip("link", "add", links[0], "type", "veth", "peer", "name", links[1])
        for number, (name, link) in enumerate(zip(names, links, strict=True), 1):
            ip("link", "set", link, "netns", name)
            ip("-n", name, "addr", "add", f"10.213.7.{number}/24", "dev", link)
            for device in ("lo", link):
                ip("-n", name, "link", "set", device, "up")
        yield names
    finally:
        for name in names:
            with contextlib.suppress(subprocess.SubprocessError, OSError):
                ip("netns", "del", name)


@pytest.mark.parametrize("links", ["tcp", "gloo"])
def test_ranks_and_workers_meet_over_a_link(links):
    if links == "gloo" and not has_gloo():
        pytest.skip("no system Gloo: apt-get install libgloo-dev")
    with contextlib.ExitStack() as stack:
        try:
            names = stack.enter_context(two_networks())
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"network namespaces cannot be made here: {error}")
        program = sys.executable, "-c", PROGRAM
        commands = [
            ["ip", "netns", "exec", name, *program, str(rank)]
            for rank, name in enumerate(names)
        ]
        environment = {"PELLUCID_DISTRIBUTED_TRANSPORT": links}
        assert len(run_all(commands, **environment)) == 2
