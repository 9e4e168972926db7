#include "core/device_pool.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "core/device_names.h"
#include "core/error.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid {

namespace {

FORK_SAFE ForkSafeMutex mutex;   // of all ledgers
constexpr uint64_t kColors = 8;  // banks that blocks start at in turn

}  // namespace

void MemoryCount::add(int64_t amount) {
  current += amount;
  peak = std::max(peak, current);
  (amount > 0 ? taken : given) += std::abs(amount);
}

// Parts of segments by address: blocks in use, freed blocks with pending events, and free parts.
struct DevicePool::Ledger {
  enum class State : uint8_t { Used, Awaited, Free };
  struct Part {
    size_t nbytes, requested;
    int64_t stream;
    State state;
    bool starts_segment;
    std::vector<int64_t> users;  // other streams
    int64_t pool = 0;            // of a graph; 0: the stream's own
  };
  using Parts = std::map<uint64_t, Part>;
  struct Awaited {
    uint64_t address;
    int64_t stream;                 // which used the block
    std::optional<uint64_t> event;  // none yet: the stream was being captured
  };
  struct Capture {
    int64_t first;  // the stream on which it began
    int64_t pool;
  };
  using Owner = std::pair<int64_t, int64_t>;  // a graph's pool or 0, and a stream

  explicit Ledger(const PoolOptions& options) : options(options) {}

  // The order in which a stream's free parts are searched.
  std::pair<uint64_t, uint64_t> place_of(Parts::iterator part) const {
    if (options.policy == PoolPolicy::FirstFit) return {part->first, part->second.nbytes};
    return {part->second.nbytes, part->first};
  }
  // Whose part it is when it is free.
  static Owner owner(const Part& part) { return {part.pool, part.stream}; }
  void list(Parts::iterator part) { free[owner(part->second)].insert(place_of(part)); }
  void unlist(Parts::iterator part) { free[owner(part->second)].erase(place_of(part)); }

  int64_t pool_of(int64_t stream) const {
    const auto found = captures.find(stream);
    return found == captures.end() ? 0 : found->second.pool;
  }

  Parts::iterator find_free(int64_t stream, size_t size) {
    std::set<std::pair<uint64_t, uint64_t>>& places = free[{pool_of(stream), stream}];
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

  // The part from the next bank on, where it has room for `size` bytes there; what is before stays free.
  Parts::iterator at_next_color(Parts::iterator part, size_t size) {
    if (!options.color) return part;
    const uint64_t period = kColors * options.color;
    const size_t gap = (next_color * options.color + period - part->first % period) % period;
    if (part->second.nbytes < size + gap) return part;
    next_color = (next_color + 1) % kColors;
    if (!gap) return part;
    Part rest = part->second;
    rest.nbytes -= gap;
    rest.starts_segment = false;
    part->second.nbytes = gap;
    list(part);
    return parts.emplace_hint(std::next(part), part->first + gap, std::move(rest));
  }

  // Allocates a block from a free part and returns its address; 0 if none fits.
  uint64_t take(int64_t stream, size_t nbytes, size_t size) {
    auto part = find_free(stream, size);
    if (part == parts.end()) return 0;
    unlist(part);
    if (part->second.nbytes > size) part = at_next_color(part, size);
    if (part->second.nbytes > size) {
      const Part rest{part->second.nbytes - size, 0, stream, State::Free, false, {}, part->second.pool};
      list(parts.emplace_hint(std::next(part), part->first + size, rest));
      part->second.nbytes = size;
    }
    part->second.state = State::Used;
    part->second.requested = nbytes;
    count_block(part->second, 1);
    return part->first;
  }

  // A freed block of a graph that other streams of its capture used: no event tells when replays have passed it.
  static bool is_parked(const Part& part) { return part.state == State::Awaited && !part.users.empty(); }

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

  // Marks a part as free and merges it with the free neighbours of the same segment.
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
    return part->second.state == State::Free && part->second.starts_segment && !pools.contains(part->second.pool) &&
           (next == parts.end() || next->second.starts_segment);
  }

