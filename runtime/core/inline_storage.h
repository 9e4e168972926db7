// Small storages in one block with their data: the hot part of allocate_storage, for tensor.cpp.
#pragma once

#include <new>

#include "core/allocator.h"
#include "core/storage.h"

namespace pellucid {

// Up to here header and data share a block; larger data gets blocks of its own, so that sizes which
// are powers of two do not spill into the next class.
constexpr size_t kInlineStorage = 4096 - sizeof(Storage);

inline int inline_storage_class(size_t nbytes) { return static_cast<int>((sizeof(Storage) + nbytes - 1) / 64); }

// In a block of the class that `nbytes` take.
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

// Whether the storage is nothing but its block.
inline bool is_inline_storage(const Storage& storage) { return storage.host == &storage + 1 && !storage.deleter; }

}  // namespace pellucid
