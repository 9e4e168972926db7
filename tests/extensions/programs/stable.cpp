// The tutorial of custom ops with the stable interface.
#include <Python.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/macros/Macros.h>

extern "C" PyObject* PyInit_stable(void) {
  static struct PyModuleDef module_def = {PyModuleDef_HEAD_INIT, "stable", NULL, -1, NULL, NULL, NULL, NULL, NULL};
  return PyModule_Create(&module_def);
}

namespace extension_stable {

torch::stable::Tensor mymuladd_cpu(const torch::stable::Tensor& a, const torch::stable::Tensor& b, double c) {
  STD_TORCH_CHECK(a.sizes().equals(b.sizes()));
  STD_TORCH_CHECK(a.scalar_type() == torch::headeronly::ScalarType::Float, "expected float");
  STD_TORCH_CHECK(a.device().type() == torch::headeronly::DeviceType::CPU);
  torch::stable::Tensor a_contig = torch::stable::contiguous(a);
  torch::stable::Tensor b_contig = torch::stable::contiguous(b);
  torch::stable::Tensor result = torch::stable::empty_like(a_contig);
  const float* a_ptr = a_contig.const_data_ptr<float>();
  const float* b_ptr = b_contig.const_data_ptr<float>();
  float* result_ptr = result.mutable_data_ptr<float>();
  for (int64_t i = 0; i < result.numel(); i++) result_ptr[i] = a_ptr[i] * b_ptr[i] + c;
  return result;
}

std::vector<torch::stable::Tensor> parts(torch::stable::Tensor x, std::optional<int64_t> dim) {
  auto filled = torch::stable::new_zeros(x, {x.size(0), 2}, torch::headeronly::ScalarType::Long);
  return {torch::stable::transpose(x, 0, 1), torch::stable::sum(x, std::vector<int64_t>{dim.value_or(0)}), filled,
          torch::stable::narrow(x, 1, 0, 2)};
}

STABLE_TORCH_LIBRARY(extension_stable, m) {
  m.def("mymuladd(Tensor a, Tensor b, float c) -> Tensor");
  m.def("parts(Tensor x, int? dim) -> Tensor[]");
}

STABLE_TORCH_LIBRARY_IMPL(extension_stable, CPU, m) {
  m.impl("mymuladd", TORCH_BOX(&mymuladd_cpu));
  m.impl("parts", TORCH_BOX(&parts));
}

}  // namespace extension_stable