  // Removes the wholly free segments from the lists, except those of streams that are being captured.
  std::vector<std::pair<uint64_t, Part>> take_free_segments() {
    std::vector<std::pair<uint64_t, Part>> taken;
    for (auto part = parts.begin(); part != parts.end();) {
      const auto current = part++;
      if (!is_free_segment(current) || captures.contains(current->second.stream)) continue;
      taken.emplace_back(current->first, current->second);
      unlist(current);
      count_segment(current->second.nbytes, -1);
      parts.erase(current);
    }
    return taken;
  }

  void add_segment(uint64_t address, const Part& part) {
    count_segment(part.nbytes, 1);
    list(parts.emplace(address, part).first);
  }

  const PoolOptions options;
  uint64_t next_color = 0;
  Parts parts;
  std::map<Owner, std::set<std::pair<uint64_t, uint64_t>>> free;
  std::map<int64_t, Capture> captures;  // by the streams that are captured
  std::map<int64_t, int> pools;         // how many graphs use them; a pool without any may get some again
  int64_t last_pool = 0;
  std::vector<Awaited> awaited;  // one entry per pending event, so an address may occur several times
  MemoryCounts counts;
};

DevicePool::DevicePool(Backend& backend, const PoolOptions& options) : backend_(backend), options_(options) {
  for (auto& ledger : ledgers_) ledger = std::make_unique<Ledger>(options);
}

DevicePool::~DevicePool() = default;

// Four size classes per power of two bound internal fragmentation to a fifth.
size_t DevicePool::block_size(size_t nbytes) const {
  const size_t size = (nbytes + options_.padding + options_.alignment - 1) / options_.alignment * options_.alignment;
  if (options_.policy != PoolPolicy::SizeClasses) return size;
  const size_t step = std::max(std::bit_ceil(size) / 8, options_.alignment);
  return (size + step - 1) / step * step;
}

uint64_t DevicePool::allocate(Device device, size_t nbytes) {
  const size_t size = block_size(nbytes);
  if (!capture_of(device, current_stream(device))) finish_awaited(device, false);
  if (options_.policy != PoolPolicy::None) {
    Ledger& ledger = ledger_of(device);
    const std::lock_guard lock(mutex);
    if (const uint64_t address = ledger.take(current_stream(device), nbytes, size)) return address;
  }
  try {
    return take_new(device, nbytes, size);
  } catch (const Error& error) {
    if (error.kind == ErrorKind::OutOfMemory) ++ledger_of(device).counts.failures;
    throw;
  }
}

std::optional<int64_t> DevicePool::capture_of(Device device, int64_t stream) const {
  const Ledger& ledger = ledger_of(device);
  const std::lock_guard lock(mutex);
  const auto found = ledger.captures.find(stream);
  return found == ledger.captures.end() ? std::nullopt : std::optional(found->second.first);
}

int64_t DevicePool::new_pool(Device device) {
  Ledger& ledger = ledger_of(device);
  const std::lock_guard lock(mutex);
  return ++ledger.last_pool;
}

int64_t DevicePool::begin_capture(Device device, int64_t stream, int64_t pool, int mode) {
  Ledger& ledger = ledger_of(device);
  {
    const std::lock_guard lock(mutex);
    if (pool < 0 || pool > ledger.last_pool)
      raise(ErrorKind::Value, "%s has no pool %lld of a graph", device_name(device).c_str(),
            static_cast<long long>(pool));
    if (!pool) pool = ++ledger.last_pool;
    ++ledger.pools[pool];
  }
  try {
    backend_.begin_capture(device, stream, mode);
  } catch (...) {
    drop_pool(device, pool);
    throw;
  }
  const std::lock_guard lock(mutex);
  ledger.captures[stream] = {stream, pool};
  return pool;
}

void DevicePool::join_capture(Device device, int64_t stream, int64_t other) {
  Ledger& ledger = ledger_of(device);
  const std::lock_guard lock(mutex);
  if (const auto found = ledger.captures.find(other); found != ledger.captures.end())
    ledger.captures.insert_or_assign(stream, found->second);
}

uint64_t DevicePool::end_capture(Device device, int64_t stream) {
  const auto forget = [&] {
    const std::lock_guard lock(mutex);
    std::erase_if(ledger_of(device).captures, [&](const auto& entry) { return entry.second.first == stream; });
  };
  try {
    const uint64_t graph = backend_.end_capture(device, stream);
    forget();
    return graph;
  } catch (...) {
    forget();
    throw;
  }
}

