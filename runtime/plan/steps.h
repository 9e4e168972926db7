// The steps of a plan, one function per kind; `run_step` dispatches on the kind.
#pragma once

#include "plan/executor.h"
#include "products/packed_product.h"
#include "timeline/recorder.h"

namespace pellucid {

void run_step(Frame& frame, const Step& step);

// The timeline event of a step. Steps within a step have none, because they may run for each element.
class StepScope {
 public:
  explicit StepScope(const Step& step) {
    if (is_watched(kWatchSteps)) [[unlikely]]
      open(step);
  }

 private:
  void open(const Step& step);
  TimelineScope scope_;
};

inline Value value_of(const Constant& constant) {
  if (constant.complex) {
    Value value;
    value.tag = Tag::Complex;
    value.complex = &*constant.complex;
    return value;
  }
  return constant.is_number ? Value::of_float(constant.value.number) : Value::of_int(constant.value.integer);
}

// Runs a map, rows or gemm step whose operands are placed already. `accumulates`: the product is added to its
// result; `panel_cache` is for its second operand. `nest` is consumed. Returns the kernels' status.
int64_t run_placed(const Step& step, Placement& nest, const uint64_t* params, bool accumulates,
                   CachedPanels* panel_cache = nullptr);

// An existing value is written in place: the steps that fill a buffer share its number.
void make_outputs(Frame& frame, const Step& step);

// Whether the outputs of a nest hold the identity of its combination before its kernel runs, which the machine
// code of some nests does not need. Resolves the kernel, which may call Python.
bool is_filled(const Step& step);

// A kernel reads the first element of an operand broadcast along a row even if the row is empty, so inputs
// without elements point to a zero.
void place_empty_inputs(const Frame& frame, const Step& step, Placement& nest);

}  // namespace pellucid
