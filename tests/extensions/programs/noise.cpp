// Random numbers with a generator of the caller, and in-place ops that use it.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/DistributionsHelper.h>
#include <torch/extension.h>

#include <mutex>

torch::Tensor drop(const torch::Tensor& x, double p, c10::optional<at::Generator> gen) {
  TORCH_CHECK(p >= 0 && p < 1, "dropout probability has to be between 0 and 1, but got ", p);
  auto out = x.clone();
  auto generator = at::get_generator_or_default<at::CPUGeneratorImpl>(gen, at::detail::getDefaultCPUGenerator());
  std::lock_guard<std::mutex> lock(generator->mutex_);
  at::uniform_real_distribution<double> uniform(0.0, 1.0);
  auto* data = out.data_ptr<float>();
  for (int64_t i = 0; i < out.numel(); ++i) data[i] = uniform(generator) < p ? 0.f : data[i] / (1 - p);
  return out;
}

std::vector<torch::Tensor> draws(c10::optional<at::Generator> gen) {
  auto x = torch::empty({3});
  x.uniform_(0, 2, gen);
  auto mask = at::bernoulli(torch::full({4}, 0.5), gen);
  return {x, mask, torch::randn({2}, gen), torch::randperm(4, gen, torch::kLong), torch::randint(9, {3}, gen)};
}

std::vector<int64_t> words(at::Generator gen, int64_t n) {
  auto* generator = at::check_generator<at::CPUGeneratorImpl>(gen);
  std::lock_guard<std::mutex> lock(generator->mutex_);
  std::vector<int64_t> found;
  for (int64_t i = 0; i < n; ++i) found.push_back(i % 2 ? generator->random() : generator->random64() >> 1);
  at::normal_distribution<double> normal(0, 1);
  found.push_back(normal(generator) * 1e6);
  return found;
}

torch::Tensor seeded(int64_t seed) {
  torch::manual_seed(seed);
  auto made = at::make_generator<at::CPUGeneratorImpl>(seed);
  auto same = at::detail::createCPUGenerator(seed);
  TORCH_CHECK(made.current_seed() == static_cast<uint64_t>(seed));
  auto a = torch::rand({2}, made), b = torch::rand({2}, same), c = torch::rand({2});
  TORCH_CHECK(a.equal(b) && torch::equal(b, c));
  same.set_current_seed(seed + 1);
  return torch::cat({a, torch::rand({2}, same)});
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("drop", &drop, py::arg("x"), py::arg("p") = 0.5, py::arg("generator") = c10::nullopt);
  m.def("draws", &draws, py::arg("generator") = py::none());
  m.def("words", &words);
  m.def("seeded", &seeded);
}

TORCH_LIBRARY(noise, m) { m.def("drop(Tensor x, float p, Generator? generator=None) -> Tensor", &drop); }