void DevicePool::drop_pool(Device device, int64_t pool) {
  Ledger& ledger = ledger_of(device);
  const std::lock_guard lock(mutex);
  if (--ledger.pools.at(pool) == 0) ledger.pools.erase(pool);
  else return;
  // Blocks that other streams of the capture used were not reused in it.
  for (auto part = ledger.parts.begin(); part != ledger.parts.end();) {
    const auto current = part++;
    if (current->second.pool != pool || !Ledger::is_parked(current->second)) continue;
    current->second.users.clear();
    ledger.give_back(current);
    part = ledger.parts.begin();
  }
}

uint64_t DevicePool::take_new(Device device, size_t nbytes, size_t size) {
  const bool splits = options_.policy == PoolPolicy::BestFit || options_.policy == PoolPolicy::FirstFit;
  try {
    const size_t room = size + kColors * options_.color;
    return add_segment(device, nbytes, size, splits ? std::max(room, options_.segment) : size);
  } catch (const Error& error) {
    const bool can_wait = !capture_of(device, current_stream(device));
    if (error.kind != ErrorKind::OutOfMemory || !can_wait) throw;
  }
  ++ledger_of(device).counts.retries;
  empty(device);
  return add_segment(device, nbytes, size, size);
}

uint64_t DevicePool::add_segment(Device device, size_t nbytes, size_t size, size_t segment) {
  const uint64_t address = backend_.allocate(device, segment);
  Ledger& ledger = ledger_of(device);
  const int64_t stream = current_stream(device);
  if (address % options_.alignment) {
    backend_.release(device, address, segment);
    raise(ErrorKind::Runtime, "%s: allocate gave the address 0x%llx, which is not a multiple of the alignment %zu",
          device_name(device).c_str(), static_cast<unsigned long long>(address), options_.alignment);
  }
  const std::lock_guard lock(mutex);
  ledger.add_segment(address, {segment, 0, stream, Ledger::State::Free, true, {}, ledger.pool_of(stream)});
  if (const uint64_t taken = ledger.take(stream, nbytes, size)) return taken;
  raise(ErrorKind::Runtime, "a new segment of %zu bytes has no block of %zu", segment, size);
}

void DevicePool::release(Device device, uint64_t address) noexcept {
  if (!backend_.is_alive()) return;
  Ledger& ledger = ledger_of(device);
  std::vector<Ledger::Awaited> awaited;
  {
    const std::lock_guard lock(mutex);
    Ledger::Part& part = ledger.parts.at(address);
    ledger.count_block(part, -1);
    part.state = Ledger::State::Awaited;
    if (ledger.pools.contains(part.pool) && Ledger::is_parked(part)) return;  // until drop_pool
    std::vector<int64_t> users = std::exchange(part.users, {});
    // Memory that has been returned to the backend is no longer written by anybody.
    if (options_.policy == PoolPolicy::None && backend_.has_streams()) users.push_back(part.stream);
    for (const int64_t user : users) awaited.push_back({address, user, {}});
  }
  try {
    if (awaited.empty()) return finish_release(device, address);
    for (Ledger::Awaited& item : awaited)
      if (!capture_of(device, item.stream)) item.event = backend_.record(device, item.stream);
    const std::lock_guard lock(mutex);  // once: the block waits for all of them
    ledger.awaited.insert(ledger.awaited.end(), awaited.begin(), awaited.end());
  } catch (...) {
    // If the backend fails here, the block is leaked: other streams may still be using it.
  }
}

void DevicePool::finish_release(Device device, uint64_t address) {
  Ledger& ledger = ledger_of(device);
  std::unique_lock lock(mutex);
  const auto part = ledger.parts.find(address);
  const size_t nbytes = part->second.nbytes;
  const int64_t stream = part->second.stream;
  if (options_.policy == PoolPolicy::None) {
    ledger.count_segment(nbytes, -1);
    ledger.parts.erase(part);
    lock.unlock();
    return backend_.release(device, address, nbytes);
  }
  if (options_.poison) {
    lock.unlock();
    if (!capture_of(device, stream)) {  // a graph's memory is written by its replays
      const StreamScope scope(device, stream);
      const std::vector<char> ones(nbytes, '\xff');
      backend_.from_host(device, address, ones.data(), nbytes);
    }
    lock.lock();
  }
  ledger.give_back(part);
}

