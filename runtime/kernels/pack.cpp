#include "kernels/pack.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <ranges>
#include <vector>

#include "core/cpu.h"
#include "core/error.h"
#include "kernels/code_memory.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid {
namespace {

struct OpenPack {
  std::string path;
  const char* base;
  size_t nbytes;
  std::vector<KernelFunction> opened;  // by the index; null: not loaded yet
  const PackEntry* begin() const { return reinterpret_cast<const PackEntry*>(base + header().index_offset); }
  const PackEntry* end() const { return begin() + header().count; }
  const PackHeader& header() const { return *reinterpret_cast<const PackHeader*>(base); }
};

// Mappings live as long as the process.
FORK_SAFE ForkSafeMutex mutex;
struct Packs {
  std::vector<OpenPack> list;
};
Packs& packs() {
  static auto* made = new Packs;
  return *made;
}

[[noreturn]] void raise_damaged(const std::string& path, const char* what) {
  raise(ErrorKind::Runtime, "the kernel pack %s is damaged: %s.\nReinstall the package or rebuild the pack.",
        path.c_str(), what);
}

void check(const OpenPack& pack) {
  if (pack.nbytes < sizeof(PackHeader) || std::memcmp(pack.header().magic, kPackMagic.data(), kPackMagic.size()) != 0)
    raise_damaged(pack.path, "it does not start with a pack's magic number");
  const PackHeader& header = pack.header();
  if (header.version != static_cast<uint32_t>(kPackVersion))
    raise(ErrorKind::Runtime, "the kernel pack %s has version %u; this build reads version %d.\nRebuild the pack.",
          pack.path.c_str(), header.version, kPackVersion);
  const uint64_t index_bytes = uint64_t{header.count} * sizeof(PackEntry);
  if (header.index_offset % alignof(PackEntry) != 0 || header.index_offset > pack.nbytes ||
      index_bytes > pack.nbytes - header.index_offset)
    raise_damaged(pack.path, "its index is outside the file");
  if (header.blobs_offset > pack.nbytes) raise_damaged(pack.path, "its kernels are outside the file");
}

KernelFunction open_kernel(const OpenPack& pack, const PackEntry& entry) {
  const uint64_t room = pack.nbytes - pack.header().blobs_offset;
  if (entry.offset > room || entry.stored > room - entry.offset || entry.entry >= entry.size ||
      entry.size / kMostInflated > entry.stored)
    raise_damaged(pack.path, "a kernel is outside the file");
  const char* stored = pack.base + pack.header().blobs_offset + entry.offset;
  return place_code(entry.size, entry.entry, [&](std::span<char> code) {
    uLongf written = entry.size;
    const int result = uncompress(reinterpret_cast<Bytef*>(code.data()), &written,
                                  reinterpret_cast<const Bytef*>(stored), entry.stored);
    if (result != Z_OK || written != entry.size)
      raise_damaged(pack.path, "a kernel's bytes do not match their checksum");
  });
}

const PackEntry* find(const OpenPack& pack, const KernelId& id) {
  const PackEntry* found = std::lower_bound(
      pack.begin(), pack.end(), id, [](const PackEntry& entry, const KernelId& wanted) { return entry.id < wanted; });
  return found != pack.end() && found->id == id ? found : nullptr;
}

// v3 is required by the module's init.
constexpr const char* kLevels[] = {"x86-64-v3", "x86-64-v4", "x86-64-v4-dot", "x86-64-v4-bf16"};
constexpr int kWholePacks = 2;  // the first levels, which have complete packs; the others' packs contain only products

int allowed_level() {
  static const int allowed = [] {
    const CpuLevel cpu = level_of(this_cpu());
    const int best = cpu.bf16 ? 3 : cpu.dot ? 2 : cpu.v4 ? 1 : 0;
    const char* const asked = std::getenv("PELLUCID_ISA");
    if (!asked || !*asked) return best;
    std::string known;
    for (int level = 0; level <= best; ++level) {
      if (std::strcmp(asked, kLevels[level]) == 0) return level;
      known += (level ? ", " : "") + std::string(kLevels[level]);
    }
    raise(ErrorKind::Runtime, "PELLUCID_ISA is %s; this processor has the levels %s", asked, known.c_str());
  }();
  return allowed;
}

}  // namespace

const char* isa_level() { return kLevels[std::min(allowed_level(), kWholePacks - 1)]; }

std::span<const char* const> product_levels() {
  return std::span(kLevels).first(static_cast<size_t>(std::max(allowed_level() + 1, kWholePacks))).subspan(kWholePacks);
}

void open_pack(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) raise(ErrorKind::Runtime, "cannot open the kernel pack %s: %s", path.c_str(), std::strerror(errno));
  struct stat status;
  const bool known = fstat(file, &status) == 0;
  const size_t nbytes = known ? static_cast<size_t>(status.st_size) : 0;
  void* base = nbytes >= sizeof(PackHeader) ? mmap(nullptr, nbytes, PROT_READ, MAP_PRIVATE, file, 0) : nullptr;
  close(file);
  if (!base) raise_damaged(path, "it is shorter than its header");
  if (base == MAP_FAILED)
    raise(ErrorKind::Runtime, "cannot map the kernel pack %s: %s", path.c_str(), std::strerror(errno));
  OpenPack pack{path, static_cast<const char*>(base), nbytes, {}};
  try {
    check(pack);
    pack.opened.resize(pack.header().count);
  } catch (...) {
    munmap(base, nbytes);
    throw;
  }
  std::lock_guard lock(mutex);
  packs().list.push_back(std::move(pack));
}

KernelFunction find_in_packs(const KernelId& id) {
  std::lock_guard lock(mutex);
  for (OpenPack& pack : std::views::reverse(packs().list)) {
    const PackEntry* found = find(pack, id);
    if (!found) continue;
    KernelFunction& opened = pack.opened[static_cast<size_t>(found - pack.begin())];
    if (!opened) opened = open_kernel(pack, *found);
    return opened;
  }
  return nullptr;
}

bool is_packed(const KernelId& id) {
  std::lock_guard lock(mutex);
  return std::ranges::any_of(packs().list, [&](const OpenPack& pack) { return find(pack, id); });
}

}  // namespace pellucid
