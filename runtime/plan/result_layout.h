// How the results of a graph op lie in memory where that is not row-major.
//
// Steps that write their results in any layout do so where these are to lie, and make what they read of
// one another in the same layout; what other steps make is copied. Used by graph_op.cpp.
#pragma once

#include <cstdint>
#include <optional>

#include "core/geometry.h"
#include "core/layout.h"
#include "core/op_record.h"
#include "plan/executor.h"

namespace pellucid {

// How the results of a functional call are laid out, as its declaration says.
// A result is laid out as `format` says; to preserve: as `like`, which has its shape.
struct LayoutOfResults {
  MemoryFormat format;
  const TensorImpl* like;
};

// Whether a functional call's results lie as plans make them.
bool lies_row_major(const OpCall& call, ResultLayout declared);

class LaidOutResults {
 public:
  // Tells the frame, which is bound and has not run, how values are to lie.
  LaidOutResults(Frame& frame, const OpCall& call, ResultLayout declared);
  // Copies the results of the frame that lie otherwise, before they are given.
  void finish(Frame& frame) const;

 private:
  void lay_out_values(Frame& frame) const;
  void lay_out_sources(Frame& frame) const;
  void lay_out_result(Frame& frame, uint16_t number) const;

  const std::optional<LayoutOfResults> layout_;
};

}  // namespace pellucid
