// A handful of ops with derivative plans made by hand, so that the engine is tested without the
// op catalogue. Kernels are slow and simple: float32 and float64, any strides.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "autograd/derivative.h"
#include "autograd/engine.h"
#include "autograd/gradient_ops.h"
#include "autograd/tensor_history.h"
#include "core/dispatcher.h"

namespace toy {

using pellucid::Tensor;
using pellucid::TensorImpl;
using Numbers = std::vector<double>;
using Shape = std::vector<int64_t>;

Tensor tensor(const Numbers& values, const Shape& sizes, pellucid::DType dtype = pellucid::DType::Float32);
Tensor leaf(const Numbers& values, const Shape& sizes, pellucid::DType dtype = pellucid::DType::Float32);
Numbers numbers(const Tensor& tensor);

std::vector<Tensor> call(const char* op, std::initializer_list<pellucid::Value> arguments);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor exp(const Tensor& a);
Tensor sum(const Tensor& a);
Tensor view(const Tensor& a, const Shape& sizes);
Tensor select(const Tensor& a, int64_t index);  // along the first dimension
std::vector<Tensor> unbind(const Tensor& a);
Tensor stack_sum(std::span<const Tensor> tensors);  // sum of a list of tensors
void mul_(const Tensor& a, const Tensor& b);
void exp_(const Tensor& a);

void backward(const Tensor& root, bool retain_graph = false, bool create_graph = false);
std::vector<Tensor> grad(const Tensor& root, std::initializer_list<Tensor> inputs, bool retain_graph = false,
                         bool create_graph = false, bool allow_unused = false);
Numbers grad_numbers(const Tensor& tensor);
// Tensors and nodes alive: blocks of the allocator in use.
int64_t live_blocks();

}  // namespace toy