// Frees the blocks whose pending events have completed; with `wait`, waits for all that have one.
void DevicePool::finish_awaited(Device device, bool wait) {
  Ledger& ledger = ledger_of(device);
  std::vector<Ledger::Awaited> items;
  {
    const std::lock_guard lock(mutex);
    items.swap(ledger.awaited);
  }
  const auto is_over = [&](Ledger::Awaited& item) {
    if (!item.event) {
      if (capture_of(device, item.stream)) return false;
      item.event = backend_.record(device, item.stream);
    }
    if (wait) backend_.outwait(device, *item.event);
    else if (!backend_.is_done(device, *item.event)) return false;
    backend_.drop_event(device, *item.event);
    return true;
  };
  const auto put_back = [&] {
    const std::lock_guard lock(mutex);
    ledger.awaited.insert(ledger.awaited.end(), items.begin(), items.end());
  };
  try {
    for (size_t k = 0; k < items.size();) {
      if (!is_over(items[k])) {
        ++k;
        continue;
      }
      const uint64_t address = items[k].address;
      items.erase(items.begin() + static_cast<ptrdiff_t>(k));
      if (!std::ranges::count(items, address, &Ledger::Awaited::address)) finish_release(device, address);
    }
  } catch (...) {
    put_back();
    throw;
  }
  put_back();
}

void DevicePool::record_use(Device device, uint64_t address, int64_t stream) {
  Ledger& ledger = ledger_of(device);
  const std::lock_guard lock(mutex);
  const auto next = ledger.parts.upper_bound(address);
  if (next == ledger.parts.begin()) return;
  Ledger::Part& part = std::prev(next)->second;
  if (part.stream != stream && !std::ranges::count(part.users, stream)) part.users.push_back(stream);
}

// Returns when all work of a stream until now has run.
void DevicePool::finish_stream(Device device, int64_t stream) {
  const uint64_t event = backend_.record(device, stream);
  try {
    backend_.outwait(device, event);
  } catch (...) {
    backend_.drop_event(device, event);
    throw;
  }
  backend_.drop_event(device, event);
}

void DevicePool::empty(Device device) {
  finish_awaited(device, true);
  Ledger& ledger = ledger_of(device);
  std::vector<std::pair<uint64_t, Ledger::Part>> segments;
  std::set<int64_t> streams;
  {
    const std::lock_guard lock(mutex);
    segments = ledger.take_free_segments();
    for (const auto& [address, part] : segments) streams.insert(part.stream);
  }
  try {
    if (backend_.has_streams())
      for (const int64_t stream : streams) finish_stream(device, stream);
  } catch (...) {
    const std::lock_guard lock(mutex);
    for (const auto& [address, part] : segments) ledger.add_segment(address, part);
    throw;
  }
  for (const auto& [address, part] : segments) backend_.release(device, address, part.nbytes);
}

MemoryCounts DevicePool::counts(Device device) const {
  const std::lock_guard lock(mutex);
  return ledger_of(device).counts;
}

namespace {

template <class Visit>
void each_count(MemoryCounts& counts, Visit&& visit) {
  for (MemoryCount* count : {&counts.blocks, &counts.allocated, &counts.requested, &counts.segments, &counts.reserved})
    visit(*count);
}

}  // namespace

void DevicePool::reset_peaks(Device device) {
  const std::lock_guard lock(mutex);
  each_count(ledger_of(device).counts, [](MemoryCount& count) { count.peak = count.current; });
}

void DevicePool::reset_sums(Device device) {
  const std::lock_guard lock(mutex);
  MemoryCounts& counts = ledger_of(device).counts;
  each_count(counts, [](MemoryCount& count) { count.taken = count.given = 0; });
  counts.retries = counts.failures = 0;
}

std::vector<DevicePool::Listed> DevicePool::list_blocks(Device device) const {
  static constexpr const char* kStates[] = {"active_allocated", "active_awaiting_free", "inactive"};
  const Ledger& ledger = ledger_of(device);
  const std::lock_guard lock(mutex);
  std::vector<Listed> listed;
  for (const auto& [address, part] : ledger.parts)
    listed.push_back({address, part.nbytes, part.requested, part.stream, kStates[static_cast<int>(part.state)],
                      part.starts_segment});
  return listed;
}

}  // namespace pellucid
