#include "library/sort.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/thread_pool.h"
#include "exec/library.h"

namespace pellucid {
namespace {

constexpr int64_t kSmallRow = 128;          // below, comparing beats counting digits
constexpr int64_t kChunk = 1 << 16;         // a longer row is sorted in chunks, which are merged

template <class Key>
struct Item {
  Key key;
  uint32_t place;
};

template <class Key>
bool comes_before(const Item<Key>& a, const Item<Key>& b) {
  return a.key != b.key ? a.key < b.key : a.place < b.place;
}

// Elements as unsigned keys in the same order. A float's bits order themselves once negative ones
// are flipped; zeros of both signs are equal, and NaN comes last.
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

template <class Key>
struct Sorter {
  using Row = Item<Key>*;
  Key (*key_of)(Key bits);
  bool reversed;

  void load(const Key* from, Row to, int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; ++i) {
      const Key key = key_of(from[i]);
      to[i] = {reversed ? static_cast<Key>(~key) : key, static_cast<uint32_t>(i)};
    }
  }

  // Sorts by counting the digits of the keys, lowest first; each pass keeps the order of equals.
  static void sort(Row items, Row spare, int64_t count) {
    if (count <= kSmallRow) return std::sort(items, items + count, comes_before<Key>);
    std::array<std::array<uint32_t, 256>, sizeof(Key)> counts{};
    for (int64_t i = 0; i < count; ++i)
      for (size_t digit = 0; digit < sizeof(Key); ++digit) ++counts[digit][items[i].key >> (8 * digit) & 255];
    Row from = items, to = spare;
    for (size_t digit = 0; digit < sizeof(Key); ++digit) {
      auto& starts = counts[digit];
      if (starts[from[0].key >> (8 * digit) & 255] == count) continue;   // one digit for all
      uint32_t next = 0;
      for (uint32_t& start : starts) next += std::exchange(start, next);
      for (int64_t i = 0; i < count; ++i) to[starts[from[i].key >> (8 * digit) & 255]++] = from[i];
      std::swap(from, to);
    }
    if (from != items) std::copy_n(from, count, items);
  }

  // A long row: chunks on all threads, then merges of neighbours.
  void sort_long(const Key* from, int64_t* out, int64_t count) const {
    std::vector<Item<Key>> items(count), spare(count);
    const int64_t chunks = (count + kChunk - 1) / kChunk;
    parallel_blocks(chunks, [&](int64_t chunk) {
      const int64_t begin = chunk * kChunk, end = std::min(begin + kChunk, count);
      load(from, items.data(), begin, end);
      sort(items.data() + begin, spare.data() + begin, end - begin);
    });
    for (int64_t width = kChunk; width < count; width *= 2) {
      parallel_blocks((count + 2 * width - 1) / (2 * width), [&](int64_t pair) {
        const int64_t begin = pair * 2 * width, middle = std::min(begin + width, count);
        const int64_t end = std::min(middle + width, count);
        std::merge(items.data() + begin, items.data() + middle, items.data() + middle, items.data() + end,
                   spare.data() + begin, comes_before<Key>);
      });
      items.swap(spare);
    }
    for (int64_t i = 0; i < count; ++i) out[i] = items[i].place;
  }

  // Rows side by side; a block of rows is as large as makes a thread worth while.
  template <class Order>
  static void over_rows(int64_t rows, int64_t length, Order&& order) {
    const int64_t per_block = std::max<int64_t>(1, kParallelGrain / 4 / std::max<int64_t>(length, 1));
    parallel_blocks((rows + per_block - 1) / per_block, [&](int64_t block) {
      std::vector<Item<Key>> items(length), spare(length);
      const int64_t end = std::min((block + 1) * per_block, rows);
      for (int64_t row = block * per_block; row < end; ++row) order(row, items.data(), spare.data());
    });
  }

  void sort_rows(const Key* from, int64_t* out, int64_t rows, int64_t length) const {
    if (length > kChunk && rows < 4) {
      for (int64_t row = 0; row < rows; ++row) sort_long(from + row * length, out + row * length, length);
      return;
    }
    over_rows(rows, length, [&](int64_t row, Row items, Row spare) {
      load(from + row * length, items, 0, length);
      sort(items, spare, length);
      for (int64_t i = 0; i < length; ++i) out[row * length + i] = items[i].place;
    });
  }

  void top_rows(const Key* from, int64_t* out, int64_t rows, int64_t length, int64_t chosen) const {
    over_rows(rows, length, [&](int64_t row, Row items, Row) {
      load(from + row * length, items, 0, length);
      if (chosen < length) std::nth_element(items, items + chosen, items + length, comes_before<Key>);
      std::sort(items, items + chosen, comes_before<Key>);
      for (int64_t i = 0; i < chosen; ++i) out[row * chosen + i] = items[i].place;
    });
  }
};

template <class Key>
void order(LibraryCall& call, Key (*key_of)(Key), bool reversed, bool only_top) {
  const TensorImpl& input = *call.inputs[0];
  const TensorImpl& output = *call.outputs[0];
  const int64_t length = input.sizes[input.ndim - 1], chosen = output.sizes[output.ndim - 1];
  if (length > std::numeric_limits<uint32_t>::max())
    raise(ErrorKind::NotImplemented, "%s(): rows of more than 2**32 elements are not ordered", call.step.name.c_str());
  if (!output.numel) return;
  const Key* from = reinterpret_cast<const Key*>(call.inputs[0]->data());
  int64_t* to = reinterpret_cast<int64_t*>(call.outputs[0]->data());
  const Sorter<Key> sorter{key_of, reversed};
  const int64_t rows = input.numel / length;
  if (only_top) sorter.top_rows(from, to, rows, length, chosen);
  else sorter.sort_rows(from, to, rows, length);
}

void order_any(LibraryCall& call, bool reversed, bool only_top) {
  switch (call.inputs[0]->dtype) {
    case DType::Bool: case DType::UInt8: return order<uint8_t>(call, unsigned_key<uint8_t>, reversed, only_top);
    case DType::Int8: return order<uint8_t>(call, signed_key<uint8_t>, reversed, only_top);
    case DType::Int16: return order<uint16_t>(call, signed_key<uint16_t>, reversed, only_top);
    case DType::Int32: return order<uint32_t>(call, signed_key<uint32_t>, reversed, only_top);
    case DType::Int64: return order<uint64_t>(call, signed_key<uint64_t>, reversed, only_top);
    case DType::Float16: return order<uint16_t>(call, float_key<uint16_t, 10>, reversed, only_top);
    case DType::BFloat16: return order<uint16_t>(call, float_key<uint16_t, 7>, reversed, only_top);
    case DType::Float32: return order<uint32_t>(call, float_key<uint32_t, 23>, reversed, only_top);
    case DType::Float64: return order<uint64_t>(call, float_key<uint64_t, 52>, reversed, only_top);
    default: raise(ErrorKind::Runtime, "%s(): complex numbers have no order", call.step.name.c_str());
  }
}

bool is_set(const LibraryCall& call, std::string_view name) {
  const Constant* option = call.option(name);
  return option && option->value.integer != 0;
}

void argsort(LibraryCall& call) { order_any(call, is_set(call, "descending"), false); }
void argtopk(LibraryCall& call) { order_any(call, is_set(call, "largest"), true); }

}  // namespace

void register_sort_routines() {
  register_library_routine("argsort", argsort);
  register_library_routine("argtopk", argtopk);
}

}  // namespace pellucid
