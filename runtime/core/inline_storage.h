// Small storages whose header and data share a block: the hot part of allocate_storage, for tensor.cpp.
#pragma once

#include <new>

#include "core/allocator.h"
#include "core/storage.h"

namespace pellucid {

// The most bytes that share a block with the header. Larger data gets a block of its own, so that power-of-two
// sizes do not spill into the next class.
constexpr size_t kInlineStorage = 4096 - sizeof(Storage);

inline int inline_storage_class(size_t nbytes) { return static_cast<int>((sizeof(Storage) + nbytes - 1) / 64); }

// Uses a block of the class for `nbytes`.
inline Storage* make_inline_storage(void* block, size_t nbytes, int klass) {
  auto* storage = new (block) Storage;
  storage->host = storage + 1;
  storage->nbytes = nbytes;
  storage->size_class = storage->header_class = static_cast<int16_t>(klass);
  return storage;
}

// `nbytes` from 1 to kInlineStorage, on the CPU.
inline Storage* allocate_inline_storage(size_t nbytes) {
  const int klass = inline_storage_class(nbytes);
  return make_inline_storage(allocate_block(sizeof(Storage) + nbytes, klass), nbytes, klass);
}

// Whether the storage consists of its block alone.
inline bool is_inline_storage(const Storage& storage) { return storage.host == &storage + 1 && !storage.deleter; }

}  // namespace pellucid
