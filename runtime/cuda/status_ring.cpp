#include "cuda/status_ring.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/device_names.h"
#include "core/error.h"
#include "kernels/kernel_ref.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid::cuda {
namespace {

constexpr size_t kWords = 4096;
constexpr size_t kWordBytes = sizeof(uint64_t);

FORK_SAFE ForkSafeMutex mutex;  // of the lists of all rings; not held while the driver waits

[[noreturn]] void raise_failure(const StatusRing::Pending& launch, Device device, int64_t status) {
  const std::string name = device_name(device);
  const auto element = static_cast<long long>(status_detail(status));
  constexpr const char* kAdvice = "It was started earlier than here; PELLUCID_LAUNCH_BLOCKING=1 raises where.";
  switch (status_code(status)) {
    case KernelStatus::IndexOutOfBounds:
      raise(ErrorKind::Index, "%s on %s, element %lld: index out of bounds\n%s", launch.op.c_str(), name.c_str(),
            element, kAdvice);
    case KernelStatus::ZeroDivision:
      raise(ErrorKind::Runtime, "ZeroDivisionError: %s on %s divided an integer by zero\n%s", launch.op.c_str(),
            name.c_str(), kAdvice);
    default:
      raise(ErrorKind::Runtime, "%s on %s failed with status %#llx\n%s", launch.op.c_str(), name.c_str(),
            static_cast<unsigned long long>(status), kAdvice);
  }
}

}  // namespace

StatusRing::StatusRing(const Driver& driver, Device device) : driver_(driver), device_(device) {
  driver_.check(driver_.new_stream(&stream_, kStreamNonBlocking, 0), "cuStreamCreateWithPriority");
  driver_.check(driver_.allocate(&address_, kWords * kWordBytes), "cuMemAlloc");
  driver_.check(driver_.fill_bytes(address_, 0, kWords * kWordBytes, stream_), "cuMemsetD8Async");
  driver_.check(driver_.finish_stream(stream_), "cuStreamSynchronize");
  for (size_t word = kWords; word-- > 0;) free_.push_back(word);
}

uint64_t StatusRing::count() const {
  const std::lock_guard lock(mutex);
  return count_;
}

uint64_t StatusRing::take(int64_t stream, const char* op) {
  std::unique_lock lock(mutex);
  if (free_.empty()) {
    lock.unlock();
    driver_.check(driver_.synchronize(), "cuCtxSynchronize");
    raise_failures();
    lock.lock();
    if (free_.empty())
      raise(ErrorKind::Runtime, "graphs of %s hold all %zu status words: delete graphs", device_name(device_).c_str(),
            kWords);
  }
  const size_t word = free_.back();
  free_.pop_back();
  const auto capture = captured_.find(stream);
  const bool is_captured = capture != captured_.end();
  Launches& list = is_captured ? capture->second : pending_;
  list.push_back({++count_, word, stream, op, is_captured});
  return address_ + word * kWordBytes;
}

template <class IsDone>
void StatusRing::read(IsDone&& is_done) {
  Launches done;
  {
    const std::lock_guard lock(mutex);
    const auto first =
        std::stable_partition(pending_.begin(), pending_.end(), [&](const Pending& p) { return !is_done(p); });
    done.assign(std::make_move_iterator(first), std::make_move_iterator(pending_.end()));
    pending_.erase(first, pending_.end());
  }
  if (done.empty()) return;
  std::vector<uint64_t> words(kWords);
  driver_.check(driver_.copy_to_host(words.data(), address_, kWords * kWordBytes, stream_), "cuMemcpyDtoHAsync");
  driver_.check(driver_.finish_stream(stream_), "cuStreamSynchronize");
  const Pending* failed = nullptr;
  for (const Pending& launch : done) {
    if (!words[launch.word]) continue;
    if (!failed) failed = &launch;
    driver_.check(driver_.fill_bytes(address_ + launch.word * kWordBytes, 0, kWordBytes, stream_), "cuMemsetD8Async");
  }
  if (failed) driver_.check(driver_.finish_stream(stream_), "cuStreamSynchronize");
  {
    const std::lock_guard lock(mutex);
    for (const Pending& launch : done)
      if (!launch.is_captured) free_.push_back(launch.word);
  }
  if (failed) raise_failure(*failed, device_, static_cast<int64_t>(words[failed->word]));
}

void StatusRing::raise_failures(int64_t stream, uint64_t launches) {
  read([=](const Pending& launch) { return launch.stream == stream && launch.number <= launches; });
}

void StatusRing::raise_failures() {
  read([](const Pending&) { return true; });
}

void StatusRing::begin_capture(int64_t stream) {
  const std::lock_guard lock(mutex);
  captured_[stream];
}

StatusRing::Launches StatusRing::end_capture(int64_t stream) {
  const std::lock_guard lock(mutex);
  const auto found = captured_.find(stream);
  if (found == captured_.end()) return {};
  Launches launches = std::move(found->second);
  captured_.erase(found);
  return launches;
}

void StatusRing::repeat(const Launches& launches, int64_t stream) {
  const std::lock_guard lock(mutex);
  for (const Pending& launch : launches) pending_.push_back({++count_, launch.word, stream, launch.op, true});
}

void StatusRing::give_back(const Launches& launches) {
  const std::lock_guard lock(mutex);
  for (const Pending& launch : launches) free_.push_back(launch.word);
}

}  // namespace pellucid::cuda
