#include "device/twin.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include "core/error.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kArena = uint64_t{1} << 35;  // of addresses; pages are allocated when used
constexpr int kPoison = 0xA5;                   // the contents of fresh memory

// The ranges of all twins' arenas, for the fault handler.
constexpr int kMostDevices = 8;
constinit std::atomic<uint64_t> arenas[kMostDevices] = {};
struct sigaction previous_action;

// Signal-safe: names the device whose memory the CPU accessed, then lets the process end as it would have.
void report_fault(int, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  for (int device = 0; device < kMostDevices; ++device) {
    const uint64_t start = arenas[device].load(std::memory_order_relaxed);
    if (!start || address < start || address >= start + kArena) continue;
    char text[128];
    const int length = std::snprintf(text, sizeof text, "pellucid: the CPU touched the memory of twin:%d at 0x%llx\n",
                                     device, static_cast<unsigned long long>(address));
    static_cast<void>(!write(STDERR_FILENO, text, static_cast<size_t>(length)));
  }
  sigaction(SIGSEGV, &previous_action, nullptr);  // the instruction will fault again
}

void watch_faults() {
  struct sigaction action{};
  action.sa_sigaction = report_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &previous_action);
}

uint64_t round_up(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

FORK_SAFE ForkSafeMutex mutex;  // of the memories of all devices

// First fit over an arena of inaccessible pages; each block is followed by a guard page.
class Memory {
 public:
  explicit Memory(int device) {
    void* const start = mmap(nullptr, kArena, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) throw DeviceMemoryError("the twin could not reserve an address range");
    free_[reinterpret_cast<uint64_t>(start)] = kArena;
    arenas[device].store(reinterpret_cast<uint64_t>(start), std::memory_order_relaxed);
  }

  uint64_t allocate(size_t nbytes) {
    const std::lock_guard lock(mutex);
    const uint64_t wanted = round_up(nbytes) + kPage;
    for (auto block = free_.begin(); block != free_.end(); ++block) {
      const auto [address, size] = *block;
      if (size < wanted) continue;
      free_.erase(block);
      if (size > wanted) free_[address + wanted] = size - wanted;
      const Access access(address, nbytes, PROT_READ | PROT_WRITE);
      std::memset(access.bytes(), kPoison, nbytes);
      return address;
    }
    throw DeviceMemoryError("the twin has no block of " + std::to_string(nbytes) + " bytes left");
  }

  void release(uint64_t address, size_t nbytes) {
    const std::lock_guard lock(mutex);
    madvise(reinterpret_cast<void*>(address), round_up(nbytes), MADV_DONTNEED);
    auto block = free_.emplace(address, round_up(nbytes) + kPage).first;
    if (const auto next = std::next(block); next != free_.end() && block->first + block->second == next->first) {
      block->second += next->second;
      free_.erase(next);
    }
    if (block == free_.begin()) return;
    const auto before = std::prev(block);
    if (before->first + before->second != block->first) return;
    before->second += block->second;
    free_.erase(block);
  }

  template <class Copy>
  void with_access(uint64_t address, size_t nbytes, int protection, Copy&& copy) {
    const std::lock_guard lock(mutex);
    const Access access(address, nbytes, protection);
    copy(access.bytes());
  }

 private:
  // Makes pages accessible for a scope.
  class Access {
   public:
    Access(uint64_t address, size_t nbytes, int protection)
        : address_(address), first_(address / kPage * kPage), size_(round_up(address + nbytes) - first_) {
      mprotect(reinterpret_cast<void*>(first_), size_, protection);
    }
    ~Access() { mprotect(reinterpret_cast<void*>(first_), size_, PROT_NONE); }
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;
    char* bytes() const { return reinterpret_cast<char*>(address_); }

   private:
    const uint64_t address_, first_, size_;
  };

  std::map<uint64_t, uint64_t> free_;  // address -> size
};

class Twin final : public Backend {
 public:
  explicit Twin(int count) : count_(count) {
    for (int device = 0; device < count; ++device) memories_[device] = std::make_unique<Memory>(device);
    watch_faults();
  }
  int device_count() override { return count_; }
  uint64_t allocate(Device device, size_t nbytes) override { return memory(device).allocate(nbytes); }
  void release(Device device, uint64_t address, size_t nbytes) noexcept override {
    memory(device).release(address, nbytes);
  }
  void to_host(Device device, void* to, uint64_t from, size_t nbytes) override {
    memory(device).with_access(from, nbytes, PROT_READ, [&](const char* bytes) { std::memcpy(to, bytes, nbytes); });
  }
  void from_host(Device device, uint64_t to, const void* from, size_t nbytes) override {
    memory(device).with_access(to, nbytes, PROT_READ | PROT_WRITE,
                               [&](char* bytes) { std::memcpy(bytes, from, nbytes); });
  }

 private:
  Memory& memory(Device device) { return *memories_[device.index]; }

  const int count_;
  std::unique_ptr<Memory> memories_[kMostDevices];
};

}  // namespace

std::unique_ptr<Backend> make_twin(int device_count) {
  if (device_count < 1 || device_count > kMostDevices)
    raise(ErrorKind::Value, "the twin has 1 to %d devices; %d were given", kMostDevices, device_count);
  return std::make_unique<Twin>(device_count);
}

}  // namespace pellucid
