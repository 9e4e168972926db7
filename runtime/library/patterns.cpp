#include "library/patterns.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "core/error.h"
#include "library/radix_sort.h"
#include "library/workspace.h"

namespace pellucid::patterns {
namespace {

Tensor integers(int64_t count) { return empty(std::span(&count, 1), DType::Int64); }
int64_t* begin_of(const Tensor& tensor) { return reinterpret_cast<int64_t*>(tensor->host()); }

// The indices of keys, one row per dim. Keys of one line, which differ in the last index alone, need no division
// where they follow one another.
class Unraveller {
 public:
  Unraveller(Indices sizes, int64_t* out, int64_t count)
      : sizes_(sizes), outer_(sizes.empty() ? 0 : sizes.size() - 1, 0), out_(out), count_(count),
        line_(sizes.empty() ? 1 : static_cast<uint64_t>(std::max<int64_t>(sizes.back(), 1))) {}

  void put(int64_t place, uint64_t key) {
    if (sizes_.empty()) return;
    if (key - begin_ >= line_) move_to(key / line_);
    for (size_t d = 0; d < outer_.size(); ++d) out_[static_cast<int64_t>(d) * count_ + place] = outer_[d];
    out_[static_cast<int64_t>(outer_.size()) * count_ + place] = static_cast<int64_t>(key - begin_);
  }

 private:
  void move_to(uint64_t line) {
    begin_ = line * line_;
    for (size_t d = outer_.size(); d-- > 1;) {
      const uint64_t size = static_cast<uint64_t>(std::max<int64_t>(sizes_[d], 1));
      outer_[d] = static_cast<int64_t>(line % size);
      line /= size;
    }
    if (!outer_.empty()) outer_[0] = static_cast<int64_t>(line);
    else begin_ = 0;  // of a single dim, the key itself is the index
  }

