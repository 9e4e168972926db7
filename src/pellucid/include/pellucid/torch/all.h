// All that any header of PyTorch's offers here.
#pragma once

#include <algorithm>
#include <cmath>
#include <iostream>

#include "pellucid/torch/dispatch.h"
#include "pellucid/torch/library.h"
#include "pellucid/torch/random.h"

namespace at {

inline ScalarType promote_types(ScalarType a, ScalarType b) {
  const c10::detail::Lock lock;
  return pybind11::module_::import("pellucid").attr("promote_types")(a, b).cast<ScalarType>();
}

// d(outputs) / d(inputs), as torch.autograd computes them.
inline std::vector<Tensor> gradients(TensorList outputs, TensorList inputs, TensorList grad_outputs, bool retain_graph,
                                     bool create_graph, bool allow_unused) {
  const c10::detail::Lock lock;
  const pybind11::object grad = pybind11::module_::import("pellucid.autograd").attr("grad");
  const pybind11::object weights = grad_outputs.empty() ? pybind11::none() : pybind11::cast(grad_outputs.vec());
  const pybind11::object found =
      grad(outputs.vec(), inputs.vec(), weights, retain_graph, create_graph, true, allow_unused);
  return found.cast<std::vector<Tensor>>();
}
inline bool Tensor::is_sparse() const {
  const c10::detail::Lock lock;
  return pybind11::cast(*this).attr("is_sparse").cast<bool>();
}
inline void Tensor::backward() const { backward(Tensor()); }
inline void Tensor::backward(const Tensor& gradient, optional<bool> retain_graph, bool create_graph,
                             optional<TensorList> inputs) const {
  const c10::detail::Lock lock;
  const pybind11::object run = pybind11::cast(*this).attr("backward");
  const auto given = inputs ? optional<std::vector<Tensor>>(inputs->vec()) : nullopt;
  run(gradient, retain_graph, create_graph, given);
}

}  // namespace at

namespace torch {
namespace autograd {

inline variable_list grad(const variable_list& outputs, const variable_list& inputs,
                          const variable_list& grad_outputs = {}, at::optional<bool> retain_graph = {},
                          bool create_graph = false, bool allow_unused = false) {
  return at::gradients(outputs, inputs, grad_outputs, retain_graph.value_or(create_graph), create_graph, allow_unused);
}
inline void backward(const variable_list& tensors, const variable_list& = {}) {
  for (const at::Tensor& tensor : tensors) tensor.backward();
}

}  // namespace autograd

// The interface that does not change: the same tensors and functions.
namespace stable {
using namespace at;
}
namespace headeronly {
using namespace c10;
}
}  // namespace torch
