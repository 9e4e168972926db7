#include "library/sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/thread_pool.h"
#include "library/radix_sort.h"
#include "library/workspace.h"
#include "plan/library.h"

namespace pellucid {
namespace {

constexpr int64_t kRanked = 64;        // rows up to this are ordered by comparing all pairs, without branches
constexpr int64_t kCounted = 40;       // 8-byte keys of longer rows are counted if half of their digits are equal
constexpr int64_t kSelected = 1024;    // longer rows are reduced to a digit's elements before one is selected
constexpr int kSelectedBits = 11;      // of that digit
constexpr int64_t kLongRow = 1 << 16;  // longer rows are sorted by all threads
constexpr int64_t kFew = 32;           // the top 1/32 of a row or less is found without sorting the rest
constexpr int64_t kStretch = 64;       // elements examined together

template <class Key>
bool comes_before(const KeyAndPlace<Key>& a, const KeyAndPlace<Key>& b) {
  return a.key != b.key ? a.key < b.key : a.place < b.place;
}

// Elements as unsigned keys in the same order. A float's bits have its order once those of negative numbers are
// flipped; zeros of both signs are equal, and NaN comes last.
template <class Key, int kMantissaBits>
Key float_key(Key bits) {
  constexpr Key kSign = static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1));
  constexpr Key kInfinity = static_cast<Key>(static_cast<Key>(~kSign) >> kMantissaBits << kMantissaBits);
  const Key magnitude = static_cast<Key>(bits & ~kSign);
  if (magnitude > kInfinity) return std::numeric_limits<Key>::max();
  if (magnitude == 0) return kSign;
  return static_cast<Key>(bits & kSign ? ~bits : bits | kSign);
}
template <class Key>
Key signed_key(Key bits) {
  return static_cast<Key>(bits ^ Key{1} << (8 * sizeof(Key) - 1));
}
template <class Key>
Key unsigned_key(Key bits) {
  return bits;
}

template <class Key, Key (*key_of)(Key bits)>
struct Sorter {
  using Row = KeyAndPlace<Key>*;
  bool reversed;

