// What is left to do of a prepared call, as data: the memory that it makes, fills, views and launches.
//
// plan/prepared.h runs such a list for one call. record/program.h joins the lists of many calls.
#pragma once

#include <optional>
#include <vector>

#include "core/tensor.h"
#include "kernels/copy.h"
#include "kernels/kernel_ref.h"

namespace pellucid {

struct Step;

// A kernel's argument: `offset` bytes from the first element of a value, or null.
struct PreparedPointer {
  uint16_t value;
  int64_t offset;
};
constexpr uint16_t kNullPointer = UINT16_MAX;

struct PreparedAction {
  enum class Kind : uint8_t { Make, Fill, View, Launch };
  Kind kind = Kind::Make;
  bool needs_workspace = false;  // Launch: the first parameter is memory of the running thread
  uint16_t value = 0;            // Make, Fill, View: the value that it defines or fills
  uint16_t source = 0;           // View
  DType dtype = DType::Float32;  // Make, Fill; of a Launch that needs a workspace: its result's
  int64_t offset = 0;            // View: in elements, from the source's first
  const Step* step = nullptr;    // Launch by a plan
  Element element{};             // Fill
  KernelRef* kernel = nullptr;   // Launch
  std::vector<PreparedPointer> pointers;
  std::optional<Geometry> geometry;     // Make and View: the value's, if a Geometry can hold it
  std::vector<int64_t> sizes, strides;  // Make and View: otherwise; Launch: the kernel's
  std::vector<uint64_t> params;

  // Of Make.
  int64_t numel() const {
    if (geometry) return geometry->numel;
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    return count;
  }
};

using PreparedActions = std::vector<PreparedAction>;

// All that a call does (Prepared::list). Values are the call's tensors, in argument order, then those that it makes.
struct PreparedList {
  PreparedActions actions;
  std::vector<uint16_t> results;  // per returned tensor
  std::vector<uint16_t> written;  // the tensors that it writes in place
};

}  // namespace pellucid
