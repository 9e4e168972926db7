"""``torch.cuda`` where the driver shows GPUs, and programs on them."""

from tests.cuda.standin import run_program


def test_questions_are_answered_by_the_driver():
    output = run_program(
        """
print(torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.is_initialized())
print(torch.cuda.get_device_name(1), torch.cuda.get_device_capability("cuda:0"))
facts = torch.cuda.get_device_properties(0)
print(facts.total_memory, facts.multi_processor_count, facts.uuid)
print(torch.cuda.mem_get_info(), torch.cuda.can_device_access_peer(0, 1))
print(torch.cuda.get_arch_list(), torch.cuda.is_bf16_supported())
print(torch.accelerator.current_accelerator(), torch.accelerator.device_count())
stream = torch.cuda.current_stream()
print(stream.cuda_stream, isinstance(stream, torch.cuda.Stream))
print(torch.cuda.Stream().cuda_stream != 0, torch.Stream().device)
try:
    torch.cuda.temperature()
except NotImplementedError as error:
    print(error)
""",
        count=2,
        memory=1 << 20,
    )
    lines = output.splitlines()
    assert lines[0] == "True 2 True"
    assert lines[1] == "Stand-in 1 (9, 0)"
    assert lines[2] == "1048576 4 10101010-1010-1010-1010-101010101010"
    assert lines[3] == "(1048576, 1048576) True"
    assert lines[4] == "['sm_80', 'sm_90a'] True"
    assert lines[5] == "cuda 2"
    assert lines[6] == "0 True"
    assert lines[7] == "True cuda:0"
    assert lines[8].startswith("torch.cuda.temperature: ")


def test_what_is_not_there_says_so_on_machines_with_gpus():
    output = run_program("""
cuda = torch.cuda
for make in (
    lambda: cuda.MemPool(),
    lambda: cuda.FloatTensor(3),
    lambda: cuda.Event(interprocess=True),
    lambda: cuda.CUDAGraph(keep_graph=True),
    lambda: cuda.device("cpu"),
    lambda: cuda.device(torch.device("cpu")),
    lambda: cuda.caching_allocator_enable(False),
    lambda: cuda._gpus.memory_alocated(),
):
    try:
        make()
    except Exception as error:
        print(type(error).__name__, "computes on the CPU" in str(error))
print(cuda.host_memory_stats(), cuda.reset_peak_host_memory_stats())
cuda.caching_allocator_enable(True)
with cuda.device("cuda:0"), cuda.device(torch.device("cuda")), cuda.device(None):
    print(cuda.current_device())
""")
    names = (
        *("NotImplementedError", "TypeError", "NotImplementedError"),
        *("NotImplementedError", "ValueError", "ValueError", "NotImplementedError"),
        "AttributeError",
    )
    *errors, stats, current = output.splitlines()
    assert errors == [f"{name} False" for name in names]
    assert (stats, current) == ("{} None", "0")


def test_a_training_step_runs_on_the_gpu_and_gives_the_cpus_results():
    output = run_program("""
from tools.check_gpu import Gpt, training_step
torch.manual_seed(0)
model = Gpt(16, 1, 11)
import copy
there = copy.deepcopy(model).to("cuda")
tokens = torch.arange(12).view(2, 6) % 11
here_step = training_step(model, tokens, tokens)
step = training_step(there, tokens.to("cuda"), tokens.to("cuda"))
before = torch.devices.counts("cuda")["fallbacks"]
for _ in range(2):
    here, on_gpu = here_step().item(), step().item()
    print(abs(here - on_gpu) < 1e-4)
after = torch.devices.counts("cuda")
print(after["fallbacks"] - before, after["launched"] > 200, driver.faults)
""")
    first, second, fallbacks, launched, faults = output.split()
    assert (first, second) == ("True", "True")
    assert int(fallbacks) == 0
    assert launched == "True"
    assert faults == "[]"


def test_each_gpu_has_a_generator_of_its_own():
    output = run_program(
        """
torch.manual_seed(7)
a = torch.randn(5, device="cuda")
state = torch.cuda.get_rng_state()
b = torch.rand(3, device="cuda")
torch.cuda.set_rng_state(state)
print(torch.equal(torch.rand(3, device="cuda"), b), torch.cuda.initial_seed())
print([s.tolist()[::8] for s in torch.cuda.get_rng_state_all()])
print(torch.equal(torch.randn(5, device="cuda:1").cpu(), a.cpu()))
torch.cuda.manual_seed_all(8)
with torch.cuda.device(1):
    torch.cuda.manual_seed(9)
print([g.initial_seed() for g in torch.cuda.default_generators], torch.initial_seed())
torch.cuda.seed_all()
seeds = {g.initial_seed() for g in torch.cuda.default_generators}
print(len(seeds), seeds != {8}, driver.faults)
""",
        count=2,
    )
    assert output.splitlines() == [
        "True 7",
        "[[7, 8], [7, 0]]",
        "True",
        "[8, 9] 7",
        "1 True []",
    ]


def test_a_users_kernel_runs_on_the_gpu():
    output = run_program("""
from pellucid.devices import gpu
from tests.cuda import standin
from tests.cuda.user_kernels import scale

x = torch.arange(100.0).to("cuda")
out = torch.zeros(100).to("cuda")
types = (("x", "*float32"), ("out", "*float32"), ("n", "int64"), ("factor", "float64"))
standin.USER_KERNELS["scale"] = lambda: gpu._emulated(scale.function, types, 64)
scale[2, 64](x, out, 100, 0.5)
print(torch.equal(out.cpu(), torch.arange(100.0) / 2), driver.faults)
try:
    scale[2, 64](x, torch.zeros(100), 100, 0.5)
except TypeError as error:
    print(error)
""")
    assert output.splitlines() == [
        "True []",
        "a kernel's tensors are on one device, cuda, cpu or emu; found: cpu, cuda:0",
    ]


def test_launches_are_traced_and_declined_kernels_run_on_the_cpu():
    output = run_program("""
x = torch.randn(4, 4).to("cuda")
with torch.devices.trace() as log:
    x.tanh()
    torch.linalg.inv(x)
print(log[0].op, log[0].form, log[0].device, log[0].outcome)
print(any(event.outcome.startswith("host: ") for event in log))
""")
    assert output.splitlines() == ["aten::tanh map cuda:0 launched", "True"]


def test_tensors_are_saved_with_their_device():
    output = run_program("""
import io
file = io.BytesIO()
torch.save(torch.arange(3.0).to("cuda"), file)
file.seek(0)
print(torch.load(file).device)
file.seek(0)
print(torch.load(file, map_location="cpu").tolist())
""")
    assert output.splitlines() == ["cuda:0", "[0.0, 1.0, 2.0]"]
