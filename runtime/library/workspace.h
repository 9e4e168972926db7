// Workspace: memory that a library routine needs while it runs.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/storage.h"

namespace pellucid {

// An array of the caching allocator's, as large as operands are: what a thread keeps for itself is for kernels.
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
