// The tutorial of custom ops: schemas, kernels at CPU, a module that only exists to be imported.
#include <ATen/Operators.h>
#include <Python.h>
#include <torch/all.h>
#include <torch/library.h>

#include <vector>

extern "C" {
PyObject* PyInit_muladd(void) {
  static struct PyModuleDef module_def = {
      PyModuleDef_HEAD_INIT, "muladd", NULL, -1, NULL,
  };
  return PyModule_Create(&module_def);
}
}

namespace extension_cpp {

at::Tensor mymuladd_cpu(const at::Tensor& a, const at::Tensor& b, double c) {
  TORCH_CHECK(a.sizes() == b.sizes());
  TORCH_CHECK(a.dtype() == at::kFloat);
  TORCH_CHECK(b.dtype() == at::kFloat);
  TORCH_INTERNAL_ASSERT(a.device().type() == at::DeviceType::CPU);
  TORCH_INTERNAL_ASSERT(b.device().type() == at::DeviceType::CPU);
  at::Tensor a_contig = a.contiguous();
  at::Tensor b_contig = b.contiguous();
  at::Tensor result = torch::empty(a_contig.sizes(), a_contig.options());
  const float* a_ptr = a_contig.data_ptr<float>();
  const float* b_ptr = b_contig.data_ptr<float>();
  float* result_ptr = result.data_ptr<float>();
  for (int64_t i = 0; i < result.numel(); i++) result_ptr[i] = a_ptr[i] * b_ptr[i] + c;
  return result;
}

// Writes the result into an argument.
void myadd_out_cpu(const at::Tensor& a, const at::Tensor& b, at::Tensor& out) {
  TORCH_CHECK(a.sizes() == b.sizes());
  TORCH_CHECK(b.sizes() == out.sizes());
  TORCH_CHECK(out.is_contiguous());
  at::add_out(out, a, b);
}

at::Tensor& myscale_(at::Tensor& self, const at::Scalar& factor) { return self.mul_(factor); }

TORCH_LIBRARY(extension_cpp, m) {
  m.def("mymuladd(Tensor a, Tensor b, float c) -> Tensor");
  m.def("myadd_out(Tensor a, Tensor b, Tensor(a!) out) -> ()");
  m.def("myscale_(Tensor(a!) self, Scalar factor) -> Tensor(a!)", {at::Tag::pt2_compliant_tag});
}

TORCH_LIBRARY_IMPL(extension_cpp, CPU, m) {
  m.impl("mymuladd", &mymuladd_cpu);
  m.impl("myadd_out", &myadd_out_cpu);
  m.impl("myscale_", &myscale_);
}

TORCH_LIBRARY_IMPL(extension_cpp, Meta, m) {
  m.impl("mymuladd", [](const at::Tensor& a, const at::Tensor& b, double) { return at::empty_like(a); });
}

}  // namespace extension_cpp
