"""Stages cut from a whole model, against the model."""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.distributed.pipelining import (
    Pipe,
    PipelineStage,
    Schedule1F1B,
    ScheduleDualPipeV,
    SplitPoint,
    build_stage,
    pipe_split,
    pipeline,
)
from pellucid.nn import functional as F
from tests.distributed.ranks import run_ranks
from tests.distributed.test_pipelining import layers, run_plans

BEGINNING, END = SplitPoint.BEGINNING, SplitPoint.END


NORM = "norm.weight", "norm.bias"


class Net(nn.Module):
    """The first embedding is added after the middle; one weight is read twice."""

    def __init__(self, splits=False):
        super().__init__()
        self.table, self.norm = nn.Embedding(11, 8), nn.LayerNorm(8)
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))
        self.out = nn.Linear(8, 11, bias=False)
        self.out.weight = self.table.weight
        self.splits = splits

    def forward(self, tokens, scale=None):
        x = first = self.table(tokens)
        for number, layer in enumerate(self.layers):
            x = torch.tanh(layer(x))
            if self.splits and number == 1:
                pipe_split()
        x = self.norm(x) + first
        return self.out(x if scale is None else x * scale)


def net(**options):
    torch.manual_seed(0)
    return Net(**options)


def data(count=2):
    torch.manual_seed(1)
    tokens = torch.randint(0, 11, (4 * count, 3))
    return tokens, torch.randint(0, 11, (4 * count, 3)), torch.rand(4 * count, 3, 1)


def loss(logits, target):
    return F.cross_entropy(logits.flatten(0, 1), target.flatten())


def names_of(pipe):
    stages = range(pipe.num_stages)
    return [[n for n, _ in pipe.get_stage_module(k).named_parameters()] for k in stages]


def test_a_pipe_computes_what_its_model_does_with_its_parameters():
    model, (tokens, target, scale) = net(), data(1)
    pipe = pipeline(
        model, (tokens,), {"scale": scale}, {"layers.1": BEGINNING, "layers.2": END}
    )
    assert pipe.num_stages == pipe.info().num_stages == 3
    actual = pipe(tokens, scale=scale)
    torch.testing.assert_close(actual, model(tokens, scale))
    assert names_of(pipe) == [
        ["table.weight", "layers.0.weight", "layers.0.bias"],
        [f"layers.{n}.{kind}" for n in (1, 2) for kind in ("weight", "bias")],
        ["layers.3.weight", "layers.3.bias", *NORM, "table.weight"],
    ]
    assert pipe.replicated_params == [
        {"submod_pp_0": "table.weight", "submod_pp_2": "table.weight"}
    ]
    middle = dict(pipe.split_gm.submod_pp_1.named_parameters())
    assert middle["layers.1.weight"] is model.layers[1].weight
    loss(actual, target).backward()
    shared = [pipe.get_stage_module(k).table.weight.grad for k in (0, 2)]
    model.zero_grad()
    loss(model(tokens, scale), target).backward()
    torch.testing.assert_close(shared[0] + shared[1], model.table.weight.grad)


def test_stages_end_where_the_model_or_a_policy_says():
    tokens, _, _ = data(1)
    assert pipeline(net(), (tokens,)).num_stages == 1
    model = net(splits=True)
    assert pipeline(model, (tokens,)).num_stages == 2
    assert torch.equal(model(tokens), net()(tokens))  # has no effect elsewhere

    def after_each_tanh(graph_module):
        for node in graph_module.graph.nodes:
            if node.target is torch.ops.aten.tanh.default:
                with graph_module.graph.inserting_after(node):
                    graph_module.graph.call_function(pipe_split)
        return graph_module

    pipe = Pipe.from_tracing(net(), (tokens,), split_policy=after_each_tanh)
    assert pipe.num_stages == 5
    torch.testing.assert_close(pipe(tokens), net()(tokens))
    # A stage without ops is dropped.
    assert pipeline(net(), (tokens,), None, {"table": BEGINNING}).num_stages == 1
    assert pipeline(net(), (tokens,), None, {"out": END}).num_stages == 1


