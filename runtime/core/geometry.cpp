#include "core/geometry.h"

#include <algorithm>
#include <string>

#include "core/error.h"
#include "core/format.h"

namespace pellucid {

int64_t checked_numel(Sizes sizes, size_t item) {
  int64_t numel = 1, bytes = 0;
  bool overflow = false, empty = false;
  for (const int64_t size : sizes) {
    if (size < 0) [[unlikely]]
      raise(ErrorKind::Runtime, "Trying to create tensor with negative dimension %lld: %s",
            static_cast<long long>(size), format_sizes(sizes).c_str());
    empty |= size == 0;
    overflow |= __builtin_mul_overflow(numel, size, &numel);
  }
  if (empty) return 0;
  overflow |= __builtin_mul_overflow(numel, static_cast<int64_t>(item), &bytes);
  if (overflow) [[unlikely]]
    raise(ErrorKind::Runtime, "a tensor of sizes %s has more bytes than a 64-bit address can reach",
          format_sizes(sizes).c_str());
  return numel;
}

void row_major_strides(Sizes sizes, int64_t* out) {
  uint64_t stride = 1;  // wraps if another size is 0; then no element is addressed
  for (size_t i = sizes.size(); i-- > 0;) {
    out[i] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(std::max<int64_t>(sizes[i], 1));
  }
}

bool is_row_major(Sizes sizes, Sizes strides) {
  int64_t expected = 1;
  bool dense = true;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) return true;
    if (sizes[i] == 1) continue;
    dense &= strides[i] == expected;
    expected *= sizes[i];
  }
  return dense;
}

void channels_last_strides(Sizes sizes, int64_t* out) {
  int64_t stride = 1;
  const auto place = [&](size_t dim) {
    out[dim] = stride;
    stride *= std::max<int64_t>(sizes[dim], 1);
  };
  place(1);
  for (size_t dim = sizes.size(); dim-- > 2;) place(dim);
  place(0);
}

bool is_channels_last(Sizes sizes, Sizes strides) {
  if (sizes.size() != 4 && sizes.size() != 5) return false;
  int64_t expected = 1;
  const auto fits = [&](size_t dim) {
    if (sizes[dim] == 1) return true;
    const bool same = strides[dim] == expected;
    expected *= sizes[dim];
    return same;
  };
  if (!fits(1)) return false;
  for (size_t dim = sizes.size(); dim-- > 2;)
    if (!fits(dim)) return false;
  return fits(0);
}

bool is_non_overlapping_and_dense(Sizes sizes, Sizes strides) {
  int order[kMaxDims];
  int count = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return true;
    if (sizes[i] != 1) order[count++] = static_cast<int>(i);
  }
  std::sort(order, order + count, [&](int a, int b) { return strides[a] < strides[b]; });
  int64_t expected = 1;
  for (int i = 0; i < count; ++i) {
    if (strides[order[i]] != expected) return false;
    expected *= sizes[order[i]];
  }
  return true;
}

namespace {

// PyTorch's order: by stride, equal strides by size; a broadcast dimension (stride 0) never moves past another
// one. 1: `a` belongs outside `b`.
int compare_dims(Sizes sizes, Sizes strides, int a, int b) {
  if (strides[a] == 0 || strides[b] == 0) return 0;
  if (strides[a] != strides[b]) return strides[a] < strides[b] ? -1 : 1;
  return sizes[a] > sizes[b] ? 1 : 0;
}

}  // namespace

void dense_strides_like(Sizes sizes, Sizes strides, int64_t* out) {
  const int ndim = static_cast<int>(sizes.size());
  int order[kMaxDims];  // innermost first
  for (int i = 0; i < ndim; ++i) order[i] = ndim - 1 - i;
  for (int i = 1; i < ndim; ++i) {
    int moving = i;
    for (int j = i - 1; j >= 0; --j) {
      const int comparison = compare_dims(sizes, strides, order[j], order[moving]);
      if (comparison > 0) {
        std::swap(order[j], order[moving]);
        moving = j;
      } else if (comparison < 0) {
        break;
      }
    }
  }
  int64_t stride = 1;
  for (int i = 0; i < ndim; ++i) {
    out[order[i]] = stride;
    stride *= std::max<int64_t>(sizes[order[i]], 1);
  }
}

