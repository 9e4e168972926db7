// RandomWords: the words that an elementwise random call draws.
#pragma once

#include "core/generator.h"
#include "core/geometry.h"
#include "core/tensor.h"
#include "kernels/device_launch.h"
#include "kernels/element_function.h"
#include "kernels/nest.h"

namespace pellucid {

// At least so many words in a row, int32, where the generator draws them: in the CPU's memory, or on `device`.
Tensor draw_words(Generator& generator, Device device, int64_t count);

// `num_draws` words per element, elements in the order in which the result is stored, as PyTorch draws them.
class RandomWords {
 public:
  RandomWords(const ElementFunction& function, const TensorImpl& result, const OpCall& call);

  RandomWords copied_to(Device device) const;
  MapOperand operand(const ElementFunction::Input& input) const;  // on the CPU
  LaunchOperand launch_operand(const ElementFunction::Input& input, Sizes shape) const;

 private:
  Tensor words_;
  int64_t strides_[kMaxDims];
};

}  // namespace pellucid
