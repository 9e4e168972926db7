// The tutorials of the C++ autograd: functions of tensors with a derivative, gradients inside of C++, options.
#include <torch/extension.h>
#include <torch/torch.h>

#include <sstream>

using namespace torch::autograd;

class LinearFunction : public Function<LinearFunction> {
 public:
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor input, torch::Tensor weight,
                               torch::Tensor bias = torch::Tensor()) {
    ctx->save_for_backward({input, weight, bias});
    auto output = input.mm(weight.t());
    if (bias.defined()) output += bias.unsqueeze(0).expand_as(output);
    return output;
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list grad_outputs) {
    auto saved = ctx->get_saved_variables();
    auto input = saved[0];
    auto weight = saved[1];
    auto bias = saved[2];
    auto grad_output = grad_outputs[0];
    auto grad_input = grad_output.mm(weight);
    auto grad_weight = grad_output.t().mm(input);
    auto grad_bias = torch::Tensor();
    if (bias.defined()) grad_bias = grad_output.sum(0);
    return {grad_input, grad_weight, grad_bias};
  }
};

class MulConstant : public Function<MulConstant> {
 public:
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor tensor, double constant) {
    ctx->saved_data["constant"] = constant;
    return tensor * constant;
  }
  static tensor_list backward(AutogradContext* ctx, tensor_list grad_outputs) {
    return {grad_outputs[0] * ctx->saved_data["constant"].toDouble(), torch::Tensor()};
  }
};

struct SignPreserving : Function<SignPreserving> {
  static variable_list forward(AutogradContext* ctx, const Variable& x, const Variable& unused, at::IntArrayRef sizes,
                               c10::optional<double> scale, bool flag) {
    ctx->set_materialize_grads(false);
    ctx->saved_data["scale"] = scale.has_value() ? *scale : 1.0;
    ctx->saved_data["flag"] = flag;
    ctx->saved_data["sizes"] = sizes;
    ctx->saved_data["other"] = x.detach();
    return {x.abs().sqrt() * x.sign(), x.reshape(sizes)};
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    TORCH_CHECK(ctx->needs_input_grad(0), "needs");
    TORCH_CHECK(!ctx->needs_input_grad(1), "needs no");
    auto x = ctx->saved_data["other"].toTensor();
    auto grad = torch::zeros_like(x);
    if (grads[0].defined()) grad = grad + grads[0] * ctx->saved_data["scale"].toDouble();
    if (grads[1].defined()) grad = grad + grads[1].view_as(x);
    return {grad, Variable(), Variable(), Variable(), Variable()};
  }
};

torch::Tensor linear(torch::Tensor input, torch::Tensor weight, c10::optional<torch::Tensor> bias) {
  return bias.has_value() ? LinearFunction::apply(input, weight, *bias) : LinearFunction::apply(input, weight);
}

std::vector<torch::Tensor> inside() {
  auto x = torch::ones({2, 2}, torch::requires_grad());
  auto y = x + 2;
  auto z = y * y * 3;
  auto out = z.mean();
  out.backward();
  TORCH_CHECK(x.grad().defined() && !y.requires_grad() == false);
  auto a = torch::arange(4, torch::TensorOptions().dtype(torch::kFloat64).requires_grad(true));
  auto b = MulConstant::apply(a.pow(3), 5.5);
  auto first = grad({b.sum()}, {a}, /*grad_outputs=*/{}, /*retain_graph=*/true, /*create_graph=*/true)[0];
  auto second = grad({first}, {a}, {torch::ones_like(first)})[0];
  torch::Tensor plain;
  {
    torch::NoGradGuard no_grad;
    plain = a * 2;
  }
  TORCH_CHECK(!plain.requires_grad() && torch::GradMode::is_enabled());
  torch::AutoGradMode off(false);
  TORCH_CHECK(!torch::GradMode::is_enabled());
  auto leaf = torch::zeros({2}).set_requires_grad(true);
  return {x.grad(), first.detach(), second, leaf};
}

std::vector<torch::Tensor> sign(torch::Tensor x) {
  return SignPreserving::apply(x, torch::zeros({1}), at::IntArrayRef({x.numel()}), c10::nullopt, true);
}

std::tuple<torch::Tensor, std::string> options(torch::Tensor x) {
  auto options =
      torch::TensorOptions().dtype(torch::kFloat32).layout(torch::kStrided).device(torch::kCPU, 0).requires_grad(false);
  auto y = torch::full({2, 3}, 4, options).to(torch::kFloat64);
  y = y.to(x.options()).to(x.device(), torch::kFloat32, /*non_blocking=*/false, /*copy=*/true);
  auto z = torch::randint(0, 10, {2, 3}, torch::kInt).clamp(1, 1);
  auto w = torch::tensor({{1, 2, 3}, {4, 5, 6}}, x.dtype());
  torch::Tensor e = torch::eye(3, x.options()).slice(/*dim=*/0, /*start=*/0, /*end=*/2);
  TORCH_CHECK(at::typeMetaToScalarType(x.dtype()) == x.scalar_type());
  std::ostringstream text;
  text << x.dtype() << ' ' << x.device() << ' ' << x.sizes() << ' ' << x.scalar_type();
  auto stacked =
      torch::stack({y, z.to(torch::kFloat), w.to(torch::kFloat), e.to(torch::kFloat)}).permute({1, 0, 2}).flatten(1);
  return {stacked, text.str()};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("linear", &linear, py::arg("input"), py::arg("weight"), py::arg("bias") = py::none());
  m.def("mul", [](torch::Tensor x, double c) { return MulConstant::apply(x, c); });
  m.def("inside", &inside);
  m.def("sign", &sign);
  m.def("options", &options);
}
