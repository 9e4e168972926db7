#include "distributed/group.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace pellucid::distributed {

struct Group::Header {
  uint64_t sequence;
  int64_t count;
  double factor;
  int64_t block, offset;       // where the operand is in shared memory; -1: elsewhere
  const char *input, *output;  // in the rank's address space
  int32_t root;
  Kind kind;
  DType dtype;
  Reduction reduction;

  bool agrees_with(const Header& other) const {
    return sequence == other.sequence && count == other.count && block == other.block && offset == other.offset &&
           root == other.root && kind == other.kind && dtype == other.dtype && reduction == other.reduction;
  }
};

namespace {

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr double kNotifyAfter = 10;  // seconds

}  // namespace

double seconds_now() { return monotonic_seconds(); }

Group::Group(int descriptor, int rank, int size, std::span<const int> pids, Observer& observer)
    : rank_(rank), size_(size), segment_(descriptor, size), processes_(pids), observer_(observer),
      share_cores_(size > usable_cores()), factors_(static_cast<size_t>(size), 1.0), inputs_(static_cast<size_t>(size)),
      outputs_(static_cast<size_t>(size)) {
  static_assert(sizeof(Header) <= kHeaderBytes);
  set_presence(Presence::Here);
}

std::vector<uint32_t> Group::phases() const {
  std::vector<uint32_t> found;
  for (int rank = 0; rank < size_; ++rank) found.push_back(segment_.page(rank).arrived.count);
  return found;
}

void Group::check(const std::function<bool(int)>& is_missing, double start, double timeout, bool& has_notified) const {
  if (stops_) throw Failure{Cause::Left, {rank_}};
  // Ended ranks are looked up before missing ones: a rank may arrive and end right after.
  std::vector<int> gone, ended, missing;
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_) continue;
    const Presence presence = segment_.page(rank).presence;
    const bool is_over = processes_.has_ended(rank);
    if (!is_missing(rank)) continue;
    missing.push_back(rank);
    if (presence == Presence::Left || presence == Presence::Failed) gone.push_back(rank);
    else if (is_over) ended.push_back(rank);
  }
  if (missing.empty()) return;
  if (!ended.empty()) throw Failure{Cause::Ended, ended};
  if (!gone.empty()) throw Failure{Cause::Left, gone};
  const double seconds = seconds_now() - start;
  if (seconds > timeout) throw Failure{Cause::TimedOut, missing};
  const bool notifies = seconds > kNotifyAfter && !has_notified;
  has_notified |= notifies;
  observer_.waiting(seconds, notifies, missing);
}

void Group::begin(const Call& call, double timeout, Place place) {
  timeout_ = timeout;
  ++sequence_;
  Header header{sequence_,   call.count, call.factor, place.block, place.offset,  call.input,
                call.output, call.root,  call.kind,   call.dtype,  call.reduction};
  std::memcpy(segment_.slot(rank_, phase_ + 1), &header, sizeof header);
  compares_ = true;
}

void Group::meet() {
  const uint32_t phase = ++phase_;
  RankPage& own = segment_.page(rank_);
  own.core.store(current_core(), std::memory_order_relaxed);
  own.arrived.ring(phase);
  const double start = seconds_now();
  bool has_notified = false;
  const auto is_missing = [&](int rank) { return !segment_.page(rank).arrived.has_reached(phase); };
  const auto check_all = [&] { check(is_missing, start, timeout_, has_notified); };
  for (int rank = 0; rank < size_; ++rank)
    if (is_missing(rank))
      wait_until(segment_.page(rank).arrived, may_spin(is_missing), [&] { return !is_missing(rank); }, check_all);
  if (compares_) compare_headers();
}

void Group::compare_headers() {
  compares_ = false;
  Header own, other;
  std::memcpy(&own, segment_.slot(rank_, phase_), sizeof own);
  std::vector<int> different;
  for (int rank = 0; rank < size_; ++rank) {
    std::memcpy(&other, segment_.slot(rank, phase_), sizeof other);
    const auto index = static_cast<size_t>(rank);
    factors_[index] = other.factor;
    inputs_[index] = other.input;
    outputs_[index] = other.output;
    if (!own.agrees_with(other)) different.push_back(rank);
  }
  if (different.empty()) return;
  sequence_ = 0;  // ranks whose counts differ agree again
  throw Failure{Cause::Mismatch, different};
}

std::vector<const char*> Group::sources(int64_t offset, const char* own) const {
  std::vector<const char*> found;
  for (int rank = 0; rank < size_; ++rank) found.push_back(rank == rank_ ? own : payload(rank) + offset);
  return found;
}

std::vector<std::string> Group::exchange_texts(const std::string& text, double timeout) {
  timeout_ = timeout;
  const uint64_t length = std::min(text.size(), kTextBytes);
  std::memcpy(next_payload(), &length, sizeof length);
  std::memcpy(next_payload() + sizeof length, text.data(), length);
  meet();
  std::vector<std::string> texts;
  for (int rank = 0; rank < size_; ++rank) {
    uint64_t found;
    std::memcpy(&found, payload(rank), sizeof found);
    texts.emplace_back(payload(rank) + sizeof found, std::min<uint64_t>(found, kTextBytes));
  }
  return texts;
}

char* Group::add_block(int descriptor, size_t nbytes) {
  blocks_.push_back({std::make_unique<Mapping>(descriptor, nbytes * static_cast<size_t>(size_)), nbytes});
  return blocks_.back().part(rank_);
}

Group::Place Group::find_place(const Call& call) const {
  const int64_t nbytes = call.count * static_cast<int64_t>(item_size(call.dtype));
  if (call.input != call.output) return {-1, 0};
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const int64_t offset = call.input - blocks_[i].part(rank_);
    if (offset >= 0 && offset + nbytes <= static_cast<int64_t>(blocks_[i].nbytes))
      return {static_cast<int64_t>(i), offset};
  }
  return {-1, 0};
}

void Group::run(const Call& call, double timeout) {
  begin(call, timeout, call.kind == Kind::AllReduce ? find_place(call) : Place{-1, 0});
  switch (call.kind) {
    case Kind::Barrier: return meet();
    case Kind::AllReduce: return all_reduce(call);
    case Kind::Reduce: return reduce(call);
    case Kind::Broadcast: return broadcast(call);
    case Kind::AllGather:
    case Kind::Gather: return gather(call);
    case Kind::Scatter: return scatter(call);
    case Kind::ReduceScatter: return reduce_scatter(call);
    case Kind::AllToAll: return meet();  // data is sent by all_to_all(), since sizes differ
  }
}

}  // namespace pellucid::distributed
