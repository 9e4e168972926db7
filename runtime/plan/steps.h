// The steps of a plan, one function per kind; `run_step` picks it.
#pragma once

#include "plan/executor.h"
#include "products/packed_product.h"
#include "timeline/recorder.h"

namespace pellucid {

void run_step(Frame& frame, const Step& step);

// The event of a step in the timeline; of steps within a step none, which may run for each element.
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

// A map, rows or gemm step whose operands are placed already; `accumulates`: the product adds to its
// result, `panel_cache` is for its second factor. `nest` is used up. Returns the kernels' status.
int64_t run_placed(const Step& step, Placement& nest, const uint64_t* params, bool accumulates,
                   CachedPanels* panel_cache = nullptr);

// A value that exists already is written in place: the steps that fill a buffer share its number.
void make_outputs(Frame& frame, const Step& step);

// Whether the outputs of a nest hold what combines with nothing before its kernel runs, which the machine code of
// some has no need of. Asks for the kernel, which may call Python.
bool is_filled(const Step& step);

// A kernel reads the first element of an operand broadcast along a row, also of a row of no elements: inputs
// without elements lead to a zero.
void place_empty_inputs(const Frame& frame, const Step& step, Placement& nest);

}  // namespace pellucid
