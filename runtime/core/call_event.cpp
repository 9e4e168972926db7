#include "core/call_event.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "core/tensor.h"

namespace pellucid {
namespace {

// Encodes one value as words: a header of tag, dtype, rank and length, then what the tag needs. Decoded by
// src/pellucid/profiler/_timeline/facts.py.
class FactWriter {
 public:
  static constexpr size_t kMost = 512;

  void add_call(const OpCall& call) {
    for (int k = 0; k < call.num_args; ++k) add(call.args[k]);
  }
  std::span<const uint64_t> words() const { return {words_, count_}; }

 private:
  bool has_room(size_t count) const { return count_ + count <= kMost; }
  void head(Tag tag, uint64_t length, uint64_t dtype = 0, uint64_t ndim = 0) {
    words_[count_++] = static_cast<uint64_t>(tag) | dtype << 8 | ndim << 16 | length << 32;
  }
  void omit() { head(Tag::Object, 1); }  // an argument for which there is no room
  void add_number(Tag tag, double number) {
    head(tag, 1);
    words_[count_++] = std::bit_cast<uint64_t>(number);
  }
  void add_tensor(const TensorImpl* tensor) {
    if (!tensor) return head(Tag::None, 0);
    if (!has_room(1 + 2 * tensor->ndim)) return omit();
    head(Tag::Tensor, 0, static_cast<uint64_t>(tensor->dtype), tensor->ndim);
    for (const int64_t size : tensor->shape()) words_[count_++] = static_cast<uint64_t>(size);
    for (const int64_t stride : tensor->stride()) words_[count_++] = static_cast<uint64_t>(stride);
  }
  void add_integers(const Value& value) {
    if (!has_room(1 + value.length)) return omit();
    head(value.tag, value.length);
    for (uint32_t k = 0; k < value.length; ++k)
      words_[count_++] = static_cast<uint64_t>(value.integers[value.broadcast_list ? 0 : k]);
  }
  void add_numbers(const Value& value) {
    if (!has_room(1 + value.length)) return omit();
    head(value.tag, value.length);
    for (uint32_t k = 0; k < value.length; ++k)
      words_[count_++] = std::bit_cast<uint64_t>(value.numbers[value.broadcast_list ? 0 : k]);
  }
  void add_text(const Value& value) {
    const size_t count = (value.length + sizeof(uint64_t) - 1) / sizeof(uint64_t);
    if (!has_room(1 + count)) return omit();
    head(Tag::String, value.length);
    if (count) words_[count_ + count - 1] = 0;  // the bytes after the text
    std::memcpy(words_ + count_, value.string, value.length);
    count_ += count;
  }
  void add(const Value& value) {
    if (!has_room(2)) return has_room(1) ? omit() : void();
    switch (value.tag) {
      case Tag::Tensor: return add_tensor(value.tensor);
      case Tag::Int:
      case Tag::Bool:
      case Tag::DType:
        head(value.tag, 1);
        words_[count_++] = static_cast<uint64_t>(value.integer);
        return;
      case Tag::Float: return add_number(value.tag, value.number);
      case Tag::Complex:
        if (!has_room(3)) return omit();
        add_number(value.tag, value.complex->real);
        words_[count_++] = std::bit_cast<uint64_t>(value.complex->imag);
        return;
      case Tag::IntList:
      case Tag::BoolList: return add_integers(value);
      case Tag::FloatList: return add_numbers(value);
      case Tag::ScalarList:
        head(value.tag, value.length);
        for (uint32_t k = 0; k < value.length; ++k) add(value.values[k]);
        return;
      case Tag::String: return add_text(value);
      case Tag::TensorList:
      case Tag::OptionalTensorList:
        head(value.tag, value.length);
        for (uint32_t k = 0; k < value.length && has_room(1); ++k) add_tensor(value.tensors[k]);
        return;
      default: return head(value.tag == Tag::None ? Tag::None : Tag::Object, 0);
    }
  }

  size_t count_ = 0;
  uint64_t words_[kMost + 1];
};

}  // namespace

void CallEvent::open_watched(const OpCall& call) {
  ThreadTimeline* timeline = thread_timeline();
  if (!timeline) return;
  const KeySet key = call.keys.highest();  // without tensors the CPU
  if (timeline->open_arguments != call.args) return open(*timeline, call, 0, 0, key);
  if (timeline->open == kNoEvent) return;
  TimelineEvent& event = timeline->events[timeline->open];
  if (event.kind == EventKind::Call) event.extra |= key.bits();
}

void CallEvent::write_facts(const OpCall& call, bool keeps_begin) {
  TimelineEvent* event = scope_.event();
  if (!event) return;
  FactWriter writer;
  writer.add_call(call);
  const std::span<const uint64_t> words = writer.words();
  auto& facts = scope_.timeline()->facts;
  uint64_t* place = facts.append(words.size() + 1);
  if (!place) return;
  place[0] = words.size() + 1;
  std::ranges::copy(words, place + 1);
  event->facts = static_cast<uint32_t>(facts.size() - words.size());
  // The time spent writing the event is not part of the op's time.
  if (!keeps_begin) scope_.timeline()->last_tick = event->begin = ticks();
}

}  // namespace pellucid
