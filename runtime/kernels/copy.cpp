#include "kernels/copy.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/format.h"
#include "core/geometry.h"
#include "core/thread_pool.h"
#include "kernels/conversion.h"
#include "kernels/host_shadow.h"
#include "kernels/layout.h"
#include "kernels/nest.h"

namespace pellucid {
namespace {

constexpr int64_t kCopyBlock = int64_t{1} << 18;  // bytes per block of a plain copy
constexpr int64_t kFillBlock = int64_t{1} << 16;  // elements per block of a plain fill

void run_conversion(TensorImpl& to, const char* from, DType from_dtype, const int64_t* from_strides) {
  int64_t to_strides[kMaxDims];
  for (int axis = 0; axis < to.ndim; ++axis)
    to_strides[axis] = to.strides[axis] * static_cast<int64_t>(item_size(to.dtype));
  const MapOperand operands[] = {{to.host(), to.dtype, to.dtype, to_strides},
                                 {const_cast<char*>(from), from_dtype, from_dtype, from_strides}};
  run_map({conversion_kernel(to.dtype, from_dtype), to.shape(), operands, 1, nullptr});
}

void copy_bytes(char* to, const char* from, int64_t nbytes) {
  parallel_blocks((nbytes + kCopyBlock - 1) / kCopyBlock, [=](int64_t block) {
    const int64_t first = block * kCopyBlock;
    std::memmove(to + first, from + first, static_cast<size_t>(std::min(kCopyBlock, nbytes - first)));
  });
}

template <class Word>
void fill_words(char* to, const char* element, int64_t first, int64_t count) {
  Word word;
  std::memcpy(&word, element, sizeof word);
  std::fill_n(reinterpret_cast<Word*>(to) + first, count, word);
}

bool same_geometry(const TensorImpl& a, const TensorImpl& b) {
  if (a.is_contiguous() && b.is_contiguous()) return true;
  return std::ranges::equal(a.stride(), b.stride()) && is_non_overlapping_and_dense(a.shape(), a.stride());
}

}  // namespace

void copy_elements(TensorImpl& to, TensorImpl& from) {
  if (!can_expand(from.shape(), to.shape()))
    raise(ErrorKind::Runtime, "a tensor of shape %s cannot be broadcast to the destination's shape %s",
          format_sizes(from.shape()).c_str(), format_sizes(to.shape()).c_str());
  if (to.numel == 0 || to.device.type == DeviceType::Meta) return;
  if (to.is_off_host() || from.is_off_host()) [[unlikely]]
    return copy_across_devices(to, from);
  const int64_t nbytes = to.numel * static_cast<int64_t>(item_size(to.dtype));
  if (to.dtype == from.dtype && std::ranges::equal(to.shape(), from.shape()) && same_geometry(to, from))
    return copy_bytes(to.host(), from.host(), nbytes);
  int64_t strides[kMaxDims];
  broadcast_strides(from, to.shape(), strides);
  for (int axis = 0; axis < to.ndim; ++axis) strides[axis] *= static_cast<int64_t>(item_size(from.dtype));
  run_conversion(to, from.host(), from.dtype, strides);
}

Element element_of(DType dtype_of_element, const Value& number) {
  Element element;
  char given[16];
  DType dtype = DType::Int64;
  if (number.tag == Tag::Float) dtype = DType::Float64;
  if (number.tag == Tag::Complex) {
    dtype = DType::Complex128;
    std::memcpy(given, number.complex, sizeof(Complex));
  } else {
    std::memcpy(given, &number.integer, sizeof number.integer);
  }
  convert(dtype_of_element, element.bytes, dtype, given, Run{{1, 1}, {0, 0}, {0, 0}});
  return element;
}

namespace {

void fill_on_device(TensorImpl& tensor, const Element& element) {
  const Tensor number = empty({}, tensor.dtype);
  std::memcpy(number->host(), element.bytes, item_size(tensor.dtype));
  copy_elements(tensor, *number);
}

}  // namespace

void fill_run(char* to, const char* element, size_t item, int64_t count) {
  struct Wide {
    uint64_t low, high;
  };
  const auto fill = item == 1   ? fill_words<uint8_t>
                    : item == 2 ? fill_words<uint16_t>
                    : item == 4 ? fill_words<uint32_t>
                    : item == 8 ? fill_words<uint64_t>
                                : fill_words<Wide>;
  parallel_blocks((count + kFillBlock - 1) / kFillBlock, [=](int64_t block) {
    const int64_t first = block * kFillBlock;
    fill(to, element, first, std::min(kFillBlock, count - first));
  });
}

void fill_elements(TensorImpl& tensor, const Element& element) {
  if (tensor.numel == 0 || tensor.device.type == DeviceType::Meta) return;
  if (tensor.is_off_host()) [[unlikely]]
    return fill_on_device(tensor, element);
  if (tensor.is_contiguous()) return fill_run(tensor.host(), element.bytes, item_size(tensor.dtype), tensor.numel);
  const int64_t strides[kMaxDims] = {};
  run_conversion(tensor, element.bytes, tensor.dtype, strides);
}

void fill_elements(TensorImpl& tensor, const Value& number) {
  if (tensor.numel == 0 || tensor.device.type == DeviceType::Meta) return;
  fill_elements(tensor, element_of(tensor.dtype, number));
}

Tensor clone_elements(TensorImpl& tensor) { return convert_elements(tensor, tensor.dtype); }

Tensor clone_row_major(TensorImpl& tensor) {
  Tensor copy = empty(tensor.shape(), tensor.dtype, tensor.device);
  copy_elements(*copy, tensor);
  return copy;
}

Tensor row_major(TensorImpl& tensor) {
  return tensor.is_contiguous() ? Tensor::share(&tensor) : clone_row_major(tensor);
}

Tensor convert_elements(TensorImpl& tensor, DType dtype) {
  Tensor copy = empty_like_layout(tensor, dtype);
  copy_elements(*copy, tensor);
  return copy;
}

}  // namespace pellucid
