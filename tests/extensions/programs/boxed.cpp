// Boxed kernels: an op that takes any value, a fallthrough, calls by name.
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>
#include <torch/script.h>

#include <string>

namespace {

// Any type of value: an op whose kernel is boxed.
void describe(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  (void)keys;
  const auto count = op.schema().arguments().size();
  std::string text;
  for (const auto& value : torch::jit::last(stack, count)) {
    if (value.isTensor()) text += "tensor " + std::to_string(value.toTensor().numel());
    else if (value.isInt()) text += "int " + std::to_string(value.toInt());
    else if (value.isDouble()) text += "float " + std::to_string(value.toDouble());
    else if (value.isBool()) text += value.toBool() ? "true" : "false";
    else if (value.isString()) text += "str " + value.toStringRef();
    else if (value.isIntList()) text += "ints " + std::to_string(value.toIntVector().size());
    else if (value.isTensorList()) text += "tensors " + std::to_string(value.toTensorVector().size());
    else if (value.isNone()) text += "none";
    else text += value.tagKind();
    text += ", ";
  }
  torch::jit::drop(stack, count);
  torch::jit::push(stack, text);
}

torch::Tensor twice(const torch::Tensor& x) { return x * 2; }

torch::Tensor call_by_name(const torch::Tensor& x, std::string name) {
  auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), "");
  torch::jit::Stack stack{x};
  op.callBoxed(&stack);
  return stack.back().toTensor();
}

bool is_known(std::string name) { return c10::Dispatcher::singleton().findSchema({name, ""}).has_value(); }

}  // namespace

TORCH_LIBRARY(boxed, m) {
  m.def("twice(Tensor x) -> Tensor");
  m.def("describe(Tensor x, int a, float b, bool c, str d, int[] e, Tensor[] f, int? g) -> str");
  m.def("call_by_name", &call_by_name);
  m.def("is_known", &is_known);
}

TORCH_LIBRARY_IMPL(boxed, CPU, m) {
  m.impl("twice", &twice);
  m.impl("describe", torch::CppFunction::makeFromBoxedFunction<&describe>());
}
TORCH_LIBRARY_IMPL(boxed, AutogradCPU, m) { m.impl("twice", torch::CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(boxed, Meta, m) {
  m.impl("twice", [](const torch::Tensor& x) { return torch::empty_like(x); });
}