int64_t wrap_dim(int64_t dim, int64_t ndim) {
  const int64_t range = std::max<int64_t>(ndim, 1);
  if (dim < -range || dim >= range) [[unlikely]]
    raise(ErrorKind::Index, "Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)",
          static_cast<long long>(-range), static_cast<long long>(range - 1), static_cast<long long>(dim));
  return dim < 0 ? dim + range : dim;
}

void infer_size(Sizes given, int64_t numel, int64_t* out) {
  int64_t known = 1;
  int inferred = -1;
  for (size_t i = 0; i < given.size(); ++i) {
    out[i] = given[i];
    if (given[i] == -1) {
      if (inferred >= 0)
        raise(ErrorKind::Runtime, "only one dimension can be inferred: several sizes of %s are -1",
              format_sizes(given).c_str());
      inferred = static_cast<int>(i);
    } else if (given[i] < 0) {
      raise(ErrorKind::Runtime, "the size %lld in %s is negative; only -1 (infer it) may be",
            static_cast<long long>(given[i]), format_sizes(given).c_str());
    } else if (__builtin_mul_overflow(known, given[i], &known)) {
      raise(ErrorKind::Runtime, "shape %s has more elements than 64 bits can count", format_sizes(given).c_str());
    }
  }
  if (inferred < 0 && known == numel) return;
  if (inferred >= 0 && known == 0 && numel == 0)
    raise(ErrorKind::Runtime, "the -1 in shape %s is ambiguous for a tensor of 0 elements; give all sizes",
          format_sizes(given).c_str());
  if (inferred >= 0 && known > 0 && numel % known == 0) {
    out[inferred] = numel / known;
    return;
  }
  raise(ErrorKind::Runtime, "shape '%s' is invalid for input of size %lld", format_sizes(given).c_str(),
        static_cast<long long>(numel));
}

int broadcast_sizes(Sizes a, Sizes b, int64_t* out) {
  const int ndim = static_cast<int>(std::max(a.size(), b.size()));
  for (int i = ndim - 1; i >= 0; --i) {
    const int from_a = static_cast<int>(a.size()) - ndim + i, from_b = static_cast<int>(b.size()) - ndim + i;
    const int64_t size_a = from_a < 0 ? 1 : a[from_a], size_b = from_b < 0 ? 1 : b[from_b];
    if (size_a != size_b && size_a != 1 && size_b != 1) [[unlikely]]
      raise(ErrorKind::Runtime,
            "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton dimension %d: "
            "shapes %s and %s do not broadcast",
            static_cast<long long>(size_a), static_cast<long long>(size_b), i, format_sizes(a).c_str(),
            format_sizes(b).c_str());
    out[i] = size_a == 1 ? size_b : size_a;
  }
  return ndim;
}

bool can_expand(Sizes from, Sizes to) {
  if (from.size() > to.size()) return false;
  const size_t added = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != to[added + i] && from[i] != 1) return false;
  return true;
}

void expand_strides(Sizes sizes, Sizes strides, Sizes to, int64_t* out_sizes, int64_t* out_strides) {
  if (to.size() < sizes.size())
    raise(ErrorKind::Runtime, "expand to %s needs at least as many sizes as the tensor has dimensions: its shape is %s",
          format_sizes(to).c_str(), format_sizes(sizes).c_str());
  const int added = static_cast<int>(to.size() - sizes.size());
  for (int i = 0; i < static_cast<int>(to.size()); ++i) {
    const int64_t own = i < added ? 1 : sizes[i - added];
    const int64_t wanted = to[i] == -1 && i >= added ? own : to[i];
    if (wanted < 0)
      raise(ErrorKind::Runtime, "expand to %s: size %lld at dimension %d is not allowed; -1 keeps an existing size",
            format_sizes(to).c_str(), static_cast<long long>(to[i]), i);
    if (own != wanted && own != 1)
      raise(ErrorKind::Runtime,
            "The expanded size of the tensor (%lld) must match the existing size (%lld) at non-singleton dimension "
            "%d: expand %s to %s",
            static_cast<long long>(wanted), static_cast<long long>(own), i, format_sizes(sizes).c_str(),
            format_sizes(to).c_str());
    out_sizes[i] = wanted;
    out_strides[i] = own == wanted && i >= added ? strides[i - added] : 0;
  }
}

