// Arithmetic on sizes and strides: what views, layouts and overlap checks share. No memory is touched.
//
// Strides are in elements. Functions that write `out` expect room for as many entries as they name.
#pragma once

#include <cstdint>
#include <span>

#include "core/tensor.h"

namespace pellucid {

using Sizes = std::span<const int64_t>;

// Product of sizes; raises on negative sizes and when the bytes of `item` each overflow.
int64_t checked_numel(Sizes sizes, size_t item);
void row_major_strides(Sizes sizes, int64_t* out);
bool is_row_major(Sizes sizes, Sizes strides);
// Channels-last of 4-d (NHWC) and 5-d (NDHWC) tensors.
void channels_last_strides(Sizes sizes, int64_t* out);
bool is_channels_last(Sizes sizes, Sizes strides);
// Every element of a gapless block belongs to exactly one index.
bool is_non_overlapping_and_dense(Sizes sizes, Sizes strides);
// Dense strides in the dimension order of `strides` (ties and broadcast dimensions as PyTorch sorts them).
void dense_strides_like(Sizes sizes, Sizes strides, int64_t* out);

// -1 .. ndim-1 wrapped to 0 ..; a 0-d tensor accepts -1 and 0. Raises an Index error.
int64_t wrap_dim(int64_t dim, int64_t ndim);
// A bit per named dimension; raises on repeats. Empty `dims` means all when `empty_is_all`.
uint64_t dim_mask(Sizes dims, int64_t ndim, bool empty_is_all);

// Fills in the one -1 of a view's size; raises PyTorch's errors.
void infer_size(Sizes given, int64_t numel, int64_t* out);
// Broadcast of two shapes into `out` (max(ndims) entries); raises PyTorch's error.
int broadcast_sizes(Sizes a, Sizes b, int64_t* out);
bool can_expand(Sizes from, Sizes to);
// Strides of `sizes`/`strides` seen with shape `to` (-1 keeps a size); resolved sizes go to `out_sizes`.
void expand_strides(Sizes sizes, Sizes strides, Sizes to, int64_t* out_sizes, int64_t* out_strides);

// Elements spanned from the first to the last addressed one, or 0 for an empty tensor.
int64_t extent_of(Sizes sizes, Sizes strides);
// Raises when the geometry reaches outside `storage_elements` or is negative.
void check_in_storage(Sizes sizes, Sizes strides, int64_t offset, size_t item, size_t storage_bytes);

enum class Overlap : uint8_t { No, Yes, TooHard };
// Do two indices of one tensor name the same element?
Overlap internal_overlap(const TensorImpl& tensor);
enum class MemoryOverlap : uint8_t { None, Full, Partial, TooHard };
// How the memory of two tensors relates; Full: the same elements in the same order.
MemoryOverlap memory_overlap(const TensorImpl& a, const TensorImpl& b);
// Whether elements of the two may alias. Exact for the strides of views;
// true for strides that would take long to solve and for views of two item sizes whose ranges meet.
bool may_share_elements(const TensorImpl& a, const TensorImpl& b);
// For operands of an elementwise write: raises PyTorch's errors.
void require_no_internal_overlap(const TensorImpl& written);
void require_no_partial_overlap(const TensorImpl& written, const TensorImpl& read);

}  // namespace pellucid