def test_what_cannot_be_cut_says_so():
    tokens, _, _ = data(1)
    with pytest.raises(ValueError, match="Cannot specify both"):
        pipeline(net(), (tokens,), None, {"out": END}, lambda graph: graph)
    with pytest.raises(AttributeError, match=r"layers\.9 referenced nonexistent"):
        pipeline(net(), (tokens,), None, {"layers.9": END})
    with pytest.raises(ValueError, match="Unknown split point type 1 of 'out'"):
        pipeline(net(), (tokens,), None, {"out": 1})
    with pytest.raises(ValueError, match="Invalid stage index 1"):
        pipeline(net(), (tokens,)).get_stage_module(1)


def rank_trains(rank, size):
    model, (tokens, target, scale) = net(), data(4)
    spec = {f"layers.{2 * k}": BEGINNING for k in range(1, size)}
    pipe = pipeline(net(), (tokens[:4],), {"scale": scale[:4]}, spec)
    stage = pipe.build_stage(rank, torch.device("cpu"))
    assert isinstance(stage, PipelineStage) and stage.submod.training
    run, losses = Schedule1F1B(stage, 4, loss), []
    if stage.is_first:
        output = run.step(tokens, scale=scale)
        assert output is None
    else:
        output = run.step(target=target, losses=losses)
        torch.testing.assert_close(output, model(tokens, scale))
    loss(model(tokens, scale), target).backward()
    wanted = {name: p.grad for name, p in model.named_parameters()}
    table = dict(stage.submod.named_parameters())["table.weight"]
    torch.distributed.all_reduce(table.grad)  # as replicated_params says
    for name, parameter in stage.submod.named_parameters():
        torch.testing.assert_close(parameter.grad, wanted[name], msg=name)


def rank_computes_gradients_of_weights_later(rank, size):
    parts, x, y = layers(2 * size, 8 * size)
    chunks = zip(x.tensor_split(2 * size), y.tensor_split(2 * size), strict=True)
    expected = [F.mse_loss(nn.Sequential(*parts)(a), b) for a, b in chunks]
    (sum(expected) / len(expected)).backward()
    own, indices = layers(2 * size)[0], [rank, 2 * size - 1 - rank]
    calls = []

    def builder():
        calls.append("built")
        return lambda: calls.append("run")

    stages = [PipelineStage(own[k], k, 2 * size, dw_builder=builder) for k in indices]
    with pytest.raises(ValueError, match=f"got 1 microbatches and {2 * size} stages"):
        ScheduleDualPipeV(stages, 1)
    run = ScheduleDualPipeV(stages, 2 * size, F.mse_loss)
    run.step(*([x] if rank == 0 else []), target=y if rank == 0 else None)
    assert calls.count("built") == calls.count("run") == 4 * size
    assert rank == 0 or calls[-4:-2] == ["built"] * 2
    for k in indices:
        pairs = zip(own[k].parameters(), parts[k].parameters(), strict=True)
        for actual, wanted in pairs:
            torch.testing.assert_close(actual.grad, wanted.grad)


def rank_does_all(rank, size):
    rank_trains(rank, size)
    rank_computes_gradients_of_weights_later(rank, size)


def test_stages_of_a_model_train_as_the_model(tmp_path):
    assert len(run_ranks(rank_does_all, 2, tmp_path)) == 2


def test_a_wrapped_stage_is_built():
    torch.distributed.init_process_group(
        "gloo", store=torch.distributed.HashStore(), rank=0, world_size=1
    )
    try:
        pipe = pipeline(net(), (data(1)[0],))
        wrapped = nn.Sequential(pipe.get_stage_module(0))
        stage = build_stage(wrapped, 0, pipe.info(), "cpu")
        assert stage.submod is wrapped and stage.num_stages == 1
    finally:
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize("size", [2, 3, 4, 8])
def test_forward_and_backward_of_different_microbatches_alternate(size):
    for count in (2 * size, 3 * size, 4 * size):
        plans, done, whole = run_plans(ScheduleDualPipeV, size, 2, count)
        assert not any(plans), count
        assert len(done) == 6 * size * count
        # Each rank has work for 6 * count turns.
        assert whole - 6 * count <= 3 * size