  Indices sizes_;
  std::vector<int64_t> outer_;
  int64_t* out_;
  int64_t count_;
  uint64_t line_, begin_ = 0;
};

// The number of bits of all keys of a grid.
int key_width(Indices sizes) {
  uint64_t positions = 1;
  for (int64_t size : sizes)
    if (__builtin_mul_overflow(positions, static_cast<uint64_t>(size), &positions) || positions >> 63)
      raise(ErrorKind::NotImplemented, "sparse tensors of 2**63 or more positions cannot be sorted");
  return positions == 0 ? 0 : std::bit_width(positions - 1);
}

// Makes the items of all elements, or raises for an index outside its dim.
template <class Key>
void make_items(const int64_t* indices, int64_t count, Indices sizes, KeyAndPlace<Key>* items) {
  constexpr int64_t kTile = 512;
  std::vector<uint8_t> is_outside((count + radix::kChunk - 1) / radix::kChunk, 0);
  radix::in_chunks(count, [&](int64_t chunk, int64_t begin, int64_t end) {
    std::array<uint64_t, kTile> keys;
    uint64_t outside = 0;
    for (int64_t first = begin; first < end; first += kTile) {
      const int64_t in_tile = std::min(kTile, end - first);
      std::fill_n(keys.begin(), in_tile, 0);
      for (size_t d = 0; d < sizes.size(); ++d) {
        const int64_t* const given = indices + static_cast<int64_t>(d) * count + first;
        const int64_t size = sizes[d];
        for (int64_t i = 0; i < in_tile; ++i) {
          outside |= static_cast<uint64_t>(given[i] | (size - 1 - given[i])) >> 63;  // the sign of either
          keys[i] = keys[i] * static_cast<uint64_t>(size) + static_cast<uint64_t>(given[i]);
        }
      }
      for (int64_t i = 0; i < in_tile; ++i)
        items[first + i] = {static_cast<Key>(keys[i]), static_cast<uint32_t>(first + i)};
    }
    is_outside[chunk] = outside != 0;
  });
  if (std::ranges::find(is_outside, 1) == is_outside.end()) return;
  for (size_t d = 0; d < sizes.size(); ++d)
    for (int64_t i = 0; i < count; ++i)
      if (const int64_t index = indices[static_cast<int64_t>(d) * count + i]; index < 0 || index >= sizes[d])
        raise(ErrorKind::Runtime, "a sparse tensor of size %lld in dim %lld has an element at index %lld",
              static_cast<long long>(sizes[d]), static_cast<long long>(d), static_cast<long long>(index));
}

// The groups of sorted items: equal neighbours share a number.
template <class Key>
Groups numbered(const KeyAndPlace<Key>* items, int64_t count, Indices sizes) {
  const int64_t chunks = (count + radix::kChunk - 1) / radix::kChunk;
  std::vector<int64_t> firsts(chunks);
  const auto is_first = [&](int64_t i) { return i == 0 || items[i - 1].key != items[i].key; };
  radix::in_chunks(count, [&](int64_t chunk, int64_t begin, int64_t end) {
    int64_t found = 0;
    for (int64_t i = begin; i < end; ++i) found += is_first(i);
    firsts[chunk] = found;
  });
  int64_t total = 0;
  for (int64_t& first : firsts) total += std::exchange(first, total);
  const int64_t shape[] = {static_cast<int64_t>(sizes.size()), total};
  Groups made{empty(shape, DType::Int64), integers(count), integers(count)};
  int64_t *order = begin_of(made.order), *numbers = begin_of(made.numbers);
  radix::in_chunks(count, [&](int64_t chunk, int64_t begin, int64_t end) {
    Unraveller indices(sizes, begin_of(made.indices), total);
    int64_t number = firsts[chunk] - 1, i = begin;
    for (; i < end && !is_first(i); ++i) order[i] = items[i].place, numbers[i] = number;  // of the chunk before
    for (; i < end; ++i) {  // which items are first is unpredictable: every one writes its group's indices
      number += is_first(i);
      indices.put(number, items[i].key);
      order[i] = items[i].place;
      numbers[i] = number;
    }
  });
  return made;
}

template <class Key>
Groups sorted(const int64_t* indices, int64_t count, Indices sizes, int width) {
  const Workspace<KeyAndPlace<Key>> items(count), spare(count);
  KeyAndPlace<Key>* found = items;
  make_items<Key>(indices, count, sizes, found);
  if (!std::ranges::is_sorted(found, found + count, {}, &KeyAndPlace<Key>::key))
    found = radix_sort<Key>(items, spare, count, width);
  return numbered(found, count, sizes);
}

// Merges sorted ranges of two lists, one pair after another.
struct Merger {
  Merger(int64_t in_first, int64_t in_second)
      : in_first(in_first), in_second(in_second), keys(in_first + in_second), from_first(in_first + in_second),
        from_second(in_first + in_second) {}

  void add(const int64_t* first, int64_t i, int64_t first_end, const int64_t* second, int64_t j, int64_t second_end) {
    int64_t *key = keys, *one = from_first, *other = from_second, to = count;
    while (i < first_end && j < second_end) {  // which list is ahead is unpredictable, so no branch depends on it
      const int64_t a = first[i], b = second[j];
      const int64_t takes_first = a <= b, takes_second = b <= a;
      key[to] = takes_first ? a : b;
      one[to] = i + (in_first - i) * (1 - takes_first);
      other[to] = j + (in_second - j) * (1 - takes_second);
      i += takes_first, j += takes_second, ++to;
    }
    for (; i < first_end; ++i, ++to) key[to] = first[i], one[to] = i, other[to] = in_second;
    for (; j < second_end; ++j, ++to) key[to] = second[j], one[to] = in_first, other[to] = j;
    count = to;
  }

  Tensor taken(const int64_t* from) const {
    Tensor made = integers(count);
    std::copy_n(from, count, begin_of(made));
    return made;
  }

  int64_t in_first, in_second, count = 0;
  Workspace<int64_t> keys, from_first, from_second;
};

// The distinct columns of each row, row by row, and the index of each given column among them.
class RowColumns {
 public:
  RowColumns(int64_t num_columns, int64_t most)
      : is_narrow_(num_columns <= std::numeric_limits<int32_t>::max()), place_(num_columns, -1), columns_(most) {}

  int64_t count() const { return count_; }