int64_t extent_of(Sizes sizes, Sizes strides) {
  int64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    int64_t reach = 0;
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) || __builtin_add_overflow(last, reach, &last))
      raise(ErrorKind::Runtime, "sizes %s with strides %s reach further than 64 bits can address",
            format_sizes(sizes).c_str(), format_sizes(strides).c_str());
  }
  return last + 1;
}

void check_in_storage(Sizes sizes, Sizes strides, int64_t offset, size_t item, size_t storage_bytes) {
  for (const int64_t stride : strides)
    if (stride < 0)
      raise(ErrorKind::Runtime, "strides must not be negative: %s was given", format_sizes(strides).c_str());
  if (offset < 0)
    raise(ErrorKind::Runtime, "the storage offset must not be negative: %lld was given",
          static_cast<long long>(offset));
  const int64_t extent = extent_of(sizes, strides);
  if (extent == 0) return;
  int64_t end = 0, bytes = 0;
  if (__builtin_add_overflow(offset, extent, &end) || __builtin_mul_overflow(end, static_cast<int64_t>(item), &bytes) ||
      static_cast<uint64_t>(bytes) > storage_bytes)
    raise(ErrorKind::Runtime, "sizes %s, strides %s and offset %lld are out of bounds for a storage of %zu bytes",
          format_sizes(sizes).c_str(), format_sizes(strides).c_str(), static_cast<long long>(offset), storage_bytes);
}

bool view_strides(Sizes sizes, Sizes strides, Sizes new_sizes, int64_t* new_strides) {
  const int64_t numel = checked_numel(sizes, 1);
  if (numel == 0) {
    checked_numel(new_sizes, 1);  // sizes whose product is 0 may have overflowed
    if (std::ranges::equal(sizes, new_sizes)) std::copy(strides.begin(), strides.end(), new_strides);
    else row_major_strides(new_sizes, new_strides);
    return true;
  }
  // Walks runs of mutually contiguous dimensions; the new sizes must split each run exactly.
  int next = static_cast<int>(new_sizes.size()) - 1;
  int64_t run_stride = sizes.empty() ? 1 : strides.back();
  int64_t run_elements = 1, new_elements = 1;
  for (int dim = static_cast<int>(sizes.size()) - 1; dim >= 0; --dim) {
    run_elements *= sizes[dim];
    const bool run_ends = dim == 0 || (sizes[dim - 1] != 1 && strides[dim - 1] != run_elements * run_stride);
    if (!run_ends) continue;
    while (next >= 0 && (new_elements < run_elements || new_sizes[next] == 1)) {
      new_strides[next] = new_elements * run_stride;
      new_elements *= new_sizes[next--];
    }
    if (new_elements != run_elements) return false;
    if (dim > 0) {
      run_stride = strides[dim - 1];
      run_elements = new_elements = 1;
    }
  }
  if (sizes.empty())
    for (; next >= 0; --next) new_strides[next] = 1;
  return next == -1;
}

Overlap internal_overlap(const TensorImpl& tensor) {
  const Sizes sizes = tensor.shape(), strides = tensor.stride();
  if (tensor.is_contiguous() || tensor.numel <= 1) return Overlap::No;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (strides[i] == 0 && sizes[i] > 1) return Overlap::Yes;
  return is_non_overlapping_and_dense(sizes, strides) ? Overlap::No : Overlap::TooHard;
}

MemoryOverlap memory_overlap(const TensorImpl& a, const TensorImpl& b) {
  if (&a == &b) return MemoryOverlap::Full;
  if (a.numel == 0 || b.numel == 0 || a.storage != b.storage || !a.storage) return MemoryOverlap::None;
  if (a.offset == b.offset && a.dtype == b.dtype && std::ranges::equal(a.shape(), b.shape()) &&
      std::ranges::equal(a.stride(), b.stride()))
    return MemoryOverlap::Full;
  const auto dense = [](const TensorImpl& t) {
    return t.is_contiguous() || is_non_overlapping_and_dense(t.shape(), t.stride());
  };
  if (!dense(a) || !dense(b)) return MemoryOverlap::TooHard;
  const int64_t item_a = static_cast<int64_t>(item_size(a.dtype)), item_b = static_cast<int64_t>(item_size(b.dtype));
  const int64_t begin_a = a.offset * item_a, begin_b = b.offset * item_b;
  const int64_t end_a = begin_a + a.numel * item_a, end_b = begin_b + b.numel * item_b;
  if (begin_a == begin_b && end_a == end_b)
    return std::ranges::equal(a.stride(), b.stride()) ? MemoryOverlap::Full : MemoryOverlap::Partial;
  return begin_a < end_b && begin_b < end_a ? MemoryOverlap::Partial : MemoryOverlap::None;
}

