"""explain shows what ran: ops in order, their keys, plans and kernels."""

import subprocess
import sys

import pellucid
from pellucid.explain import explain


def test_explain_names_the_ops_and_the_keys_they_passed():
    x = pellucid.tensor([[1.0, 2.0]], requires_grad=True)
    text = explain(lambda t: pellucid.exp(t * 2.0), x).more
    assert text.index("aten::mul.Tensor") < text.index("aten::exp")
    assert "Autograd -> CPU" in text
    assert "computed in float32" in text


def test_explain_shows_graph_plan_and_kernel_of_a_fused_op():
    x = pellucid.tensor([[1.0, 2.0]])
    actual = explain(pellucid.softmax, x, -1)
    for part in ("graph", "plan softmax.int", "rows (f32) () -> (f32)"):
        assert part in str(actual)
    assert len(actual.kernels) == 1


def test_explain_names_the_passes_that_changed_the_graph():
    actual = explain(pellucid.softmax, pellucid.tensor([[1.0, 2.0]]), -1)
    stages = [stage for section in actual.sections for stage in section.stages]
    names = [stage.name for stage in stages]
    assert names[0] == "inline_calls" and "fuse" in names
    for stage in stages:
        counts = f"{stage.nodes_before} -> {stage.nodes_after} nodes"
        assert f"{stage.name}: {counts}" in str(actual)
        assert f"before {stage.name}" not in str(actual)
        assert f"before {stage.name}\n{stage.before}\n" in actual.passes()
        assert f"after {stage.name}\n{stage.after}" in actual.passes()


def test_command_line_explains_an_op_by_name():
    command = [sys.executable, "-m", "pellucid.explain", "softsign"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "x / (1 + abs(x))" in done.stdout


def test_the_driver_of_a_product_is_named_with_its_reason():
    layer = pellucid.nn.Conv2d(32, 32, 3)
    x = pellucid.randn(8, 32, 28, 28)
    text = str(explain(layer, x))
    assert "  driver     Winograd: 3x3 windows at every place and enough chann" in text
    strided = explain(pellucid.nn.functional.conv2d, x, layer.weight, stride=2).more
    assert "  driver     " in strided and "Winograd" not in strided


def test_one_op_fits_a_screen_and_all_of_it_is_in_more():
    x = pellucid.randn(2, 8, 32)
    actual = explain(pellucid.nn.functional.layer_norm, x, (32,))
    lines, all_lines = str(actual).splitlines(), actual.more.splitlines()
    assert len(lines) <= 40 < len(all_lines)
    assert max(map(len, lines)) <= 120
    headings = [line for line in all_lines if not line.startswith(6 * " ")]
    assert [line[:40] for line in headings] == [
        line[:40] for line in lines if not line.startswith(6 * " ")
    ]
    assert any("more lines in .more" in line for line in lines)


def test_a_repeated_call_is_explained_as_it_ran():
    x, y = pellucid.ones(5, 7), pellucid.ones(5, 7)

    def scores():
        return x.softmax(1)

    texts = [explain(scores).more for _ in range(5)]
    assert "prepared: it repeats a call" not in texts[0]
    assert "prepared: it repeats a call" in texts[-1]
    lines = [line for line in texts[-1].splitlines() if "  call  " not in line]
    first = [line for line in texts[0].splitlines() if "  once  " not in line]
    assert lines == first
    both = pellucid.ones(5, 7, dtype=pellucid.bfloat16)
    assert "computed in float32" in explain(lambda: y + both).more


def test_an_explanation_of_many_ops_fits_a_screen():
    layer = pellucid.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model = pellucid.nn.TransformerEncoder(layer, 4)
    actual = explain(model, pellucid.randn(1, 4, 16))
    lines = str(actual).splitlines()
    assert len(actual.sections) > 100 and len(lines) <= 31
    assert lines[0].startswith(f"{len(actual.sections)} calls, ")
    assert all(len(line) <= 120 for line in lines)
    linear = [line for line in lines if " linear " in line]
    assert sum(int(line.partition("x")[0]) for line in linear) == 16
    assert all("gemm #" in line and line.endswith(", in place") for line in linear)
    assert len(actual.more.splitlines()) > 1000