  // Appends the distinct values of `given` in order, and replaces each by its index among all.
  void append(std::span<int64_t> given) {
    const int64_t begin = count_;
    for (int64_t column : given) {
      if (place_[column] >= begin) continue;
      place_[column] = begin;
      columns_[count_++] = column;
    }
    const std::span<int64_t> found(columns_ + begin, static_cast<size_t>(count_ - begin));
    if (is_narrow_ && found.size() <= kCompared) sort_by_counting(found);
    else std::sort(found.begin(), found.end());
    for (int64_t i = begin; i < count_; ++i) place_[columns_[i]] = i;
    for (int64_t& column : given) column = place_[column];
  }

  Tensor taken() const {
    Tensor made = integers(count_);
    std::copy_n(static_cast<const int64_t*>(columns_), count_, begin_of(made));
    return made;
  }

 private:
  static constexpr size_t kLanes = sizeof(__m256i) / sizeof(int32_t), kCompared = 5 * kLanes;

  // Places each of some distinct numbers below 2**31 after all smaller ones: comparisons of vectors instead of
  // unpredictable branches.
  static void sort_by_counting(std::span<int64_t> row) {
    alignas(sizeof(__m256i)) std::array<int32_t, kCompared> given;
    const size_t vectors = (row.size() + kLanes - 1) / kLanes;
    std::copy(row.begin(), row.end(), given.begin());
    std::fill(given.begin() + row.size(), given.begin() + vectors * kLanes, std::numeric_limits<int32_t>::max());
    for (size_t i = 0, count = row.size(); i < count; ++i) {
      const __m256i own = _mm256_set1_epi32(given[i]);
      int less = 0;
      for (size_t v = 0; v < vectors; ++v) {
        const __m256i others = _mm256_load_si256(reinterpret_cast<const __m256i*>(given.data() + v * kLanes));
        const int mask = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(own, others)));
        less += std::popcount(static_cast<unsigned>(mask));
      }
      row[less] = given[i];
    }
  }

  bool is_narrow_;
  std::vector<int64_t> place_;
  Workspace<int64_t> columns_;
  int64_t count_ = 0;
};

}  // namespace

void require_pointers(Indices pointers, int64_t count) {
  bool is_ordered = !pointers.empty() && pointers.front() == 0 && pointers.back() == count;
  for (size_t row = 1; row < pointers.size(); ++row) is_ordered &= pointers[row - 1] <= pointers[row];
  if (!is_ordered)
    raise(
        ErrorKind::Runtime,
        "the pointers of a compressed sparse tensor must start at 0, not decrease, and end at the number of elements, "
        "%lld; these do not.\ntorch.sparse.check_sparse_tensor_invariants() locates where such a tensor is made",
        static_cast<long long>(count));
}

Groups grouped(const int64_t* indices, int64_t count, Indices sizes) {
  if (count > std::numeric_limits<uint32_t>::max())
    raise(ErrorKind::NotImplemented, "sparse tensors of more than 2**32 elements cannot be sorted");
  const int width = key_width(sizes);
  return width <= 32 ? sorted<uint32_t>(indices, count, sizes, width) : sorted<uint64_t>(indices, count, sizes, width);
}

Union merged(Indices first, Indices second) {
  Merger merger(static_cast<int64_t>(first.size()), static_cast<int64_t>(second.size()));
  merger.add(first.data(), 0, merger.in_first, second.data(), 0, merger.in_second);
  return {merger.taken(merger.keys), merger.taken(merger.from_first), merger.taken(merger.from_second)};
}

RowUnion merged_rows(Indices first_pointers, Indices first_columns, Indices second_pointers, Indices second_columns) {
  Merger merger(static_cast<int64_t>(first_columns.size()), static_cast<int64_t>(second_columns.size()));
  require_pointers(first_pointers, merger.in_first);
  require_pointers(second_pointers, merger.in_second);
  if (first_pointers.size() != second_pointers.size())
    raise(ErrorKind::Runtime, "the matrices have %lld and %lld rows", static_cast<long long>(first_pointers.size()) - 1,
          static_cast<long long>(second_pointers.size()) - 1);
  const int64_t rows = static_cast<int64_t>(first_pointers.size()) - 1;
  Tensor pointers = integers(rows + 1);
  int64_t* begins = begin_of(pointers);
  for (int64_t row = 0; row < rows; ++row) {
    begins[row] = merger.count;
    merger.add(first_columns.data(), first_pointers[row], first_pointers[row + 1], second_columns.data(),
               second_pointers[row], second_pointers[row + 1]);
  }
  begins[rows] = merger.count;
  return {std::move(pointers), merger.taken(merger.keys), merger.taken(merger.from_first),
          merger.taken(merger.from_second)};
}

