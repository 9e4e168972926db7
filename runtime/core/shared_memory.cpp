#include "core/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <utility>

#include "core/error.h"
#include "core/hooks.h"
#include "core/storage_parts.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid {
namespace {

// What named memory begins with.
struct alignas(64) Header {
  std::atomic<int32_t> users;
};
static_assert(std::atomic<int32_t>::is_always_lock_free && sizeof(Header) == 64);

// A descriptor that is closed unless it is kept.
struct Descriptor {
  explicit Descriptor(int number) : number(number) {}
  Descriptor(Descriptor&& other) noexcept : number(std::exchange(other.number, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~Descriptor() {
    if (number >= 0) close(number);
  }
  int number;
};

// Which object of the kernel's a descriptor is of.
using Identity = std::pair<dev_t, ino_t>;

struct stat facts_of(int descriptor) {
  struct stat facts{};
  fstat(descriptor, &facts);
  return facts;
}
Identity identity_of(const struct stat& facts) { return {facts.st_dev, facts.st_ino}; }

// The mapped memory of storages: of one, or of several that opened it one after the other.
struct Mapping {
  Sharing sharing = Sharing::Descriptor;
  int storages = 1;  // guarded by the mutex of OpenMemory
  Descriptor descriptor{-1};
  void* start = nullptr;
  size_t length = 0;
  Identity identity{};
  std::string name;      // of named memory; the path of a file
  pid_t counted_in = 0;  // of named memory: the process in whose count of users it is
  Ref<Storage> former;   // the memory that the storage had before, where its address may be known outside

  Header& header() const { return *static_cast<Header*>(start); }
  void* bytes() const { return sharing == Sharing::Name ? static_cast<char*>(start) + sizeof(Header) : start; }
  ~Mapping();
};

// The objects that this process has mapped.
FORK_SAFE ForkSafeMutex mutex;
struct OpenMemory {
  std::map<Identity, Mapping*> mappings;
};
OpenMemory& open_memory() {
  static auto* const memory = new OpenMemory;  // storages may die after static objects
  return *memory;
}

// Named memory lives in a folder of its own: PyTorch's and the C library's names are paths there without the folder.
std::string path_of(const std::string& name) { return "/dev/shm" + name; }

// False: the last user has gone, and the name with them.
bool count_in(Header& header) {
  int32_t users = header.users.load(std::memory_order_relaxed);
  while (users > 0)
    if (header.users.compare_exchange_weak(users, users + 1, std::memory_order_acq_rel)) return true;
  return false;
}
void count_out(const Mapping& mapping) {
  if (mapping.header().users.fetch_sub(1, std::memory_order_acq_rel) == 1) unlink(path_of(mapping.name).c_str());
}

Mapping::~Mapping() {
  if (!start) return;
  if (sharing == Sharing::Name && counted_in == getpid()) count_out(*this);
  munmap(start, length);
}

// Takes one storage's count, and the mapping with the last.
struct Leave {
  void operator()(Mapping* mapping) const {
    {
      const std::lock_guard lock(mutex);
      if (--mapping->storages) return;
      const auto found = open_memory().mappings.find(mapping->identity);
      if (found != open_memory().mappings.end() && found->second == mapping) open_memory().mappings.erase(found);
    }
    delete mapping;
  }
};
using MappingRef = std::unique_ptr<Mapping, Leave>;

MappingRef new_mapping(Sharing sharing) {
  MappingRef mapping(new Mapping);
  mapping->sharing = sharing;
  return mapping;
}

// Lets those find the mapping who open the object again.
void enter(Mapping& mapping) {
  const std::lock_guard lock(mutex);
  open_memory().mappings[mapping.identity] = &mapping;
}

// The mapping of this many bytes of the object that the process has already; or null.
MappingRef find_open(const struct stat& facts, size_t length) {
  const std::lock_guard lock(mutex);
  const auto found = open_memory().mappings.find(identity_of(facts));
  if (found == open_memory().mappings.end() || found->second->length != length) return nullptr;
  ++found->second->storages;
  return MappingRef(found->second);
}

Mapping& mapping_of(const Storage& storage) { return *static_cast<Mapping*>(storage.context); }

void release_mapping(Storage* storage) { MappingRef(&mapping_of(*storage)); }

// Whether it is all of an object, and not a part of a storage that is.
bool is_mapped(const Storage& storage) { return storage.deleter == release_mapping; }
bool is_named(const Storage& storage) { return is_mapped(storage) && mapping_of(storage).sharing == Sharing::Name; }

// Whether named memory counts this process, and not the one that it was forked from, as a user.
bool is_counted(const Storage& storage) { return mapping_of(storage).counted_in == getpid(); }

void unmap_private(Storage* storage) { munmap(storage->host, storage->nbytes); }

[[noreturn]] void raise_system(const char* doing, size_t nbytes, int problem) {
  raise(ErrorKind::Runtime, "%s of %zu bytes: %s (%d)", doing, nbytes, std::strerror(problem), problem);
}

// Maps the object of `mapping.descriptor`, which has at least `length` bytes.
void map_whole(Mapping& mapping, size_t length) {
  mapping.identity = identity_of(facts_of(mapping.descriptor.number));
  mapping.length = length;
  if (!length) return;
  void* const start = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, mapping.descriptor.number, 0);
  if (start == MAP_FAILED) raise_system("cannot map shared memory", length, errno);
  mapping.start = start;
  enter(mapping);
}

MappingRef make_described(size_t nbytes) {
  MappingRef mapping = new_mapping(Sharing::Descriptor);
  if (!nbytes) return mapping;
  mapping->descriptor = Descriptor(memfd_create("pellucid", MFD_CLOEXEC));
  if (mapping->descriptor.number < 0 || ftruncate(mapping->descriptor.number, static_cast<off_t>(nbytes)) != 0)
    raise_system("cannot make shared memory", nbytes, errno);
  map_whole(*mapping, nbytes);
  return mapping;
}

std::string fresh_name() {
  static std::atomic<uint32_t> number{0};
  std::random_device random;
  const uint32_t own = number.fetch_add(1, std::memory_order_relaxed);
  return "/pellucid_" + std::to_string(getpid()) + "_" + std::to_string(random()) + "_" + std::to_string(own);
}

MappingRef make_named(size_t nbytes) {
  MappingRef mapping = new_mapping(Sharing::Name);
  mapping->name = fresh_name();
  const std::string path = path_of(mapping->name);
  const size_t length = sizeof(Header) + nbytes;
  mapping->descriptor = Descriptor(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (mapping->descriptor.number < 0) raise_system("cannot make shared memory with a name", nbytes, errno);
  // The folder has a limit of its own: requested now, its lack is an error and not a signal.
  const int problem = posix_fallocate(mapping->descriptor.number, 0, static_cast<off_t>(length));
  try {
    if (problem) raise_system("cannot make shared memory with a name", nbytes, problem);
    map_whole(*mapping, length);
  } catch (...) {
    unlink(path.c_str());
    throw;
  }
  mapping->descriptor = Descriptor(-1);
  new (mapping->start) Header{{1}};
  mapping->counted_in = getpid();
  return mapping;
}

MappingRef make_mapping(size_t nbytes, Sharing sharing) {
  return sharing == Sharing::Name ? make_named(nbytes) : make_described(nbytes);
}

// `storage`, which has no memory, gets that of `mapping`.
void give(Storage& storage, MappingRef mapping) {
  storage.host = storage.nbytes ? mapping->bytes() : nullptr;
  storage.deleter = release_mapping;
  storage.context = mapping.release();
  storage.size_class = -1;
  let_escape(storage);
}

Ref<Storage> storage_over(MappingRef mapping, size_t nbytes) {
  Ref<Storage> storage = wrap_storage(nullptr, nbytes, nullptr, nullptr);
  give(*storage, std::move(mapping));
  return storage;
}

void require_cpu(const Storage& storage, const char* function) {
  if (storage.device.type != DeviceType::CPU) raise(ErrorKind::Runtime, "%s: only available on CPU", function);
}

void move_into(Storage& storage, MappingRef mapping) {
  before_write(storage);  // what was recorded reads the old memory
  if (storage.nbytes) std::memcpy(mapping->bytes(), storage.host, storage.nbytes);
  Ref<Storage> former = take_memory(storage);
  if (former && !former->resizable) mapping->former = std::move(former);
  give(storage, std::move(mapping));
}

}  // namespace

std::optional<Sharing> sharing_of(const Storage& storage) {
  if (!is_mapped(storage)) return std::nullopt;
  return mapping_of(storage).sharing;
}

bool is_shared(const Storage& storage) {
  const Storage* const whole = whole_of(storage);
  if (!whole) return is_mapped(storage);
  // A part that was cut off before its whole moved has the former memory.
  const auto place = reinterpret_cast<uintptr_t>(storage.host) - reinterpret_cast<uintptr_t>(whole->host);
  return is_shared(*whole) && place <= whole->nbytes;
}

int share_by_descriptor(Storage& storage) {
  require_cpu(storage, "_share_fd_");
  if (!is_mapped(storage) || is_named(storage)) move_into(storage, make_described(storage.nbytes));
  return mapping_of(storage).descriptor.number;
}

const std::string& share_by_name(Storage& storage) {
  require_cpu(storage, "_share_filename_");
  Mapping* const inherited = is_named(storage) && !is_counted(storage) ? &mapping_of(storage) : nullptr;
  if (inherited && count_in(inherited->header())) inherited->counted_in = getpid();
  if (!is_named(storage) || !is_counted(storage)) move_into(storage, make_named(storage.nbytes));
  return mapping_of(storage).name;
}

Ref<Storage> make_shared_storage(size_t nbytes, Sharing sharing) {
  return storage_over(make_mapping(nbytes, sharing), nbytes);
}

Ref<Storage> open_descriptor(int descriptor, size_t nbytes) {
  MappingRef mapping = new_mapping(Sharing::Descriptor);
  if (!nbytes) return storage_over(std::move(mapping), 0);
  mapping->descriptor = Descriptor(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (mapping->descriptor.number < 0)
    raise(ErrorKind::Runtime, "could not duplicate a shared memory file descriptor: %d is none that is open",
          descriptor);
  const struct stat facts = facts_of(mapping->descriptor.number);
  if (facts.st_size < static_cast<off_t>(nbytes))
    raise(ErrorKind::Runtime, "shared memory of %zu bytes is expected; that of descriptor %d has %lld", nbytes,
          descriptor, static_cast<long long>(facts.st_size));
  if (MappingRef open = find_open(facts, nbytes)) return storage_over(std::move(open), nbytes);
  map_whole(*mapping, nbytes);
  return storage_over(std::move(mapping), nbytes);
}

Ref<Storage> open_name(const char* name, size_t nbytes) {
  const auto raise_absent = [&](int problem) {
    raise(ErrorKind::Runtime, "unable to open shared memory object <%s> in read-write mode: %s (%d)", name,
          std::strerror(problem), problem);
  };
  MappingRef mapping = new_mapping(Sharing::Descriptor);
  mapping->name = name;
  if (name[0] != '/' || std::strchr(name + 1, '/')) raise_absent(EINVAL);
  mapping->descriptor = Descriptor(open(path_of(mapping->name).c_str(), O_RDWR | O_CLOEXEC));
  if (mapping->descriptor.number < 0) raise_absent(errno);
  const struct stat facts = facts_of(mapping->descriptor.number);
  const size_t length = sizeof(Header) + nbytes;
  if (facts.st_size < static_cast<off_t>(length))
    raise(ErrorKind::Runtime, "shared memory of %zu bytes is expected; <%s> has %lld", length, name,
          static_cast<long long>(facts.st_size));
  if (MappingRef open = find_open(facts, length)) return storage_over(std::move(open), nbytes);
  map_whole(*mapping, length);
  mapping->sharing = Sharing::Name;
  mapping->descriptor = Descriptor(-1);
  if (!count_in(mapping->header())) raise_absent(ENOENT);
  mapping->counted_in = getpid();
  return storage_over(std::move(mapping), nbytes);
}

void add_user(Storage& storage) {
  if (is_named(storage)) mapping_of(storage).header().users.fetch_add(1, std::memory_order_acq_rel);
}
void drop_user(Storage& storage) {
  if (is_named(storage)) count_out(mapping_of(storage));
}

void leave_named_memory() {
  const std::lock_guard lock(mutex);
  for (const auto& [identity, mapping] : open_memory().mappings)
    if (mapping->counted_in == getpid()) {
      count_out(*mapping);
      mapping->counted_in = 0;
    }
}

Ref<Storage> map_file(const char* path, bool writes_through, size_t nbytes) {
  const int mode = writes_through ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDONLY | O_CLOEXEC;
  Descriptor file(open(path, mode, 0600));
  struct stat facts{};
  if (file.number < 0 || fstat(file.number, &facts) != 0)
    raise(ErrorKind::Runtime, "from_file(): %s cannot be opened: %s", path, std::strerror(errno));
  if (!nbytes) nbytes = static_cast<size_t>(facts.st_size);
  const bool grows = nbytes > static_cast<size_t>(facts.st_size);
  const bool fits = !grows || (writes_through && ftruncate(file.number, static_cast<off_t>(nbytes)) == 0);
  void* const start = fits && nbytes ? mmap(nullptr, nbytes, PROT_READ | PROT_WRITE,
                                            writes_through ? MAP_SHARED : MAP_PRIVATE, file.number, 0)
                                     : MAP_FAILED;
  if (start == MAP_FAILED)
    raise(ErrorKind::Runtime, "from_file(): %zu bytes of %s, which has %lld, cannot be mapped", nbytes, path,
          static_cast<long long>(facts.st_size));
  if (!writes_through) {
    Ref<Storage> storage = wrap_storage(start, nbytes, unmap_private, nullptr);
    storage->escaped = true;
    return storage;
  }
  MappingRef mapping = new_mapping(Sharing::File);
  mapping->name = path;
  mapping->identity = identity_of(facts);
  mapping->start = start;
  mapping->length = nbytes;
  mapping->descriptor = std::move(file);
  enter(*mapping);
  return storage_over(std::move(mapping), nbytes);
}

const char* file_of(const Storage& storage) {
  const bool is_file = is_mapped(storage) && mapping_of(storage).sharing == Sharing::File;
  return is_file ? mapping_of(storage).name.c_str() : nullptr;
}

}  // namespace pellucid
