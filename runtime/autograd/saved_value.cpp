#include "autograd/saved_value.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/tensor.h"

namespace pellucid {
namespace {

constexpr size_t padded(size_t bytes) { return (bytes + 7) & ~size_t{7}; }

size_t plain_bytes(const Value& value) {
  switch (value.tag) {
    case Tag::IntList:
    case Tag::FloatList:
    case Tag::BoolList: return 8 * size_t{value.length};
    case Tag::Complex: return sizeof(Complex);
    case Tag::String: return padded(value.length + size_t{1});
    default: return 0;
  }
}

Value copy_tensor_list(const Value& value, char*& cursor) {
  auto** tensors = reinterpret_cast<TensorImpl**>(cursor);
  cursor += payload_bytes(value);
  Value copy = value;
  copy.tensors = tensors;
  for (uint32_t i = 0; i < value.length; ++i) {
    tensors[i] = value.tensors[i];
    if (!tensors[i]) continue;
    tensors[i]->retain();
    versions_of(copy)[i] = tensors[i]->version().load(std::memory_order_relaxed);
  }
  return copy;
}

Value copy_scalar_list(const Value& value, char*& cursor) {
  auto* elements = reinterpret_cast<Value*>(cursor);
  cursor += value.length * sizeof(Value);
  for (uint32_t i = 0; i < value.length; ++i) elements[i] = copy_value(value.values[i], cursor);
  Value copy = value;
  copy.values = elements;
  return copy;
}

}  // namespace

size_t payload_bytes(const Value& value) {
  if (is_tensor_list(value)) return value.length * sizeof(TensorImpl*) + padded(value.length * sizeof(uint32_t));
  if (value.tag != Tag::ScalarList) return plain_bytes(value);
  size_t bytes = value.length * sizeof(Value);
  for (uint32_t i = 0; i < value.length; ++i) bytes += plain_bytes(value.values[i]);
  return bytes;
}

Value copy_value(const Value& value, char*& cursor) {
  if (is_tensor_list(value)) return copy_tensor_list(value, cursor);
  if (value.tag == Tag::ScalarList) return copy_scalar_list(value, cursor);
  if (value.tag == Tag::Object || value.tag == Tag::Generator)
    raise(ErrorKind::Runtime, "a derivative reads an argument (an object or generator) that cannot be saved");
  const size_t bytes = plain_bytes(value);
  if (!bytes) return value;
  Value copy = value;
  const size_t written = value.tag == Tag::String ? value.length : bytes;
  if (value.broadcast_list) {  // one number in memory, broadcast
    std::fill_n(reinterpret_cast<int64_t*>(cursor), value.length, value.integers[0]);
    copy.broadcast_list = false;
  } else {
    std::memcpy(cursor, value.object, written);
  }
  if (value.tag == Tag::String) cursor[written] = 0;
  copy.object = cursor;
  cursor += bytes;
  return copy;
}

void drop_list(const Value& value) {
  for (TensorImpl* tensor : value.list())
    if (tensor) Tensor::adopt(tensor);
}

}  // namespace pellucid
