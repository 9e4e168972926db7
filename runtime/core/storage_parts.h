// Memory that changes its storage, and storages over a part of another's memory.
#pragma once

#include "core/storage.h"

namespace pellucid {

// The memory of a storage on the CPU as a storage of its own, which then frees it; the caller gives `storage` other
// memory. Null: it has none apart from its own block, which lives as long as it.
Ref<Storage> take_memory(Storage& storage);

// Makes a storage with one holder as if newly allocated: another identity, at version 0.
void renew_storage(Storage& storage);

// A storage over a part of the memory of `whole`, which it keeps.
Ref<Storage> slice_storage(Storage& whole, size_t start, size_t nbytes);
// What a storage is a part of, or null.
Storage* whole_of(const Storage& storage);

}  // namespace pellucid