Tensor row_numbers(Indices pointers, int64_t count) {
  require_pointers(pointers, count);
  Tensor made = integers(count);
  int64_t* rows = begin_of(made);
  for (size_t row = 0; row + 1 < pointers.size(); ++row)
    std::fill(rows + pointers[row], rows + pointers[row + 1], static_cast<int64_t>(row));
  return made;
}

Tensor row_pointers(Indices numbers, int64_t rows) {
  constexpr int64_t kNone = -1;
  Tensor made = integers(rows + 1);
  int64_t* pointers = begin_of(made);
  std::fill_n(pointers, rows, kNone);
  const int64_t count = static_cast<int64_t>(numbers.size());
  for (int64_t i = count - 1; i >= 0; --i)
    if (static_cast<uint64_t>(numbers[i]) < static_cast<uint64_t>(rows)) pointers[numbers[i]] = i;
  int64_t next = pointers[rows] = count;
  for (int64_t row = rows - 1; row >= 0; --row) next = pointers[row] = pointers[row] == kNone ? next : pointers[row];
  return made;
}

int64_t longest_row(Indices pointers) {
  int64_t longest = 0;
  for (size_t row = 1; row < pointers.size(); ++row) longest = std::max(longest, pointers[row] - pointers[row - 1]);
  return longest;
}

Tensor unravelled(Indices keys, Indices sizes) {
  const int64_t count = static_cast<int64_t>(keys.size()), dims = static_cast<int64_t>(sizes.size());
  const int64_t shape[] = {dims, count};
  Tensor made = empty(shape, DType::Int64);
  radix::in_chunks(count, [&](int64_t, int64_t begin, int64_t end) {
    Unraveller indices(sizes, begin_of(made), count);
    for (int64_t i = begin; i < end; ++i) indices.put(i, static_cast<uint64_t>(keys[i]));
  });
  return made;
}

Product multiplied(Indices first_pointers, Indices first_columns, Indices second_pointers, Indices second_columns,
                   int64_t num_columns) {
  require_pointers(first_pointers, static_cast<int64_t>(first_columns.size()));
  require_pointers(second_pointers, static_cast<int64_t>(second_columns.size()));
  const int64_t rows = static_cast<int64_t>(first_pointers.size()) - 1;
  const int64_t common = static_cast<int64_t>(second_pointers.size()) - 1;
  int64_t terms = 0;
  for (int64_t k : first_columns) {
    if (k < 0 || k >= common)
      raise(ErrorKind::Runtime, "a sparse matrix of %lld columns has an element in column %lld",
            static_cast<long long>(common), static_cast<long long>(k));
    terms += second_pointers[k + 1] - second_pointers[k];
  }
  for (int64_t column : second_columns)
    if (column < 0 || column >= num_columns)
      raise(ErrorKind::Runtime, "a sparse matrix of %lld columns has an element in column %lld",
            static_cast<long long>(num_columns), static_cast<long long>(column));
  Product made{integers(rows + 1), Tensor(), integers(terms), integers(terms), integers(terms)};
  int64_t *first = begin_of(made.first), *second = begin_of(made.second), *elements = begin_of(made.elements);
  RowColumns row_columns(num_columns, terms);
  int64_t term = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t first_term = term;
    begin_of(made.pointers)[row] = row_columns.count();
    for (int64_t p = first_pointers[row]; p < first_pointers[row + 1]; ++p) {
      const int64_t k = first_columns[p], end = second_pointers[k + 1];
      for (int64_t q = second_pointers[k]; q < end; ++q, ++term)
        first[term] = p, second[term] = q, elements[term] = second_columns[q];
    }
    row_columns.append({elements + first_term, static_cast<size_t>(term - first_term)});
  }
  begin_of(made.pointers)[rows] = row_columns.count();
  made.columns = row_columns.taken();
  return made;
}

}  // namespace pellucid::patterns
