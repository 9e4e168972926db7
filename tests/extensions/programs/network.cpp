// A network of torch::nn trained by torch::optim, its functional forms, and a module of C++ in Python.
#include <torch/extension.h>

#include <sstream>

namespace F = torch::nn::functional;

namespace {

struct BlockImpl : torch::nn::Module {
  BlockImpl(int64_t channels, bool norm)
      : conv(register_module(
            "conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(channels, channels, 3).padding(1).bias(!norm)))),
        scale(register_parameter("scale", torch::ones({channels, 1, 1}))),
        calls(register_buffer("calls", torch::zeros({}))) {
    if (norm) bn = register_module("bn", torch::nn::BatchNorm2d(channels));
  }
  torch::Tensor forward(torch::Tensor x) {
    calls += 1;
    torch::Tensor y = conv(x);
    if (!bn.is_empty()) y = bn->forward(y);
    return torch::relu(x + scale * y);
  }
  torch::nn::Conv2d conv;
  torch::nn::BatchNorm2d bn{nullptr};
  torch::Tensor scale, calls;
};
TORCH_MODULE(Block);

struct Net : torch::nn::Module {
  explicit Net(int64_t classes) : fc(4, classes) {
    register_module("fc", fc);
    body = register_module(
        "body", torch::nn::Sequential(torch::nn::Conv2d(1, 4, 3), torch::nn::Functional(torch::relu), Block(4, true),
                                      Block(4, false), torch::nn::MaxPool2d(torch::nn::MaxPool2dOptions(2).stride(2))));
  }
  torch::Tensor forward(torch::Tensor x) {
    x = F::adaptive_avg_pool2d(body->forward(x), F::AdaptiveAvgPool2dFuncOptions(1)).flatten(1);
    return F::log_softmax(fc(x), F::LogSoftmaxFuncOptions(1));
  }
  torch::nn::Linear fc;
  torch::nn::Sequential body{nullptr};
};

std::vector<double> train(Net& net, const torch::Tensor& x, const torch::Tensor& labels, int64_t steps) {
  torch::optim::SGD optimizer(net.parameters(), torch::optim::SGDOptions(0.5).momentum(0.9));
  std::vector<double> losses;
  for (int64_t k = 0; k < steps; ++k) {
    optimizer.zero_grad();
    torch::Tensor loss = torch::nll_loss(net.forward(x), labels);
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

std::vector<torch::Tensor> functional(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& grid) {
  const auto labels = torch::tensor({1, 0});
  return {
      F::pad(x, F::PadFuncOptions({1, 2, 0, 1}).mode(torch::kReflect)),
      F::pad(x, F::PadFuncOptions({1, 1}).mode(torch::kConstant).value(7)),
      F::conv2d(x, weight, F::Conv2dFuncOptions().stride(2).padding({1, 0}).bias(weight.sum({1, 2, 3}))),
      F::grid_sample(
          x, grid, F::GridSampleFuncOptions().mode(torch::kBilinear).padding_mode(torch::kBorder).align_corners(true)),
      F::interpolate(
          x, F::InterpolateFuncOptions().size(std::vector<int64_t>({3, 7})).mode(torch::kBicubic).align_corners(false)),
      F::interpolate(x,
                     F::InterpolateFuncOptions().scale_factor(std::vector<double>({0.5, 2.0})).mode(torch::kNearest)),
      F::max_pool2d(x, F::MaxPool2dFuncOptions(3).stride(2).ceil_mode(true)),
      F::avg_pool2d(x, F::AvgPool2dFuncOptions({2, 3}).count_include_pad(false).padding(1)),
      F::unfold(x, F::UnfoldFuncOptions({2, 2}).padding(1).stride(2)),
      F::normalize(x, F::NormalizeFuncOptions().p(1).dim(-1)),
      F::layer_norm(x, F::LayerNormFuncOptions({5}).eps(1e-3)),
      F::leaky_relu(x, F::LeakyReLUFuncOptions().negative_slope(0.2)),
      F::gelu(x, F::GELUFuncOptions().approximate("tanh")),
      F::cross_entropy(x.flatten(1), labels, F::CrossEntropyFuncOptions().reduction(torch::kSum)),
      F::smooth_l1_loss(x, x * 2, F::SmoothL1LossFuncOptions().reduction(torch::kNone)),
      F::one_hot(labels, 3),
      F::linear(x, weight.flatten(1).slice(1, 0, 5))};
}

std::string names(Net& net) {
  std::ostringstream text;
  for (const auto& pair : net.named_parameters()) text << pair.key() << ' ' << pair.value().sizes() << '\n';
  for (const auto& pair : net.named_buffers()) text << pair.key() << ' ';
  text << net.children().size() << ' ' << net.is_training();
  net.eval();
  text << ' ' << net.body->is_training() << ' ' << net.fc->weight.grad().sizes();
  net.to(torch::kDouble);
  text << ' ' << net.fc->weight.dtype();
  const auto block = std::dynamic_pointer_cast<BlockImpl>(net.body->children()[2]);
  block->calls += 1;
  text << ' ' << block->calls.dtype() << net.named_buffers()["body.2.calls"].equal(block->calls);
  return text.str();
}

// Losses, options as values, and a module's state in a file.
std::vector<torch::Tensor> layers(const torch::Tensor& x, const std::string& path) {
  torch::nn::Conv2dOptions options = torch::nn::Conv2dOptions(1, 2, 3).stride(2);
  torch::nn::Conv2d conv(options), other(options);
  torch::save(conv, path);
  torch::load(other, path);
  torch::nn::CrossEntropyLoss loss(torch::nn::CrossEntropyLossOptions().reduction(torch::kSum));
  torch::nn::Sequential body(torch::nn::Dropout2d(0.0), torch::nn::Mish(),
                             torch::nn::Upsample(torch::nn::UpsampleOptions().scale_factor(std::vector<double>{2, 1})));
  torch::optim::Adagrad optimizer(conv->parameters(), 0.1);
  optimizer.step();
  return {other(x) - conv(x), loss(x.flatten(1), torch::tensor({3, 4})), torch::nn::MSELoss()(x, 2 * x),
          body->forward(x), torch::nn::MaxPool3d(torch::nn::MaxPool3dOptions(2).stride(1))(torch::cat({x, -x}, 1))};
}

// Gradients through torch::autograd.
std::vector<torch::Tensor> twice(const torch::Tensor& x) {
  const auto y = (x * x * x).sum();
  const auto first = torch::autograd::grad({y}, {x}, {}, true, true)[0];
  torch::autograd::backward({first}, {torch::full_like(first, 2)});
  const torch::NoGradGuard guard;
  return {first, x.grad(), x * 2};
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  torch::python::bind_module<Net>(m, "Net").def(py::init<int64_t>()).def("forward", &Net::forward);
  m.def("train", &train);
  m.def("functional", &functional);
  m.def("names", &names);
  m.def("layers", &layers);
  m.def("twice", &twice);
}
