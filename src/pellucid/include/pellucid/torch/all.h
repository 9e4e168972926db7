// All that any header of PyTorch's offers here.
#pragma once

#include <algorithm>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <deque>
#include <iostream>
#include <numeric>
#include <set>
#include <unordered_set>

#include "pellucid/torch/dispatch.h"
#include "pellucid/torch/guards.h"
#include "pellucid/torch/library.h"
#include "pellucid/torch/print.h"
#include "pellucid/torch/random.h"
#include "pellucid/torch/serialize.h"

namespace at {

inline bool can_cast(ScalarType from, ScalarType to) {
  const c10::detail::Lock lock;
  return pybind11::module_::import("pellucid").attr("can_cast")(from, to).cast<bool>();
}
inline ScalarType result_type(const Tensor& a, const Tensor& b) {
  const c10::detail::Lock lock;
  return pybind11::module_::import("pellucid").attr("result_type")(a, b).cast<ScalarType>();
}
inline ScalarType promote_types(ScalarType a, ScalarType b) {
  const c10::detail::Lock lock;
  return pybind11::module_::import("pellucid").attr("promote_types")(a, b).cast<ScalarType>();
}

// d(outputs) / d(inputs), as torch.autograd computes them.
inline std::vector<Tensor> gradients(TensorList outputs, TensorList inputs, TensorList grad_outputs, bool retain_graph,
                                     bool create_graph, bool allow_unused) {
  const c10::detail::Lock lock;
  const pybind11::object grad = pybind11::module_::import("pellucid.autograd").attr("grad");
  const pybind11::object weights = grad_outputs.empty() ? pybind11::none() : pybind11::cast(IValue(grad_outputs));
  const pybind11::object found =
      grad(IValue(outputs), IValue(inputs), weights, retain_graph, create_graph, true, allow_unused);
  return detail::Convert<std::vector<Tensor>>::from(found.ptr());
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
  run(gradient, retain_graph, create_graph, IValue(inputs));
}

}  // namespace at

namespace torch {
namespace autograd {

inline variable_list grad(const variable_list& outputs, const variable_list& inputs,
                          const variable_list& grad_outputs = {}, at::optional<bool> retain_graph = {},
                          bool create_graph = false, bool allow_unused = false) {
  return at::gradients(outputs, inputs, grad_outputs, retain_graph.value_or(create_graph), create_graph, allow_unused);
}
inline void increment_version(const at::Tensor& tensor) {
  const c10::detail::Lock lock;
  pybind11::module_::import("pellucid.autograd.graph").attr("increment_version")(tensor);
}
inline void backward(const variable_list& tensors, const variable_list& grad_tensors = {},
                     at::optional<bool> retain_graph = {}, bool create_graph = false,
                     const variable_list& inputs = {}) {
  const c10::detail::Lock lock;
  const pybind11::object run = pybind11::module_::import("pellucid.autograd").attr("backward");
  const auto given = [](const variable_list& list) {
    return list.empty() ? pybind11::object(pybind11::none()) : pybind11::cast(at::IValue(list));
  };
  run(at::IValue(tensors), given(grad_tensors), retain_graph, create_graph, pybind11::none(), given(inputs));
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
