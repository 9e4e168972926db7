#include "core/device_pool.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>

#include "core/device_names.h"
#include "core/error.h"

namespace pellucid {

void MemoryCount::add(int64_t amount) {
  current += amount;
  peak = std::max(peak, current);
  (amount > 0 ? taken : given) += std::abs(amount);
}

// Parts of segments by address: blocks in use, blocks whose events are awaited, and free ones.
struct DevicePool::Books {
  enum class State : uint8_t { Used, Awaited, Free };
  struct Part {
    size_t nbytes, requested;
    int64_t stream;
    State state;
    bool starts_segment;
    std::vector<int64_t> users;  // other streams
  };
  using Parts = std::map<uint64_t, Part>;
  struct Event {
    uint64_t address, event;
  };

  explicit Books(const PoolOptions& options) : options(options) {}

  // The order in which free parts of a stream are looked at.
  std::pair<uint64_t, uint64_t> place_of(Parts::iterator part) const {
    if (options.policy == PoolPolicy::FirstFit) return {part->first, part->second.nbytes};
    return {part->second.nbytes, part->first};
  }
  void list(Parts::iterator part) { free[part->second.stream].insert(place_of(part)); }
  void unlist(Parts::iterator part) { free[part->second.stream].erase(place_of(part)); }

  Parts::iterator find_free(int64_t stream, size_t size) {
    std::set<std::pair<uint64_t, uint64_t>>& places = free[stream];
    if (options.policy == PoolPolicy::FirstFit) {
      const auto fits = [&](const auto& place) { return place.second >= size; };
      const auto found = std::ranges::find_if(places, fits);
      return found == places.end() ? parts.end() : parts.find(found->first);
    }
    const auto found = places.lower_bound({size, 0});
    const bool is_other_class =
        options.policy == PoolPolicy::SizeClasses && found != places.end() && found->first != size;
    return found == places.end() || is_other_class ? parts.end() : parts.find(found->second);
  }

  // The address of a free part as a block; 0: none fits.
  uint64_t take(int64_t stream, size_t nbytes, size_t size) {
    const auto part = find_free(stream, size);
    if (part == parts.end()) return 0;
    unlist(part);
    if (part->second.nbytes > size) {
      const Part rest{part->second.nbytes - size, 0, stream, State::Free, false, {}};
      list(parts.emplace_hint(std::next(part), part->first + size, rest));
      part->second.nbytes = size;
    }
    part->second.state = State::Used;
    part->second.requested = nbytes;
    count_block(part->second, 1);
    return part->first;
  }

  void count_block(const Part& part, int64_t sign) {
    counts.blocks.add(sign);
    counts.allocated.add(sign * static_cast<int64_t>(part.nbytes));
    counts.requested.add(sign * static_cast<int64_t>(part.requested));
  }

  void count_segment(size_t nbytes, int64_t sign) {
    counts.segments.add(sign);
    counts.reserved.add(sign * static_cast<int64_t>(nbytes));
  }

  void absorb_next(Parts::iterator part) {
    const auto next = std::next(part);
    if (next == parts.end() || next->second.state != State::Free || next->second.starts_segment) return;
    unlist(next);
    part->second.nbytes += next->second.nbytes;
    parts.erase(next);
  }

  // A part becomes free and takes in its free neighbours of the same segment.
  void give_back(Parts::iterator part) {
    part->second.state = State::Free;
    part->second.requested = 0;
    absorb_next(part);
    if (!part->second.starts_segment && std::prev(part)->second.state == State::Free) {
      part = std::prev(part);
      unlist(part);
      absorb_next_unlisted(part);
    }
    list(part);
  }
  void absorb_next_unlisted(Parts::iterator part) {
    const auto next = std::next(part);
    part->second.nbytes += next->second.nbytes;
    parts.erase(next);
  }

  bool is_free_segment(Parts::const_iterator part) const {
    const auto next = std::next(part);
    return part->second.state == State::Free && part->second.starts_segment &&
           (next == parts.end() || next->second.starts_segment);
  }