  void load(const Key* from, Row to, int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; ++i) {
      const Key key = key_of(from[i]);
      to[i] = {reversed ? static_cast<Key>(~key) : key, static_cast<uint32_t>(i)};
    }
  }

  // How many elements of a short row precede each.
  void find_ranks(const Key* from, int64_t count, Key (&ranks)[kRanked]) const {
    const Key flip = reversed ? std::numeric_limits<Key>::max() : 0;
    Key keys[kRanked];
    for (int64_t i = 0; i < count; ++i) keys[i] = static_cast<Key>(key_of(from[i]) ^ flip), ranks[i] = 0;
    const auto length = static_cast<Key>(count);
    for (Key k = 0; k < length; ++k) {
      const Key key = keys[k];
      for (Key i = 0; i < length; ++i)
        ranks[i] = static_cast<Key>(ranks[i] + ((key < keys[i]) | ((key == keys[i]) & (k < i))));
    }
  }

  // Counting sort by the digits of the keys, lowest first; each pass is stable.
  static void sort(Row items, Row spare, int64_t count) {
    std::array<std::array<uint32_t, 256>, sizeof(Key)> counts{};
    for (int64_t i = 0; i < count; ++i)
      for (size_t digit = 0; digit < sizeof(Key); ++digit) ++counts[digit][items[i].key >> (8 * digit) & 255];
    Row from = items, to = spare;
    for (size_t digit = 0; digit < sizeof(Key); ++digit) {
      auto& starts = counts[digit];
      if (starts[from[0].key >> (8 * digit) & 255] == count) continue;  // all keys have the same digit
      uint32_t next = 0;
      for (uint32_t& start : starts) next += std::exchange(start, next);
      for (int64_t i = 0; i < count; ++i) to[starts[from[i].key >> (8 * digit) & 255]++] = from[i];
      std::swap(from, to);
    }
    if (from != items) std::copy_n(from, count, items);
  }

  // A long row is sorted on all threads by the bits in which any keys differ. If these are few, as for indices,
  // keys are moved as 32-bit ones.
  void sort_long(const Key* from, int64_t* out, int64_t count) const {
    std::vector<Key> differing((count + radix::kChunk - 1) / radix::kChunk);
    radix::in_chunks(count, [&](int64_t chunk, int64_t begin, int64_t end) {
      Key bits = 0;
      for (int64_t i = begin; i < end; ++i) bits |= static_cast<Key>(key_of(from[i]) ^ key_of(from[0]));
      differing[chunk] = bits;
    });
    Key differs = 0;
    for (Key bits : differing) differs |= bits;
    const int low = differs ? std::countr_zero(differs) : 0;
    const int width = std::bit_width(differs) - low;
    if (width <= 32) sort_digits<uint32_t>(from, out, count, low, width);
    else sort_digits<Key>(from, out, count, low, width);
  }

  // Sorts by `width` bits of the keys, from bit `low` on.
  template <class Narrow>
  void sort_digits(const Key* from, int64_t* out, int64_t count, int low, int width) const {
    const Workspace<KeyAndPlace<Narrow>> items(count), spare(count);
    const Key flip = reversed ? std::numeric_limits<Key>::max() : 0;
    const Narrow mask = static_cast<Narrow>(width == 8 * sizeof(Narrow) ? ~Narrow{0} : (Narrow{1} << width) - 1);
    radix::in_chunks(count, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        items[i] = {static_cast<Narrow>(static_cast<Key>(static_cast<Key>(key_of(from[i]) ^ flip) >> low) & mask),
                    static_cast<uint32_t>(i)};
    });
    const KeyAndPlace<Narrow>* sorted = radix_sort<Narrow>(items, spare, count, width);
    radix::in_chunks(count, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = sorted[i].place;
    });
  }

  // Processes rows in parallel, with memory for `held` items each; a block has enough rows to be worth a thread.
  template <class Order>
  static void over_rows(int64_t rows, int64_t length, int64_t held, Order&& order) {
    const int64_t per_block = std::max<int64_t>(1, kParallelGrain / 4 / std::max<int64_t>(length, 1));
    parallel_blocks((rows + per_block - 1) / per_block, [&](int64_t block) {
      const Workspace<KeyAndPlace<Key>> items(held);
      const int64_t end = std::min((block + 1) * per_block, rows);
      for (int64_t row = block * per_block; row < end; ++row) order(row, static_cast<Row>(items));
    });
  }

  // Whether to sort a row by comparing all pairs. Counting takes a pass per digit in which keys differ.
  static bool should_rank(const Key* from, int64_t length) {
    if (sizeof(Key) < 8 || length <= kCounted || length > kRanked) return length <= kRanked;
    Key differs = 0;
    for (int64_t i = 0; i < length; ++i) differs |= static_cast<Key>(from[i] ^ from[0]);
    return std::bit_width(differs) > 32;
  }

  void sort_rows(const Key* from, int64_t* out, int64_t rows, int64_t length) const {
    if (length > kLongRow && rows < 4) {
      for (int64_t row = 0; row < rows; ++row) sort_long(from + row * length, out + row * length, length);
      return;
    }
    over_rows(rows, length, length <= kCounted ? 0 : 2 * length, [&](int64_t row, Row items) {
      if (should_rank(from + row * length, length)) {
        Key ranks[kRanked];
        find_ranks(from + row * length, length, ranks);
        for (int64_t i = 0; i < length; ++i) out[row * length + ranks[i]] = i;
        return;
      }
      load(from + row * length, items, 0, length);
      sort(items, items + length, length);
      for (int64_t i = 0; i < length; ++i) out[row * length + i] = items[i].place;
    });
  }

  void top_rows(const Key* from, int64_t* out, int64_t rows, int64_t length, int64_t chosen) const {
    if (length <= kRanked)
      return over_rows(rows, length, 0, [&](int64_t row, Row) {
        Key ranks[kRanked];
        find_ranks(from + row * length, length, ranks);
        for (int64_t i = 0; i < length; ++i)
          if (static_cast<int64_t>(ranks[i]) < chosen) out[row * chosen + ranks[i]] = i;
      });
    const bool few = chosen <= length / kFew;
    over_rows(rows, length, few ? chosen : length, [&](int64_t row, Row items) {
      if (few) {
        find_few(from + row * length, items, length, chosen);
      } else {
        load(from + row * length, items, 0, length);
        if (chosen < length) std::nth_element(items, items + chosen, items + length, comes_before<Key>);
        std::sort(items, items + chosen, comes_before<Key>);
      }
      for (int64_t i = 0; i < chosen; ++i) out[row * chosen + i] = items[i].place;
    });
  }

  // The element of each row that `ranks` others precede.
  void rank_rows(const Key* from, const int64_t* ranks, int64_t* out, int64_t rows, int64_t length) const {
    over_rows(rows, length, length,
              [&](int64_t row, Row items) { out[row] = select(from + row * length, items, length, ranks[row]); });
  }

  int64_t select(const Key* from, Row items, int64_t length, int64_t rank) const {
    if (length <= kSelected) {
      load(from, items, 0, length);
      std::nth_element(items, items + rank, items + length, comes_before<Key>);
      return items[rank].place;
    }
    constexpr int kBits = std::min<int>(kSelectedBits, 8 * sizeof(Key)), kShift = 8 * sizeof(Key) - kBits;
    std::array<uint32_t, 1 << kBits> counts{};
    for (int64_t i = 0; i < length; ++i) ++counts[key_of(from[i]) >> kShift];
    size_t digit = 0;
    for (; rank >= counts[digit]; ++digit) rank -= counts[digit];
    int64_t count = 0;
    for (int64_t i = 0; i < length; ++i) {
      const Key key = key_of(from[i]);
      items[count] = {key, static_cast<uint32_t>(i)};
      count += key >> kShift == digit;
    }
    std::nth_element(items, items + rank, items + count, comes_before<Key>);
    return items[rank].place;
  }

  // The keys of a stretch, and the smallest of them. A length known to the compiler lets it vectorise.
  template <int64_t kKnown>
  static Key load_keys(const Key* from, int64_t count, Key* keys, Key flip) {
    Key least = std::numeric_limits<Key>::max();
    for (int64_t i = 0; i < (kKnown ? kKnown : count); ++i) {
      keys[i] = static_cast<Key>(key_of(from[i]) ^ flip);
      least = std::min(least, keys[i]);
    }
    return least;
  }

  // Finds the first `chosen` items in order, with a heap whose top is the last of them. Most stretches of the row
  // contain nothing that precedes it. Among equal keys the first one encountered stays.
  void find_few(const Key* from, Row heap, int64_t length, int64_t chosen) const {
    load(from, heap, 0, chosen);
    std::make_heap(heap, heap + chosen, comes_before<Key>);
    const Key flip = reversed ? std::numeric_limits<Key>::max() : 0;
    for (int64_t begin = chosen; begin < length; begin += kStretch) {
      Key keys[kStretch];
      const int64_t count = std::min(kStretch, length - begin);
      const Key least = count == kStretch ? load_keys<kStretch>(from + begin, kStretch, keys, flip)
                                          : load_keys<0>(from + begin, count, keys, flip);
      if (least >= heap[0].key) continue;
      for (int64_t i = 0; i < count; ++i) {
        if (keys[i] >= heap[0].key) continue;
        std::pop_heap(heap, heap + chosen, comes_before<Key>);
        heap[chosen - 1] = {keys[i], static_cast<uint32_t>(begin + i)};
        std::push_heap(heap, heap + chosen, comes_before<Key>);
      }
    }
    std::sort_heap(heap, heap + chosen, comes_before<Key>);
  }
};

