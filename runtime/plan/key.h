// Specialisation keys: the facts of a call that decide which plan runs.
//
// A key holds ranks, dtypes, list lengths, which arguments are None, structural arguments and the default dtype,
// as 64-bit words in schema order. Sizes and run-time numbers are not part of it; a plan's guards test those.
// Keys are compared in full, never by hash alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/op_record.h"
#include "plan/decode.h"

namespace pellucid {

class KeyBuilder {
 public:
  void add(uint64_t word) {
    if (count_ < kInline) inline_[count_] = word;
    else spill(word);
    ++count_;
    hash_ = (hash_ ^ word) * 0x9E3779B97F4A7C15ull;
  }
  // `ranks` false: only whether a tensor is 0-d counts, which is all that a pointwise op needs to know about
  // shapes, and whether a factor whose default is 1 is 1.
  void add_call(const OpCall& call, bool ranks = true);
  void add_value(const Argument& argument, const Value& value, bool ranks = true);
  // The key of a frozen entry: an item per argument (abi/items.py).
  void add_items(Decoder& in, const Schema& schema);
  void add_item(Decoder& in);

  uint64_t hash() const { return hash_ ^ hash_ >> 29; }
  std::span<const uint64_t> words() const { return {spilled_.empty() ? inline_ : spilled_.data(), count_}; }

 private:
  static constexpr size_t kInline = 48;
  void spill(uint64_t word);
  void add_tensor(const TensorImpl& tensor, bool ranks);
  void add_static(NumberKind kind, uint64_t bits);
  void add_text(std::string_view text);
  void add_literal(const Literal& literal, const Decoder& in);

  uint64_t inline_[kInline];
  size_t count_ = 0;
  uint64_t hash_ = 0;
  std::vector<uint64_t> spilled_;
};

// A call's tensors, flattened in the order of a Graph's inputs; None elements are skipped.
struct FlatTensors {
  static constexpr size_t kInline = 24;
  TensorImpl* inline_tensors[kInline];
  std::vector<TensorImpl*> spilled;
  size_t count = 0;

  explicit FlatTensors(const OpCall& call);
  TensorImpl* const* data() const { return spilled.empty() ? inline_tensors : spilled.data(); }
  std::span<TensorImpl* const> span() const { return {data(), count}; }

 private:
  void add(TensorImpl* tensor);
};

}  // namespace pellucid
