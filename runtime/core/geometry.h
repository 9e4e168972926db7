// Arithmetic on sizes and strides for views, layouts and overlap checks. Touches no memory.
//
// Strides are in elements. Functions that write `out` need room for one entry per dimension of the result.
#pragma once

#include <cstdint>
#include <span>

#include "core/tensor.h"

namespace pellucid {

using Sizes = std::span<const int64_t>;

// The product of the sizes; raises on negative sizes, or if `item` bytes per element overflow.
int64_t checked_numel(Sizes sizes, size_t item);
void row_major_strides(Sizes sizes, int64_t* out);
bool is_row_major(Sizes sizes, Sizes strides);
// Channels-last strides of 4-d (NHWC) and 5-d (NDHWC) tensors.
void channels_last_strides(Sizes sizes, int64_t* out);
bool is_channels_last(Sizes sizes, Sizes strides);
// Whether the indices map one-to-one onto a block without gaps.
bool is_non_overlapping_and_dense(Sizes sizes, Sizes strides);
// Dense strides in the dimension order of `strides` (ties and broadcast dimensions as PyTorch sorts them).
void dense_strides_like(Sizes sizes, Sizes strides, int64_t* out);

// Maps -ndim .. ndim-1 to 0 .. ndim-1; a 0-d tensor accepts -1 and 0. Raises an Index error.
int64_t wrap_dim(int64_t dim, int64_t ndim);

// Fills in the one -1 of a view's size; raises PyTorch's errors.
void infer_size(Sizes given, int64_t numel, int64_t* out);
// Broadcast of two shapes into `out` (max(ndims) entries); raises PyTorch's error.
int broadcast_sizes(Sizes a, Sizes b, int64_t* out);
bool can_expand(Sizes from, Sizes to);
// The strides after expanding `sizes`/`strides` to `to` (-1 keeps a size); resolved sizes go to `out_sizes`.
void expand_strides(Sizes sizes, Sizes strides, Sizes to, int64_t* out_sizes, int64_t* out_strides);

// The number of elements spanned from the first to the last addressed one; 0 for an empty tensor.
int64_t extent_of(Sizes sizes, Sizes strides);
// Raises if the geometry reaches outside the storage or is negative.
void check_in_storage(Sizes sizes, Sizes strides, int64_t offset, size_t item, size_t storage_bytes);

enum class Overlap : uint8_t { No, Yes, TooHard };
// Whether two indices of one tensor may address the same element.
Overlap internal_overlap(const TensorImpl& tensor);
enum class MemoryOverlap : uint8_t { None, Full, Partial, TooHard };
// How the memory of two tensors overlaps. Full: the same elements in the same order.
MemoryOverlap memory_overlap(const TensorImpl& a, const TensorImpl& b);
// Whether the two may alias. Exact for strides that views have; conservatively true for strides that take too
// long to solve, and for overlapping views with different item sizes.
bool may_share_elements(const TensorImpl& a, const TensorImpl& b);
// For operands of an elementwise write: raises PyTorch's errors.
void require_no_internal_overlap(const TensorImpl& written);
void require_no_partial_overlap(const TensorImpl& written, const TensorImpl& read);

}  // namespace pellucid