enum class Routine { Sort, Top, Rank };

template <class Key, Key (*key_of)(Key bits)>
void order(LibraryCall& call, bool reversed, Routine routine) {
  const TensorImpl& input = *call.inputs[0];
  const TensorImpl& output = *call.outputs[0];
  const int64_t length = input.sizes[input.ndim - 1];
  if (length > std::numeric_limits<uint32_t>::max())
    raise(ErrorKind::NotImplemented, "%s(): rows of more than 2**32 elements cannot be sorted", call.step.name.c_str());
  if (!output.numel) return;
  const Key* from = reinterpret_cast<const Key*>(call.inputs[0]->host());
  int64_t* to = reinterpret_cast<int64_t*>(call.outputs[0]->host());
  const Sorter<Key, key_of> sorter{reversed};
  const int64_t rows = input.numel / length;
  switch (routine) {
    case Routine::Sort: return sorter.sort_rows(from, to, rows, length);
    case Routine::Top: return sorter.top_rows(from, to, rows, length, output.sizes[output.ndim - 1]);
    case Routine::Rank: return sorter.rank_rows(from, call.inputs[1]->host_as<int64_t>(), to, rows, length);
  }
}

void order_any(LibraryCall& call, bool reversed, Routine routine) {
  switch (call.inputs[0]->dtype) {
    case DType::Bool:
    case DType::UInt8: return order<uint8_t, unsigned_key<uint8_t>>(call, reversed, routine);
    case DType::Int8: return order<uint8_t, signed_key<uint8_t>>(call, reversed, routine);
    case DType::UInt16: return order<uint16_t, unsigned_key<uint16_t>>(call, reversed, routine);
    case DType::UInt32: return order<uint32_t, unsigned_key<uint32_t>>(call, reversed, routine);
    case DType::UInt64: return order<uint64_t, unsigned_key<uint64_t>>(call, reversed, routine);
    case DType::Int16: return order<uint16_t, signed_key<uint16_t>>(call, reversed, routine);
    case DType::Int32: return order<uint32_t, signed_key<uint32_t>>(call, reversed, routine);
    case DType::Int64: return order<uint64_t, signed_key<uint64_t>>(call, reversed, routine);
    case DType::Float16: return order<uint16_t, float_key<uint16_t, 10>>(call, reversed, routine);
    case DType::BFloat16: return order<uint16_t, float_key<uint16_t, 7>>(call, reversed, routine);
    case DType::Float32: return order<uint32_t, float_key<uint32_t, 23>>(call, reversed, routine);
    case DType::Float64: return order<uint64_t, float_key<uint64_t, 52>>(call, reversed, routine);
    default:
      raise(ErrorKind::Runtime, "%s(): elements of %s have no order", call.step.name.c_str(),
            std::string(name(call.inputs[0]->dtype)).c_str());
  }
}

bool is_set(const LibraryCall& call, std::string_view name) {
  const Constant* option = call.option(name);
  return option && option->value.integer != 0;
}

void argsort(LibraryCall& call) { order_any(call, is_set(call, "descending"), Routine::Sort); }
void argtopk(LibraryCall& call) { order_any(call, is_set(call, "largest"), Routine::Top); }
void argrank(LibraryCall& call) { order_any(call, false, Routine::Rank); }

}  // namespace

void register_sort_routines() {
  register_library_routine("argsort", argsort);
  register_library_routine("argtopk", argtopk);
  register_library_routine("argrank", argrank);
}

}  // namespace pellucid
