// The layout of a graph op's results if it is not row-major.
//
// Steps that can write in any layout write such results directly, and store the values they pass on in the same
// layout; results of other steps are copied. Used by graph_op.cpp.
#pragma once

#include <cstdint>
#include <optional>

#include "core/geometry.h"
#include "core/layout.h"
#include "core/op_record.h"
#include "plan/executor.h"

namespace pellucid {

// The layout of a functional call's results, as its declaration says: the memory format `format`, or, for
// "preserve", the layout of `like`, which has the result's shape.
struct LayoutOfResults {
  MemoryFormat format;
  const TensorImpl* like;
};

// Whether a functional call's results have the layout of its plan.
bool results_are_row_major(const OpCall& call, ResultLayout declared);

class ResultLayoutScope {
 public:
  // Sets the strides of values in the frame, which is bound and has not run.
  ResultLayoutScope(Frame& frame, const OpCall& call, ResultLayout declared);
  // Copies results of the frame that have other strides, before they are handed over.
  void finish(Frame& frame) const;

 private:
  void choose_value_strides(Frame& frame) const;
  void choose_source_strides(Frame& frame) const;
  void choose_result_strides(Frame& frame, uint16_t number) const;

  const std::optional<LayoutOfResults> layout_;
};

}  // namespace pellucid
