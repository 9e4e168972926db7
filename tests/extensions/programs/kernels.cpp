// Kernels over TensorIterator and vectors, arrays of NumPy, files, printed tensors, ops called by their names.
#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <ATen/cpu/vec/functional.h>
#include <ATen/cpu/vec/vec.h>
#include <ATen/native/cpu/Loops.h>
#include <c10/core/DeviceGuard.h>
#include <pybind11/numpy.h>
#include <pybind11/stl_bind.h>
#include <torch/extension.h>

#include <sstream>

PYBIND11_MAKE_OPAQUE(std::vector<double>);
PYBIND11_MAKE_OPAQUE(std::vector<at::Tensor>);

namespace {

using at::vec::Vectorized;

// x * tanh(softplus(x)) by vectors, any float dtype and layout.
at::Tensor soft_gate(const at::Tensor& input) {
  at::Tensor out;
  auto iterator = at::TensorIteratorConfig().add_output(out).add_input(input).build();
  AT_DISPATCH_FLOATING_TYPES(iterator.dtype(), "soft_gate", [&] {
    at::native::cpu_kernel_vec(
        iterator, [](scalar_t x) -> scalar_t { return x * std::tanh(std::log1p(std::exp(x))); },
        [](Vectorized<scalar_t> x) { return x * x.exp().log1p().tanh(); });
  });
  return iterator.output();
}

// Promoted to one dtype, broadcast; the result is cast to `out`'s.
void hypotenuse(const at::Tensor& a, const at::Tensor& b, at::Tensor out) {
  auto iterator = at::TensorIteratorConfig()
                      .add_output(out)
                      .add_input(a)
                      .add_input(b)
                      .promote_inputs_to_common_dtype(true)
                      .promote_integer_inputs_to_float(true)
                      .cast_common_dtype_to_outputs(true)
                      .enforce_safe_casting_to_output(true)
                      .build();
  AT_DISPATCH_FLOATING_TYPES(iterator.common_dtype(), "hypotenuse", [&] {
    at::native::cpu_kernel(iterator, [](scalar_t x, scalar_t y) -> scalar_t { return std::sqrt(x * x + y * y); });
  });
}

// out = a + 1, where `a` may share memory with `out`.
void plus_one(at::Tensor out, const at::Tensor& a, bool check) {
  auto iterator = at::TensorIteratorConfig().add_output(out).add_input(a).set_check_mem_overlap(check).build();
  at::native::cpu_kernel(iterator, [](float x) { return x + 1; });
}

// Halves that compute as floats.
at::Tensor halved(const at::Tensor& input) {
  at::Tensor out = at::empty_like(input);
  at::vec::map<at::BFloat16>([](Vectorized<float> x) { return x / Vectorized<float>(2); }, out.data_ptr<at::BFloat16>(),
                             input.const_data_ptr<at::BFloat16>(), input.numel());
  return out;
}

std::vector<at::Tensor> split_sign(const at::Tensor& input) {
  at::Tensor plus = at::empty_like(input), minus = at::empty_like(input);
  auto iterator = at::TensorIteratorConfig().add_output(plus).add_output(minus).add_input(input).build();
  iterator.for_each([](char** data, const int64_t* strides, int64_t n) {
    for (int64_t k = 0; k < n; ++k) {
      const float x = *reinterpret_cast<float*>(data[2] + k * strides[2]);
      *reinterpret_cast<float*>(data[0] + k * strides[0]) = std::max(x, 0.0f);
      *reinterpret_cast<float*>(data[1] + k * strides[1]) = std::min(x, 0.0f);
    }
  });
  return {plus, minus};
}

double dot(const at::Tensor& a, const at::Tensor& b) {
  const auto x = a.contiguous(), y = b.contiguous();
  return at::vec::map2_reduce_all<float>([](auto x, auto y) { return x * y; }, [](auto x, auto y) { return x + y; },
                                         x.const_data_ptr<float>(), y.const_data_ptr<float>(), x.numel());
}

std::string lanes() {
  using V = Vectorized<float>;
  const V x = V::arange(-3.0f, 1.0f), zero(0.0f);
  std::ostringstream text;
  float held[V::size()];
  const auto show = [&](const char* name, const V& value) {
    value.store(held);
    text << name << ':';
    for (int k = 0; k < 8; ++k) text << ' ' << held[k];
    text << '\n';
  };
  show("blendv", V::blendv(zero, x, x > V(1.0f)));
  show("clamp", at::vec::clamp(x, V(-1.0f), V(2.0f)));
  show("lt", x.lt(zero));
  show("fmadd", at::vec::fmadd(x, x, V(1.0f)));
  show("maximum", at::vec::maximum(x, V(0.5f)));
  const auto halves = at::vec::convert_from_float<c10::BFloat16>(x, x + V(8.0f));
  show("bfloat16", std::get<1>(at::vec::convert_to_float<c10::BFloat16>(halves)));
  return text.str();
}

// Each thread adds to its own counter.
int64_t count_by_threads(int64_t count) {
  std::vector<int64_t> sums(at::get_num_threads(), 0);
  at::parallel_for(0, count, at::internal::GRAIN_SIZE / 32768, [&](int64_t first, int64_t last) {
    for (const auto k : c10::irange(first, last)) sums.at(at::get_thread_num()) += k % 2;
  });
  return c10::sum_integers(sums);
}

py::array_t<double> moving_mean(py::array_t<double, py::array::c_style | py::array::forcecast> given, int width) {
  auto from = given.unchecked<1>();
  py::array_t<double> made(from.shape(0) - width + 1);
  auto to = made.mutable_unchecked<1>();
  for (py::ssize_t k = 0; k < to.shape(0); ++k) {
    to(k) = 0;
    for (int j = 0; j < width; ++j) to(k) += from(k + j) / width;
  }
  return made;
}
// Elements by their indices and by their address.
std::tuple<double, double, double> elements(py::array_t<double> a) {
  const double before = a.data()[1];
  a.mutable_data()[0] = 7;
  *a.mutable_data(1) += 0.5;
  return {before, a.at(0, 0), *a.data(1, 0)};
}
// The second half of an array backwards, over its memory.
py::array backwards(py::array_t<double, 0> a) {
  return py::array(py::dtype::of<double>(), {a.shape(0) / 2}, {-a.strides(0)}, a.data(a.shape(0) - 1), a);
}
double scale(std::vector<double>& values, const std::vector<at::Tensor>& tensors) {
  for (double& value : values) value *= 2;
  return values.at(0) + tensors.at(0).dim();
}
at::Tensor shared(py::array_t<float> given) {
  py::buffer_info info = given.request();
  return torch::from_blob(info.ptr, std::vector<int64_t>(info.shape.begin(), info.shape.end())).clone();
}
py::array_t<int64_t> owned(int64_t count) {
  auto* values = new std::vector<int64_t>(count);
  std::iota(values->begin(), values->end(), 0);
  py::capsule owner(values, [](void* held) { delete static_cast<std::vector<int64_t>*>(held); });
  return py::array_t<int64_t>({count / 2, int64_t{2}}, values->data(), owner);
}

std::string printed() {
  std::ostringstream text;
  text << torch::arange(6, torch::kInt).reshape({2, 3}) << '\n'
       << torch::tensor({0.25, -1.5, 1000.0}) << '\n'
       << torch::tensor({1e-8, 1.0}) << '\n'
       << torch::tensor(2.5) << '\n'
       << torch::tensor({{{1.5f}, {20000.25f}}, {{3.0f}, {4.0f}}}) << '\n'
       << torch::tensor({1.0, 1e12}) << '\n'
       << torch::ones({2, 30}).mul(0.5) << '\n'
       << torch::empty({0, 3}) << '\n'
       << torch::Tensor() << '\n'
       << torch::tensor({true, false}) << ' ' << torch::kFloat << ' ' << torch::Device("cpu") << '\n';
  return text.str();
}

std::tuple<at::Tensor, int64_t> through_a_file(const at::Tensor& tensor, const std::string& path) {
  torch::save(tensor, path);
  at::Tensor found;
  torch::load(found, path);
  const auto bytes = torch::pickle_save(std::vector<int64_t>{3, 4});
  return {found, torch::pickle_load(bytes).toIntVector().at(1)};
}

at::Tensor by_name(const at::Tensor& a, const at::Tensor& b) {
  const c10::DeviceGuard guard(a.device());
  static auto add = c10::Dispatcher::singleton()
                        .findSchemaOrThrow("aten::add", "Tensor")
                        .typed<at::Tensor(const at::Tensor&, const at::Tensor&, const at::Scalar&)>();
  static auto split = c10::Dispatcher::singleton()
                          .findSchemaOrThrow("kernels::split_sign", "")
                          .typed<std::vector<at::Tensor>(const at::Tensor&)>();
  static auto add_ = c10::Dispatcher::singleton()
                         .findSchemaOrThrow("aten::add_", "Tensor")
                         .typed<at::Tensor&(at::Tensor&, const at::Tensor&, const at::Scalar&)>();
  at::Tensor sum = add.call(a, b, 2);
  add_.call(sum, split.call(a)[0], 1);
  return sum;
}

void check(int64_t kind, const at::Tensor& x) {
  switch (kind) {
    case 0: TORCH_CHECK(x.dim() == 9, "dims: ", x.dim()); break;
    case 1: TORCH_CHECK_VALUE(false, "a value"); break;
    case 2: TORCH_CHECK_INDEX(false, "an index"); break;
    case 3: TORCH_CHECK_TYPE(false, "a type"); break;
    case 4: TORCH_CHECK_NOT_IMPLEMENTED(false, "a part"); break;
    case 5: TORCH_CHECK_EQ(x.dim(), 7); break;
    case 6: x.data_ptr<int64_t>(); break;
    case 7: x.accessor<float, 2>(); break;
    case 8: c10::Dispatcher::singleton().findSchemaOrThrow("kernels::none", ""); break;
    case 9: throw std::out_of_range("a place");
    case 10: throw std::invalid_argument("an argument");
    case 11: throw 3;
    case 12: x.sum().index({0}); break;
    case 13: x.add(x.new_zeros({7})); break;
    case 14: TORCH_WARN("careful: ", 1); break;
    case 15: throw py::key_error("a key");
    case 16: hypotenuse(x, x, x.to(torch::kInt)); break;
    case 17: TORCH_CHECK_LINALG(false, "singular"); break;
    case 18: TORCH_CHECK_WITH(OutOfMemoryError, false, "memory"); break;
    case 19: {
      int told = 0;
      TORCH_CHECK(told, "told ", ++told);
    } break;
    case 20: plus_one(x.new_zeros({1}).expand({4}), x.new_ones({4}), true); break;
    case 21: plus_one(x.flatten().slice(0, 1, 5), x.flatten().slice(0, 0, 4), true); break;
    default: soft_gate(x.to(torch::kInt));
  }
}

}  // namespace