namespace {

// Decides whether multiples of the strides, each within its range, can sum to a given distance. For two tensors:
// the index into one minus the index into the other, along every stride.
class DistanceSearch {
 public:
  void add(Sizes sizes, Sizes strides, int sign) {
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (strides[d] == 0 || sizes[d] == 1) continue;
      Term& term = term_of(strides[d]);
      (sign > 0 ? term.high : term.low) += sign * (sizes[d] - 1);
    }
  }

  bool reaches(int64_t distance) {
    std::sort(terms_, terms_ + count_, [](const Term& a, const Term& b) { return a.stride > b.stride; });
    int64_t low = 0, high = 0;
    for (int k = count_ - 1; k >= 0; --k) {
      terms_[k].low_after = low;
      terms_[k].high_after = high;
      low += terms_[k].low * terms_[k].stride;
      high += terms_[k].high * terms_[k].stride;
    }
    return low <= distance && distance <= high && search(0, distance);
  }

 private:
  struct Term {
    int64_t stride, low = 0, high = 0;  // the range of the multiple
    int64_t low_after, high_after;      // the range of sums of the smaller strides
  };

  Term& term_of(int64_t stride) {
    for (int k = 0; k < count_; ++k)
      if (terms_[k].stride == stride) return terms_[k];
    terms_[count_].stride = stride;
    return terms_[count_++];
  }

  bool search(int k, int64_t distance) {
    if (distance == 0 && k == count_) return true;
    if (k == count_) return false;
    if (--patience_ < 0) return true;
    const Term& term = terms_[k];
    const auto floor_divide = [](int64_t a, int64_t b) { return a / b - (a % b < 0); };
    const int64_t first = std::max(term.low, -floor_divide(term.high_after - distance, term.stride));
    const int64_t last = std::min(term.high, floor_divide(distance - term.low_after, term.stride));
    for (int64_t multiple = first; multiple <= last; ++multiple)
      if (search(k + 1, distance - multiple * term.stride)) return true;
    return false;
  }

  Term terms_[2 * kMaxDims];
  int count_ = 0;
  int patience_ = 1000;
};

}  // namespace

bool may_share_elements(const TensorImpl& a, const TensorImpl& b) {
  if (a.numel == 0 || b.numel == 0 || a.storage != b.storage || !a.storage) return false;
  const int64_t item_a = static_cast<int64_t>(item_size(a.dtype)), item_b = static_cast<int64_t>(item_size(b.dtype));
  if (item_a != item_b) {
    const int64_t end_a = (a.offset + extent_of(a.shape(), a.stride())) * item_a;
    const int64_t end_b = (b.offset + extent_of(b.shape(), b.stride())) * item_b;
    return a.offset * item_a < end_b && b.offset * item_b < end_a;
  }
  DistanceSearch search;
  search.add(a.shape(), a.stride(), 1);
  search.add(b.shape(), b.stride(), -1);
  return search.reaches(b.offset - a.offset);
}

void require_no_internal_overlap(const TensorImpl& written) {
  if (internal_overlap(written) != Overlap::Yes) return;
  raise(ErrorKind::Runtime,
        "unsupported operation: more than one element of the written-to tensor (shape %s, strides %s) refers to a "
        "single memory location.\nClone the tensor before writing, as in x = x.clone()",
        format_sizes(written.shape()).c_str(), format_sizes(written.stride()).c_str());
}

void require_no_partial_overlap(const TensorImpl& written, const TensorImpl& read) {
  if (memory_overlap(written, read) != MemoryOverlap::Partial) return;
  raise(ErrorKind::Runtime,
        "unsupported operation: some elements of the input (shape %s) and the written-to tensor (shape %s) refer to a "
        "single memory location.\nClone one of them before the operation",
        format_sizes(read.shape()).c_str(), format_sizes(written.shape()).c_str());
}

}  // namespace pellucid
