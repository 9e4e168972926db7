// Loops over halves, bfloat16 and complex numbers by every dispatch macro that authors use.
#include <ATen/AccumulateType.h>
#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <torch/extension.h>

#include <cmath>

template <typename scalar_t>
inline scalar_t swish(scalar_t x) {
  using opmath_t = at::opmath_type<scalar_t>;
  const opmath_t v = static_cast<opmath_t>(x);
  return static_cast<scalar_t>(v / (opmath_t(1) + std::exp(-v)));
}

torch::Tensor swish_forward(const torch::Tensor& x) {
  auto y = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, x.scalar_type(), "swish_forward",
                                  [&]() {
                                    const scalar_t* from = x.data_ptr<scalar_t>();
                                    scalar_t* to = y.data_ptr<scalar_t>();
                                    at::parallel_for(0, x.numel(), 1024, [=](int64_t begin, int64_t end) {
                                      for (int64_t i = begin; i < end; ++i) to[i] = swish(from[i]);
                                    });
                                  });
  return y;
}

torch::Tensor row_sums(const torch::Tensor& x) {
  auto y = torch::zeros({x.size(0)}, x.options());
  AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(at::kHalf, at::kBFloat16, at::kBool, x.scalar_type(), "row_sums", [&] {
    using accscalar_t = at::acc_type<scalar_t, /*is_cuda=*/false>;
    auto from = x.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>();
    auto to = y.packed_accessor64<scalar_t, 1>();
    for (int i = 0; i < from.size(0); i++) {
      accscalar_t sum = 0;
      for (int j = 0; j < from.size(1); j++) sum += static_cast<accscalar_t>(from[i][j]);
      to[i] = static_cast<scalar_t>(sum);
    }
  });
  return y;
}

torch::Tensor rotate(const torch::Tensor& x, double angle) {
  auto y = x.clone();
  AT_DISPATCH_COMPLEX_TYPES(x.scalar_type(), "rotate", [&] {
    using real_t = typename scalar_t::value_type;
    const scalar_t turn(std::cos(real_t(angle)), std::sin(real_t(angle)));
    auto data = y.data_ptr<scalar_t>();
    for (int64_t i = 0; i < y.numel(); ++i)
      data[i] = data[i] * turn + c10::complex<real_t>(0, 1) * std::conj(data[i]).real();
  });
  return y;
}

// What each macro lets through.
std::string accepted(const torch::Tensor& x, int64_t macro) {
  std::string name;
  const auto type = x.scalar_type();
  auto take = [&](auto value) { name = c10::toString(c10::CppTypeToScalarType<decltype(value)>::value); };
  switch (macro) {
    case 0: AT_DISPATCH_FLOATING_TYPES_AND_HALF(type, "m0", [&] { take(scalar_t()); }); break;
    case 1: AT_DISPATCH_ALL_TYPES_AND(at::ScalarType::Bool, type, "m1", [&] { take(scalar_t()); }); break;
    case 2: AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(type, "m2", [&] { take(scalar_t()); }); break;
    case 3: AT_DISPATCH_INDEX_TYPES(type, "m3", [&] { take(index_t()); }); break;
    case 4: AT_DISPATCH_REDUCED_FLOATING_TYPES(type, "m4", [&] { take(scalar_t()); }); break;
    case 5: AT_DISPATCH_ALL_TYPES_AND_COMPLEX(type, "m5", [&] { take(scalar_t()); }); break;
    case 6: AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, type, "m6", [&] { take(scalar_t()); }); break;
    case 7: AT_DISPATCH_INTEGRAL_TYPES_AND(at::kBool, type, "m7", [&] { take(scalar_t()); }); break;
    case 8:
      AT_DISPATCH_SWITCH(type, "m8", AT_DISPATCH_CASE(at::ScalarType::Float, [&] {
                           take(scalar_t());
                         }) AT_DISPATCH_CASE_INTEGRAL_TYPES([&] { take(scalar_t()); }));
      break;
    case 9:
      AT_DISPATCH_ALL_TYPES_AND3(at::kBool, at::kHalf, at::kBFloat16, type, "m9", [&] { take(scalar_t()); });
      break;
  }
  return name;
}

double numbers() {
  const at::Half h = 1.5f, g(0.1f);
  const at::BFloat16 b = 3.140625f;
  at::Half sum = h + g * at::Half(2);
  sum += 1;
  sum = sum / 2 - h;
  c10::complex<double> z(1, 2), w = std::exp(z) * 2.0;
  static_assert(sizeof(at::Half) == 2 && sizeof(c10::complex<float>) == 8);
  TORCH_CHECK(h < at::Half(2) && -h == at::Half(-1.5f) && std::numeric_limits<at::Half>::max() == 65504);
  TORCH_CHECK(h.x == 0x3e00 && b.x == 0x4049 && std::isnan(float(std::numeric_limits<at::BFloat16>::quiet_NaN())));
  TORCH_CHECK(at::isIntegralType(at::kInt, false) && at::isFloatingType(at::kHalf) &&
              at::isComplexType(at::kComplexFloat));
  TORCH_CHECK(c10::elementSize(at::kDouble) == 8 && at::toOpMathType(at::kHalf) == at::kFloat);
  TORCH_CHECK(at::promote_types(at::kHalf, at::kBFloat16) == at::kFloat);
  return double(sum) + double(b) + w.real() + std::abs(w) + z.imag();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("swish_forward", &swish_forward, "swish");
  m.def("row_sums", &row_sums);
  m.def("rotate", &rotate);
  m.def("accepted", &accepted);
  m.def("numbers", &numbers);
}