TORCH_LIBRARY(kernels, m) {
  m.def(TORCH_SELECTIVE_SCHEMA("kernels::split_sign(Tensor x) -> Tensor[]"), {at::Tag::pt2_compliant_tag});
  m.def("soft_gate(Tensor x) -> Tensor");
}
TORCH_LIBRARY_FRAGMENT(kernels, m) { m.def("dot", &dot, {at::Tag::pointwise}); }
TORCH_LIBRARY_IMPL(kernels, CPU, m) {
  m.impl(TORCH_SELECTIVE_NAME("kernels::split_sign"), TORCH_FN(split_sign));
  m.impl("soft_gate", soft_gate);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  using namespace pybind11::literals;
  m.def("hypotenuse", &hypotenuse, "a"_a, "b"_a, "out"_a);
  m.def("lanes", &lanes);
  m.def("count_by_threads", &count_by_threads, py::call_guard<py::gil_scoped_release>());
  m.def("moving_mean", &moving_mean, "given"_a, "width"_a = 2);
  m.def("shared", &shared);
  m.def("owned", &owned);
  m.def("doubled", py::vectorize([](double x) { return 2 * x; }));
  m.def("elements", &elements);
  m.def("backwards", &backwards);
  m.def("kind", [](py::array_t<float>) { return "float array"; });
  m.def("kind", [](py::array_t<double>) { return "double array"; });
  m.def("kind", [](bool) { return "bool"; });
  m.def("kind", [](double) { return "double"; });
  m.def("kind", [](at::Tensor) { return "tensor"; });
  py::bind_vector<std::vector<double>>(m, "Doubles");
  py::bind_vector<std::vector<at::Tensor>>(m, "Tensors");
  m.def("scale", &scale);
  m.def("plus_one", &plus_one);
  m.def("halved", &halved);
  m.def("printed", &printed);
  m.def("through_a_file", &through_a_file);
  m.def("by_name", &by_name);
  m.def("check", &check);
}
