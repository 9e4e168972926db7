// Storages whose bytes several processes map.
//
// Three kinds of memory: an object that a descriptor names (memfd; it goes with its last user), an object that a name
// in /dev/shm names, and a file. Named memory begins with the count of its users in all processes, and the last of
// them unlinks it; a process that is killed leaves its count and the name. A forked process uses what it inherited
// without being counted.
//
// Sharing moves the bytes of a storage that is there already: every tensor over it sees the new memory, as after
// `resize_`. Whoever holds an address of the old memory (NumPy, DLPack, a slice) keeps that, which lives as long as the
// storage. Memory that a process opens twice is mapped once, at one address. Callers exclude each other by the
// interpreter lock; storages may die in any thread.
#pragma once

#include <optional>
#include <string>

#include "core/storage.h"

namespace pellucid {

enum class Sharing : uint8_t { Descriptor, Name, File };

// Whether other processes can map the memory, or the whole that it is a part of.
bool is_shared(const Storage& storage);
// How they find it; nothing for a part.
std::optional<Sharing> sharing_of(const Storage& storage);

// The descriptor of the storage's memory, which the storage owns; it becomes shared by one. -1: it has no bytes.
int share_by_descriptor(Storage& storage);
// The name of the storage's memory, which becomes shared by one.
const std::string& share_by_name(Storage& storage);

// New memory of zeros, shared by a descriptor or a name.
Ref<Storage> make_shared_storage(size_t nbytes, Sharing sharing);
// Memory of another process, or of this one; the descriptor remains the caller's.
Ref<Storage> open_descriptor(int descriptor, size_t nbytes);
Ref<Storage> open_name(const char* name, size_t nbytes);

// One user more or less of named memory, who is on the way: a name in a message. Without effect on other memory.
void add_user(Storage& storage);
void drop_user(Storage& storage);

// Takes this process out of the counts of all named memory, before it ends without destroying its storages.
void leave_named_memory();

// The first bytes of a file (all, if `nbytes` is 0). `writes_through`: writes reach the file, which is made or made
// longer where it does not hold them, and the memory is shared; otherwise they stay in this process.
Ref<Storage> map_file(const char* path, bool writes_through, size_t nbytes);
// The path of a file that writes reach; null for other memory.
const char* file_of(const Storage& storage);

}  // namespace pellucid
