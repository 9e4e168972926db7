// The plan executor: runs a plan's steps over tensors, without the dispatcher and without Python.
//
// A Frame lives on the C stack of one call. Steps allocate their results and free them after the last use;
// kernels missing from the pack run as tile programs (plan/tile_program.h).
#pragma once

#include <array>
#include <vector>

#include "core/donation.h"
#include "plan/key.h"
#include "plan/plan.h"

namespace pellucid {

constexpr int kInlineRegisters = 192;
constexpr int kInlineValues = 48;

class Frame {
 public:
  // The plan's values are allocated on `device`, where its inputs are.
  Frame(const Plan& plan, const OpCall& call, std::span<TensorImpl* const> inputs, Device device = {});
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  bool bind();  // false: a guard says that this plan is for another case
  // Like `bind`, for the step of a recurrence: some registers come from the enclosing frame.
  bool bind(const Frame& outer, std::span<const std::pair<uint16_t, uint16_t>> bound);
  void run();  // all steps; afterwards the outputs can be handed over
  TensorImpl** values() { return values_; }
  // Calls run_one(step) in order, running the register program's parts between steps; frees values after their
  // last use.
  template <class RunOne>
  void each_step(RunOne&& run_one) {
    size_t position = plan.start;
    for (const Step& step : plan.steps) {
      if (step.kind == StepKind::Compute) {
        run_program(plan.program, position, step.count, call, inputs_.data(), registers);
        position = step.count;
      } else {
        run_one(step);
      }
      for (uint16_t number : step.releases) release(number);
    }
  }
  TensorImpl* output(size_t k) const { return values_[plan.outputs[k]]; }
  // Makes the frame ready to run again with the same binding, on `inputs` of the same sizes.
  void restart(std::span<TensorImpl* const> inputs);

  const Plan& plan;
  const OpCall& call;
  Register* registers;
  Device device;  // the CPU while a device's step falls back to it: plan/host_step.h
  const bool meta;
  Donation* donation = nullptr;  // to the call; null in the frames of a recurrence's elements, which share their inputs

  TensorImpl* value(uint16_t number) const { return values_[number]; }
  int64_t size(uint16_t reg) const { return registers[reg].integer; }
  TensorImpl* make(uint16_t number);  // a value with the plan's sizes, newly allocated or from `offer`
  // Lets the result `number` be computed in the memory of `destination`, if its size is as planned.
  void offer(uint16_t number, TensorImpl& destination);
  bool is_offered(uint16_t number) const;
  // Makes the value `number` have these strides, in elements.
  void set_strides(uint16_t number, std::span<const int64_t> strides);
  const int64_t* layout_of(uint16_t number) const;  // the strides set, or null: row-major
  void set(uint16_t number, TensorImpl* owned);
  void release(uint16_t number);
  // A copy of an input of the call, row-major or with its second dim innermost; shared by all steps that need it.
  TensorImpl& copied_input(uint16_t number, bool channels_innermost);

 private:
  void probe_large_results() const;
  bool make_results_without_data();

  std::span<TensorImpl* const> inputs_;
  TensorImpl** values_;
  Register inline_registers_[kInlineRegisters];
  TensorImpl* inline_values_[kInlineValues];
  std::vector<Register> spilled_registers_;
  std::vector<TensorImpl*> spilled_values_;
  std::vector<std::pair<uint16_t, TensorImpl*>> offers_;
  struct Copied {
    uint16_t number;
    bool channels_innermost;
    Tensor copy;
  };
  std::vector<Copied> copies_;
  struct ChosenStrides {
    uint16_t number;
    std::array<int64_t, kMaxDims> strides;
  };
  std::vector<ChosenStrides> chosen_strides_;
};

// Hands a functional call's results over: one reference to each of `values`, by the plan's numbers.
void give_results(const Plan& plan, TensorImpl** values, OpCall& call);

// A nest bound to memory: a pointer and a byte stride per axis for each operand (outputs first).
struct Placement {
  int axes = 0;
  int operands = 0;
  int64_t extents[kMaxAxes];
  char* data[kMaxNestOperands];
  int64_t strides[kMaxNestOperands][kMaxAxes];
  DType dtypes[kMaxNestOperands];
};

// Binds the step's operands to memory; checks that every index of the nest is inside its operand.
void place(const Frame& frame, const Step& step, Placement& out);

// Binds one operand of the nest, over the axes and extents of `out`.
void place_operand(const Frame& frame, const Operand& operand, Placement& out, int k);

// Writes the values of a step's kernel parameters.
void load_params(const Frame& frame, const KernelUse& use, uint64_t* out);

// Raises a non-zero status as the error that the caller expects.
void check_status(const Plan& plan, const OpCall& call, const Step& step, int64_t status);

}  // namespace pellucid