  // Removes the free segments from the lists.
  std::vector<std::pair<uint64_t, size_t>> take_free_segments() {
    std::vector<std::pair<uint64_t, size_t>> taken;
    for (auto part = parts.begin(); part != parts.end();) {
      const auto current = part++;
      if (!is_free_segment(current)) continue;
      taken.emplace_back(current->first, current->second.nbytes);
      unlist(current);
      count_segment(current->second.nbytes, -1);
      parts.erase(current);
    }
    return taken;
  }

  const PoolOptions options;
  mutable std::mutex mutex;
  Parts parts;
  std::map<int64_t, std::set<std::pair<uint64_t, uint64_t>>> free;  // by stream
  std::vector<Event> awaited;                                       // an address once for each of its events
  MemoryCounts counts;
};

DevicePool::DevicePool(Backend& backend, const PoolOptions& options) : backend_(backend), options_(options) {
  for (auto& books : books_) books = std::make_unique<Books>(options);
}

DevicePool::~DevicePool() = default;

// Four classes to a power of two bound what a block wastes by a fifth.
size_t DevicePool::block_size(size_t nbytes) const {
  const size_t size = (nbytes + options_.padding + options_.alignment - 1) / options_.alignment * options_.alignment;
  if (options_.policy != PoolPolicy::SizeClasses) return size;
  const size_t step = std::max(std::bit_ceil(size) / 8, options_.alignment);
  return (size + step - 1) / step * step;
}

uint64_t DevicePool::allocate(Device device, size_t nbytes) {
  const size_t size = block_size(nbytes);
  finish_awaited(device, false);
  if (options_.policy != PoolPolicy::None) {
    Books& books = books_of(device);
    const std::lock_guard lock(books.mutex);
    if (const uint64_t address = books.take(current_stream(device), nbytes, size)) return address;
  }
  try {
    return take_new(device, nbytes, size);
  } catch (const Error& error) {
    if (error.kind == ErrorKind::OutOfMemory) ++books_of(device).counts.failures;
    throw;
  }
}

uint64_t DevicePool::take_new(Device device, size_t nbytes, size_t size) {
  const bool splits = options_.policy == PoolPolicy::BestFit || options_.policy == PoolPolicy::FirstFit;
  try {
    return add_segment(device, nbytes, size, splits ? std::max(size, options_.segment) : size);
  } catch (const Error& error) {
    if (error.kind != ErrorKind::OutOfMemory) throw;
  }
  ++books_of(device).counts.retries;
  empty(device);
  return add_segment(device, nbytes, size, size);
}

uint64_t DevicePool::add_segment(Device device, size_t nbytes, size_t size, size_t segment) {
  const uint64_t address = backend_.allocate(device, segment);
  Books& books = books_of(device);
  const int64_t stream = current_stream(device);
  if (address % options_.alignment) {
    backend_.release(device, address, segment);
    raise(ErrorKind::Runtime, "%s: allocate gave the address 0x%llx, which is not a multiple of the alignment %zu",
          device_name(device).c_str(), static_cast<unsigned long long>(address), options_.alignment);
  }
  const std::lock_guard lock(books.mutex);
  books.count_segment(segment, 1);
  books.list(books.parts.emplace(address, Books::Part{segment, 0, stream, Books::State::Free, true, {}}).first);
  if (const uint64_t taken = books.take(stream, nbytes, size)) return taken;
  raise(ErrorKind::Runtime, "a new segment of %zu bytes has no block of %zu", segment, size);
}

void DevicePool::release(Device device, uint64_t address) noexcept {
  if (!backend_.is_alive()) return;
  Books& books = books_of(device);
  std::vector<int64_t> users;
  {
    const std::lock_guard lock(books.mutex);
    Books::Part& part = books.parts.at(address);
    books.count_block(part, -1);
    users = std::move(part.users);
    // Memory that goes back to the backend is written by nobody any more.
    if (options_.policy == PoolPolicy::None && backend_.has_streams()) users.push_back(part.stream);
    part.state = Books::State::Awaited;
  }
  try {
    for (const int64_t user : users) {
      const uint64_t event = backend_.record(device, user);
      const std::lock_guard lock(books.mutex);
      books.awaited.push_back({address, event});
    }
    if (users.empty()) finish_release(device, address);
  } catch (...) {
    // A backend that fails here loses the block: its use by others cannot be excluded.
  }
}

void DevicePool::finish_release(Device device, uint64_t address) {
  Books& books = books_of(device);
  std::unique_lock lock(books.mutex);
  const auto part = books.parts.find(address);
  const size_t nbytes = part->second.nbytes;
  const int64_t stream = part->second.stream;
  if (options_.policy == PoolPolicy::None) {
    books.count_segment(nbytes, -1);
    books.parts.erase(part);
    lock.unlock();
    return backend_.release(device, address, nbytes);
  }
  if (options_.poison) {
    lock.unlock();
    const StreamScope scope(device, stream);
    const std::vector<char> ones(nbytes, '\xff');
    backend_.from_host(device, address, ones.data(), nbytes);
    lock.lock();
  }
  books.give_back(part);
}

// Frees blocks whose streams have passed them; with `wait` all of them.
void DevicePool::finish_awaited(Device device, bool wait) {
  Books& books = books_of(device);
  std::vector<Books::Event> events;
  {
    const std::lock_guard lock(books.mutex);
    events.swap(books.awaited);
  }
  const auto is_pending = [&](const Books::Event& item) {
    if (wait) backend_.finish(device, item.event);
    return !wait && !backend_.is_done(device, item.event);
  };
  std::vector<Books::Event> pending;
  std::ranges::copy_if(events, std::back_inserter(pending), is_pending);
  const auto waits = [&](uint64_t address) {
    return std::ranges::count(pending, address, &Books::Event::address) != 0;
  };
  std::set<uint64_t> passed;
  for (const Books::Event& item : events)
    if (!waits(item.address)) passed.insert(item.address);
  for (const uint64_t address : passed) finish_release(device, address);
  const std::lock_guard lock(books.mutex);
  books.awaited.insert(books.awaited.end(), pending.begin(), pending.end());
}

void DevicePool::record_use(Device device, uint64_t address, int64_t stream) {
  Books& books = books_of(device);
  const std::lock_guard lock(books.mutex);
  const auto next = books.parts.upper_bound(address);
  if (next == books.parts.begin()) return;
  Books::Part& part = std::prev(next)->second;
  if (part.stream != stream && !std::ranges::count(part.users, stream)) part.users.push_back(stream);
}

void DevicePool::empty(Device device) {
  finish_awaited(device, true);
  Books& books = books_of(device);
  std::vector<std::pair<uint64_t, size_t>> segments;
  std::vector<int64_t> streams;
  {
    const std::lock_guard lock(books.mutex);
    segments = books.take_free_segments();
    for (const auto& [stream, places] : books.free) streams.push_back(stream);
  }
  if (!segments.empty() && backend_.has_streams())
    for (const int64_t stream : streams) backend_.finish(device, backend_.record(device, stream));
  for (const auto& [address, nbytes] : segments) backend_.release(device, address, nbytes);
}

MemoryCounts DevicePool::counts(Device device) const {
  const std::lock_guard lock(books_of(device).mutex);
  return books_of(device).counts;
}

namespace {

template <class Visit>
void each_count(MemoryCounts& counts, Visit&& visit) {
  for (MemoryCount* count : {&counts.blocks, &counts.allocated, &counts.requested, &counts.segments, &counts.reserved})
    visit(*count);
}

}  // namespace

void DevicePool::reset_peaks(Device device) {
  const std::lock_guard lock(books_of(device).mutex);
  each_count(books_of(device).counts, [](MemoryCount& count) { count.peak = count.current; });
}

void DevicePool::reset_sums(Device device) {
  const std::lock_guard lock(books_of(device).mutex);
  MemoryCounts& counts = books_of(device).counts;
  each_count(counts, [](MemoryCount& count) { count.taken = count.given = 0; });
  counts.retries = counts.failures = 0;
}

std::vector<DevicePool::Listed> DevicePool::list_blocks(Device device) const {
  static constexpr const char* kStates[] = {"active_allocated", "active_awaiting_free", "inactive"};
  const Books& books = books_of(device);
  const std::lock_guard lock(books.mutex);
  std::vector<Listed> listed;
  for (const auto& [address, part] : books.parts)
    listed.push_back({address, part.nbytes, part.requested, part.stream, kStates[static_cast<int>(part.state)],
                      part.starts_segment});
  return listed;
}

}  // namespace pellucid
