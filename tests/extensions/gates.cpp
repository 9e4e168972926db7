// What extensions of PyTorch's tutorials consist of: functions over ops, loops over elements, ops with a derivative.
#include <torch/extension.h>

#include <tuple>
#include <vector>

namespace {

// a * sigmoid(b), and what its backward needs.
std::vector<torch::Tensor> gate(torch::Tensor a, torch::Tensor b, torch::Scalar scale = 1.0) {
  auto open = torch::sigmoid(b);
  auto both = torch::cat({a, open}, /*dim=*/1).chunk(2, /*dim=*/1);
  return {scale * both[0] * open, open};
}

std::vector<torch::Tensor> gate_op(torch::Tensor a, torch::Tensor b) {
  static auto op =
      torch::Dispatcher::singleton().findSchemaOrThrow("gates::plain", "").typed<decltype(gate_op)>();
  return op.call(a, b);
}

std::vector<torch::Tensor> plain(torch::Tensor a, torch::Tensor b) { return gate(a, b); }

struct Gate : torch::autograd::Function<Gate> {
  static std::vector<torch::Tensor> forward(torch::autograd::AutogradContext* ctx, torch::Tensor a, torch::Tensor b) {
    at::AutoDispatchBelowADInplaceOrView guard;
    auto results = gate_op(a, b);
    ctx->save_for_backward({a, results[1]});
    ctx->saved_data["scale"] = 1.0;
    return results;
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx,
                                               torch::autograd::tensor_list grads) {
    auto saved = ctx->get_saved_variables();
    auto open = saved[1], slope = (1 - open) * open * ctx->saved_data["scale"].toDouble();
    auto grad = grads[0] * saved[0] + grads[1];
    grad *= slope;
    return {grads[0] * open, grad};
  }
};

std::vector<torch::Tensor> differentiable(torch::Tensor a, torch::Tensor b) { return Gate::apply(a, b); }

at::Tensor scaled_sum(const at::Tensor& a, const at::Tensor& b, double factor) {
  TORCH_CHECK(a.sizes() == b.sizes(), "sizes ", a.sizes(), " and ", b.sizes(), " differ");
  TORCH_CHECK(a.dtype() == at::kFloat);
  at::Tensor first = a.contiguous(), second = b.contiguous();
  at::Tensor result = torch::empty(first.sizes(), first.options());
  const float *x = first.data_ptr<float>(), *y = second.const_data_ptr<float>();
  float* to = result.mutable_data_ptr<float>();
  at::parallel_for(0, result.numel(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = x[i] + factor * y[i];
  });
  return result;
}

void add_into(const at::Tensor& a, at::Tensor& out) { out.add_(a); }

std::tuple<at::Tensor, int64_t> largest(at::Tensor x, c10::optional<int64_t> dim, std::string name) {
  auto [values, places] = x.max(dim.value_or(-1), /*keepdim=*/false);
  return {values, places.numel() + static_cast<int64_t>(name.size())};
}

at::Tensor first_element(at::Tensor x) {
  auto made = torch::zeros({2}, torch::TensorOptions().dtype(torch::kFloat64).device(torch::kCPU));
  AT_DISPATCH_ALL_TYPES(x.scalar_type(), "first_element", [&] {
    made.accessor<double, 1>()[1] = static_cast<double>(x.data_ptr<scalar_t>()[0]);
  });
  return made;
}

at::Tensor count_of(at::IntArrayRef sizes, bool twice, at::ScalarType dtype) {
  return torch::full(sizes, twice ? 2 : 1, dtype).sum();
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("gate", &gate, "a * sigmoid(b)", py::arg("a"), py::arg("b"), py::arg("scale") = 1.0);
  m.def("largest", &largest);
  m.def("first_element", &first_element);
}

TORCH_LIBRARY(gates, m) {
  m.def("plain(Tensor a, Tensor b) -> Tensor[]");
  m.def("gate(Tensor a, Tensor b) -> Tensor[]");
  m.def("scaled_sum(Tensor a, Tensor b, float factor) -> Tensor");
  m.def("add_into(Tensor a, Tensor(a!) out) -> ()");
  m.def("count_of", &count_of);
}

TORCH_LIBRARY_IMPL(gates, CPU, m) {
  m.impl("plain", TORCH_FN(plain));
  m.impl("gate", &plain);
  m.impl("scaled_sum", &scaled_sum);
  m.impl("add_into", &add_into);
}

TORCH_LIBRARY_IMPL(gates, Autograd, m) { m.impl("gate", &differentiable); }
