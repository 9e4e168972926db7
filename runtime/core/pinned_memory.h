// Page-locked memory of the host, from which a device copies while the program goes on.
//
// Blocks come from the backend that offers it (Backend::allocate_pinned) and are reused, never released. A block that
// an asynchronous copy still uses is reused once the copy's stream has passed the point where the block was freed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/storage.h"

namespace pellucid {

// Raises a Runtime error unless a device can use pinned memory.
Ref<Storage> allocate_pinned_storage(size_t nbytes);
bool is_pinned(const Storage& storage);
void require_pinnable(Device device);  // raises a Runtime error unless it is the CPU
// Called when a stream is given an asynchronous copy from or to the storage, which is pinned.
void note_pinned_use(const Storage& storage, Device device, int64_t stream);

}  // namespace pellucid
