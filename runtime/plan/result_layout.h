// The layout of a graph op's results where it is not row-major.
//
// Steps that write their results in any layout write these directly, and store what they read of
// one another in the same layout; what other steps make is copied. Used by graph_op.cpp.
#pragma once

#include <cstdint>
#include <optional>

#include "core/geometry.h"
#include "core/layout.h"
#include "core/op_record.h"
#include "plan/executor.h"

namespace pellucid {

// The layout of a functional call's results, as its declaration says.
// A result has the memory format `format`; to preserve: as `like`, which has its shape.
struct LayoutOfResults {
  MemoryFormat format;
  const TensorImpl* like;
};

// Whether a functional call's results have the layout of its plan.
bool results_are_row_major(const OpCall& call, ResultLayout declared);

class ResultLayoutScope {
 public:
  // Tells the frame, which is bound and has not run, the strides of values.
  ResultLayoutScope(Frame& frame, const OpCall& call, ResultLayout declared);
  // Copies the results of the frame that have other strides, before they are given.
  void finish(Frame& frame) const;

 private:
  void choose_value_strides(Frame& frame) const;
  void choose_source_strides(Frame& frame) const;
  void choose_result_strides(Frame& frame, uint16_t number) const;

  const std::optional<LayoutOfResults> layout_;
};

}  // namespace pellucid
