// RandomWords: the words that an elementwise random call draws, and what graphs of devices do to draws.
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

// A draw by a kernel that is captured reads where its stream begins from memory of the graph's own. A replay writes
// that memory first, and takes from the generators what the whole graph draws.
void end_captured_draws(Device device, int64_t stream, uint64_t graph);  // graph 0: the capture failed
void begin_replayed_draws(Device device, uint64_t graph, int64_t stream);
void drop_captured_draws(Device device, uint64_t graph);

}  // namespace pellucid
