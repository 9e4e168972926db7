#include "core/kind.h"

#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/geometry.h"

namespace pellucid {
namespace {

void destroy_kind(Storage* storage) { delete static_cast<Kind*>(storage->context); }

}  // namespace

Tensor make_tensor_of_kind(Kind kind, Key key, std::span<const int64_t> sizes, DType dtype) {
  const Device device = kind.components.back()->device;
  Tensor tensor = empty({}, dtype, device);
  int64_t strides[kMaxDims];
  if (sizes.size() > kMaxDims) raise(ErrorKind::Runtime, "a tensor has at most %d dimensions", kMaxDims);
  row_major_strides(sizes, strides);
  set_geometry(*tensor, sizes, {strides, sizes.size()});
  Storage* memory =
      std::exchange(tensor->storage, wrap_storage(nullptr, 0, destroy_kind, new Kind(std::move(kind))).leak());
  if (memory->release()) destroy(memory);
  tensor->storage->device = device;
  tensor->flags |= TensorImpl::kNoMemory;
  tensor->keys = tensor->keys | key;
  return tensor;
}

void raise_without_memory(const TensorImpl& tensor) {
  if (tensor.keys.has(Key::Quantized))
    raise(ErrorKind::Runtime,
          "a quantized tensor of shape %s has no elements to read without its scale.\n"
          "Convert it first: tensor.dequantize(), or tensor.int_repr()",
          format_sizes(tensor.shape()).c_str());
  if (tensor.keys.has(Key::Nested))
    raise(ErrorKind::Runtime,
          "a nested tensor has no memory of its own to read: its elements are in its values.\n"
          "Take its examples, tensor.unbind(), its values, or torch.nested.to_padded_tensor(tensor, padding)");
  raise(ErrorKind::Runtime,
        "a sparse tensor of shape %s has no memory of its own to read: its elements are in its indices and values.\n"
        "Convert it first: tensor.to_dense()",
        format_sizes(tensor.shape()).c_str());
}

}  // namespace pellucid
