"""Code that the linker accepts is position-independent; other code is refused."""

import ctypes

import numpy as np
import pytest

from pellucid_compiler.codegen.builder import FLOAT, I64, PTR, Module
from pellucid_compiler.codegen.targets.x86 import TARGETS, host_target, target_named
from pellucid_compiler.pack.jit import CompileError, Executable, compile_blob
from pellucid_compiler.pack.link import LinkError

RUNNABLE = [t for t in TARGETS.values() if t.vector_bits <= host_target().vector_bits]


def axpy_module(target):
    """out[i] = x[i] * table[1] + 1, in vectors with a masked tail."""
    module = Module()
    function = module.function("kernel", [("data", PTR), ("sizes", PTR)], I64)
    data, sizes = function.args
    lanes = target.lanes(FLOAT)
    out = function.load(data, PTR)
    x = function.load(function.offset(data, 8), PTR)
    count = function.load(sizes, I64)
    table = module.table(function, [1.5, 2.5], FLOAT)
    slope = function.load(function.offset(table, 4), FLOAT)
    zeros = function.constant(0.0, FLOAT.with_lanes(lanes))

    def body(index, _):
        mask = function.first_lanes(count - index, lanes)
        value = function.masked_load(function.offset(x, index * 4), mask, zeros)
        value = function.fma(value, slope, 1.0)
        function.masked_store(value, function.offset(out, index * 4), mask)

    function.loop(0, count, lanes, [], body)
    function.ret(function.integer(0))
    return module


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
def test_a_linked_blob_computes_and_touches_nothing_past_its_end(target):
    blob = compile_blob(axpy_module(target).text(target.attributes), target)
    call = Executable(blob).function(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    x = np.arange(100, dtype=np.float32)
    out = np.zeros_like(x)
    data = (ctypes.c_void_p * 2)(out.ctypes.data, x.ctypes.data)
    assert call(data, (ctypes.c_int64 * 1)(99)) == 0
    assert np.array_equal(out[:99], x[:99] * np.float32(2.5) + 1)
    assert out[99] == 0


def linked(body, extra=""):
    text = f"{extra}\ndefine i64 @kernel(ptr %p, double %x) {{\n{body}\n}}\n"
    return compile_blob(text, host_target())


def test_library_calls_are_refused():
    call = "%y = call double @llvm.sin.f64(double %x)\nstore double %y, ptr %p\n"
    with pytest.raises(LinkError, match="sin"):
        linked(call + "ret i64 0", "declare double @llvm.sin.f64(double)")


def test_writable_data_is_refused():
    with pytest.raises(LinkError, match="writable"):
        linked("store i32 1, ptr @x\nret i64 0", "@x = internal global i32 7")


def test_absolute_addresses_are_refused():
    table = "@f = constant ptr @kernel"
    with pytest.raises(LinkError):
        linked("%a = load ptr, ptr @f\nstore ptr %a, ptr %p\nret i64 0", table)


def test_a_missing_entry_is_refused():
    with pytest.raises(LinkError, match="does not define"):
        compile_blob("define void @other() { ret void }", host_target())


def test_malformed_text_names_its_line():
    with pytest.raises(CompileError, match="%y = nonsense"):
        linked("%y = nonsense double %x\nret i64 0")


def test_unknown_levels_never_reach_llvm():
    with pytest.raises(ValueError, match="x86-64-v4"):
        target_named("+avx9000")
