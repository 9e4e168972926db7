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

[[noreturn]] void raise_failure(const std::string& op, Device device, int64_t status) {
  const std::string name = device_name(device);
  const auto element = static_cast<long long>(status_detail(status));
  constexpr const char* kAdvice = "It was started earlier than here; PELLUCID_LAUNCH_BLOCKING=1 raises where.";
  switch (status_code(status)) {
    case KernelStatus::IndexOutOfBounds:
      raise(ErrorKind::Index, "%s on %s, element %lld: index out of bounds\n%s", op.c_str(), name.c_str(), element,
            kAdvice);
    case KernelStatus::ZeroDivision:
      raise(ErrorKind::Runtime, "ZeroDivisionError: %s on %s divided an integer by zero\n%s", op.c_str(), name.c_str(),
            kAdvice);
    default:
      raise(ErrorKind::Runtime, "%s on %s failed with status %#llx\n%s", op.c_str(), name.c_str(),
            static_cast<unsigned long long>(status), kAdvice);
  }
}

}  // namespace

class StatusRing::GraphWords {
 public:
  explicit GraphWords(StatusRing& ring) : ring_(ring) {}
  ~GraphWords() {
    const std::lock_guard lock(mutex);
    for (const Launch& launch : launches) ring_.free_.push_back(launch.word);
  }
  GraphWords(const GraphWords&) = delete;
  GraphWords& operator=(const GraphWords&) = delete;

  std::vector<Launch> launches;

 private:
  StatusRing& ring_;
};

StatusRing::Word::~Word() {
  if (is_published_) return;
  const std::lock_guard lock(mutex);
  ring_.free_.push_back(number_);
}

uint64_t StatusRing::Word::address() const { return ring_.address_ + number_ * kWordBytes; }

void StatusRing::Word::publish(int64_t stream, const char* op, std::optional<int64_t> capture) {
  const std::lock_guard lock(mutex);
  is_published_ = true;
  if (capture) return ring_.captured_.at(*capture)->launches.push_back({number_, op});
  const uint64_t number = ++ring_.count_;
  ring_.pending_.push_back({number, number, stream, {number_, op}, nullptr});
}

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

size_t StatusRing::take() {
  std::unique_lock lock(mutex);
  if (free_.empty()) {
    const uint64_t launches = count_;
    lock.unlock();
    driver_.check(driver_.synchronize(), "cuCtxSynchronize");
    raise_failures({}, launches);
    lock.lock();
    if (free_.empty())
      raise(ErrorKind::Runtime, "graphs of %s hold all %zu status words: delete graphs", device_name(device_).c_str(),
            kWords);
  }
  const size_t word = free_.back();
  free_.pop_back();
  return word;
}

std::vector<StatusRing::Pending> StatusRing::take_due(std::optional<int64_t> stream, uint64_t launches) {
  const std::lock_guard lock(mutex);
  const auto first = std::stable_partition(pending_.begin(), pending_.end(), [&](const Pending& pending) {
    return (stream && pending.stream != *stream) || pending.first > launches;
  });
  std::vector<Pending> due(std::make_move_iterator(first), std::make_move_iterator(pending_.end()));
  pending_.erase(first, pending_.end());
  for (const Pending& pending : due)  // later replays of a graph
    if (pending.last > launches)
      pending_.push_back({launches + 1, pending.last, pending.stream, pending.launch, pending.graph});
  return due;
}

void StatusRing::raise_failures(std::optional<int64_t> stream, uint64_t launches) {
  const std::vector<Pending> due = take_due(stream, launches);
  if (due.empty()) return;
  std::vector<uint64_t> words(kWords);
  driver_.check(driver_.copy_to_host(words.data(), address_, kWords * kWordBytes, stream_), "cuMemcpyDtoHAsync");
  driver_.check(driver_.finish_stream(stream_), "cuStreamSynchronize");
  const Launch* failed = nullptr;
  const auto look_at = [&](const Launch& launch) {
    if (!words[launch.word]) return;
    if (!failed) failed = &launch;
    driver_.check(driver_.fill_bytes(address_ + launch.word * kWordBytes, 0, kWordBytes, stream_), "cuMemsetD8Async");
  };
  for (const Pending& pending : due)
    if (pending.graph) std::ranges::for_each(pending.graph->launches, look_at);
    else look_at(pending.launch);
  if (failed) driver_.check(driver_.finish_stream(stream_), "cuStreamSynchronize");
  {
    const std::lock_guard lock(mutex);
    for (const Pending& pending : due)
      if (!pending.graph) free_.push_back(pending.launch.word);
  }
  if (failed) raise_failure(failed->op, device_, static_cast<int64_t>(words[failed->word]));
}

void StatusRing::begin_capture(int64_t stream) {
  const Graph made = std::make_shared<GraphWords>(*this);
  const std::lock_guard lock(mutex);
  captured_.emplace(stream, made);
}

StatusRing::Graph StatusRing::end_capture(int64_t stream) {
  const std::lock_guard lock(mutex);
  const auto found = captured_.extract(stream);
  return found ? found.mapped() : nullptr;
}

void StatusRing::repeat(const Graph& graph, int64_t stream) {
  if (graph->launches.empty()) return;
  const std::lock_guard lock(mutex);
  const uint64_t number = ++count_;
  for (Pending& pending : pending_)
    if (pending.graph == graph && pending.stream == stream) {
      pending.last = number;
      return;
    }
  pending_.push_back({number, number, stream, {}, graph});
}

}  // namespace pellucid::cuda
