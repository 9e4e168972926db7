// The ops that are convolutions: where they have their arguments, and their gradients as `convolution_backward`.
#pragma once

#include <cstdint>

#include "autograd/derivative.h"
#include "core/op_record.h"

namespace pellucid::cuda {

constexpr int kImage = 0, kFilter = 1, kBias = 2, kGradients = 3;  // the results of convolution_backward

// Where an op has its arguments; -1: it has none.
struct ConvolutionForm {
  const OpRecord* op;
  int8_t input, weight, bias, stride, padding, dilation, groups, output_padding, transposed;
  bool is_transposed, is_gradient;
};

// Null if the op is neither a convolution nor the op of their gradients.
const ConvolutionForm* form_of(const OpRecord& op);

// A DerivativeFinder: `convolution_backward`, for a convolution of GPUs' tensors while cuDNN is enabled.
SharedPlan convolution_gradient(const OpCall& call, uint64_t mask);

}  // namespace pellucid::cuda
