// Workspace: temporary memory for a library routine.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/storage.h"

namespace pellucid {

// An array from the caching allocator, because it may be as large as the operands; per-thread scratch memory is
// for kernels.
template <class T>
class Workspace {
 public:
  explicit Workspace(int64_t count)
      : memory_(allocate_storage(static_cast<size_t>(std::max<int64_t>(1, count)) * sizeof(T))) {}
  operator T*() const { return static_cast<T*>(memory_->host); }

 private:
  Ref<Storage> memory_;
};

}  // namespace pellucid
