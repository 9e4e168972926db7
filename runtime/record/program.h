// Program: the actions of a replay joined into one list of kernel launches over one block of memory.
//
// A replayed call whose ops are prepared needs neither tensors nor allocations for its intermediate results: their
// places in the block follow from their lifetimes. Only what others see has a tensor: what the call is given, what
// outlives it, and the operands and results of ops that are more than launches. Made by Replay from its recipe, once
// every op has had its chance to be prepared.
#pragma once

#include <memory>
#include <vector>

#include "kernels/prepared_action.h"
#include "record/replay.h"

namespace pellucid::record {

class Program {
 public:
  // Null if no action of the recipe can be listed. `held`: the tensors that the program holds.
  static std::unique_ptr<Program> join(const Recipe& recipe, const std::vector<Tensor>& held);

  // Tensors beyond those of the recipe's slots.
  size_t num_extra() const { return num_extra_; }
  // For explain: the ops that are launches alone, and the bytes of the block.
  size_t num_ops() const { return lists_.size(); }
  size_t block_bytes() const { return block_bytes_; }
  // Performs the actions. What it throws is what the failing op throws.
  void run(Replay::Run& run) const;

 private:
  friend class Joiner;
  // `offset` bytes from the first element of a tensor, or from the block's start.
  struct Pointer {
    uint32_t tensor;
    int64_t offset;
  };
  static constexpr uint32_t kBlock = UINT32_MAX, kNull = UINT32_MAX - 1;

  struct Instruction {
    enum class Kind : uint8_t { Launch, Fill, Copy, BeforeWrite, Written, Make, View, Perform, Release };
    Kind kind;
    uint32_t tensor = 0;                       // BeforeWrite to Release, other than Perform
    uint32_t source = 0;                       // View: the tensor viewed
    uint32_t first = 0;                        // Launch, Fill, Copy: the first of its pointers
    int64_t count = 0;                         // Fill: of elements
    const PreparedAction* prepared = nullptr;  // Launch, Fill, Make, View
    const Action* action = nullptr;            // Launch: of which it is a part; Copy: its bytes; Perform
  };

  std::vector<PreparedList> lists_;
  std::vector<Instruction> instructions_;
  std::vector<Pointer> pointers_;
  size_t num_extra_ = 0, block_bytes_ = 0;
};

}  // namespace pellucid::record
