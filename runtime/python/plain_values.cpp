// Plain values as bytes, and back: None, bools, ints of 64 bits, floats, texts, bytes, tuples, lists, dicts and tensors
// of CPU memory, of exactly these types.
//
// A list, dict or storage that a value has twice must be one object for the reader too. Such values are not plain, nor
// are those of any other type: they are left to pickle.
#include "python/plain_values.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "abi/limits.h"
#include "core/geometry.h"
#include "core/tensor.h"
#include "python/tensor_object.h"

namespace pellucid::python {
namespace {

enum class Tag : uint8_t { None, False, True, Int, Float, Text, Bytes, Tuple, List, Dict, Tensor };

constexpr int kMaxDepth = 16;
constexpr KeySet kPlainKeys = KeySet(Key::CPU) | Key::Autograd | Key::ViewInPlace;

class Writer {
 public:
  explicit Writer(size_t most_bytes) : most_bytes_(most_bytes) {}

  // False: the value is not plain.
  bool write(PyObject* value, int depth = 0) {
    PyTypeObject* type = Py_TYPE(value);
    if (depth > kMaxDepth) return false;
    if (value == Py_None) return put(Tag::None);
    if (value == Py_True) return put(Tag::True);
    if (value == Py_False) return put(Tag::False);
    if (type == tensor_type) return write_tensor(value);
    if (type == &PyLong_Type) return write_integer(value);
    if (type == &PyFloat_Type) return put(Tag::Float) && put(PyFloat_AS_DOUBLE(value));
    if (type == &PyUnicode_Type) return write_text(value);
    if (type == &PyBytes_Type)
      return put(Tag::Bytes) && put_sized(PyBytes_AS_STRING(value), static_cast<size_t>(PyBytes_GET_SIZE(value)));
    if (type == &PyTuple_Type) return write_items(Tag::Tuple, value, depth);
    if (type == &PyList_Type) return is_new(value) && write_items(Tag::List, value, depth);
    if (type == &PyDict_Type) return is_new(value) && write_dict(value, depth);
    return false;
  }

  PyObject* result() const {
    return checked(PyBytes_FromStringAndSize(bytes_.data(), static_cast<Py_ssize_t>(bytes_.size())));
  }

 private:
  template <class T>
  bool put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return true;
  }
  bool put_sized(const char* data, size_t nbytes) {
    if (nbytes > most_bytes_ - std::min(bytes_.size(), most_bytes_)) return false;
    put(static_cast<uint64_t>(nbytes));
    bytes_.append(data, nbytes);
    return true;
  }

  bool is_new(const void* object) {
    if (std::find(seen_.begin(), seen_.end(), object) != seen_.end()) return false;
    seen_.push_back(object);
    return true;
  }

  bool write_integer(PyObject* value) {
    int overflow;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return !overflow && put(Tag::Int) && put(static_cast<int64_t>(number));
  }

  bool write_text(PyObject* value) {
    Py_ssize_t nbytes;
    const char* text = PyUnicode_AsUTF8AndSize(value, &nbytes);
    if (!text) PyErr_Clear();  // lone surrogates
    return text && put(Tag::Text) && put_sized(text, static_cast<size_t>(nbytes));
  }

  bool write_items(Tag tag, PyObject* items, int depth) {
    put(tag);
    put(static_cast<uint64_t>(PySequence_Fast_GET_SIZE(items)));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); ++i)
      if (!write(PySequence_Fast_GET_ITEM(items, i), depth + 1)) return false;
    return true;
  }

  bool write_dict(PyObject* dict, int depth) {
    put(Tag::Dict);
    put(static_cast<uint64_t>(PyDict_GET_SIZE(dict)));
    PyObject *key, *item;
    for (Py_ssize_t position = 0; PyDict_Next(dict, &position, &key, &item);)
      if (!write(key, depth + 1) || !write(item, depth + 1)) return false;
    return true;
  }

  // With all of its storage: a view is one for the reader too.
  bool write_tensor(PyObject* object) {
    TensorImpl& tensor = *tensor_of(object);
    const bool is_plain = (tensor.keys - kPlainKeys).empty() && !tensor.requires_grad() && !tensor.wrapper &&
                          tensor.storage && !reinterpret_cast<TensorObject*>(object)->has_attributes;
    if (!is_plain || tensor.device.type != DeviceType::CPU || !is_new(tensor.storage)) return false;
    const char* first = tensor.host() - tensor.offset * static_cast<int64_t>(item_size(tensor.dtype));
    put(Tag::Tensor);
    put(tensor.dtype);
    put(tensor.ndim);
    put(tensor.offset);
    for (const int64_t size : tensor.shape()) put(size);
    for (const int64_t stride : tensor.stride()) put(stride);
    return put_sized(first, tensor.storage->nbytes);
  }

  size_t most_bytes_;
  std::string bytes_;
  std::vector<const void*> seen_;
};

class Reader {
 public:
  Reader(const char* data, size_t nbytes) : next_(data), end_(data + nbytes) {}

  Object read(int depth = 0) {
    if (depth > kMaxDepth) fail();
    switch (take<Tag>()) {
      case Tag::None: return Object::borrow(Py_None);
      case Tag::False: return Object::borrow(Py_False);
      case Tag::True: return Object::borrow(Py_True);
      case Tag::Int: return own(PyLong_FromLongLong(take<int64_t>()));
      case Tag::Float: return own(PyFloat_FromDouble(take<double>()));
      case Tag::Text: {
        const std::string_view text = take_sized();
        return own(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr));
      }
      case Tag::Bytes: {
        const std::string_view bytes = take_sized();
        return own(PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
      }
      case Tag::Tuple: {
        const Py_ssize_t count = take_count();
        Object tuple = own(PyTuple_New(count));
        for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(tuple.get(), i, read(depth + 1).leak());
        return tuple;
      }
      case Tag::List: {
        const Py_ssize_t count = take_count();
        Object list = own(PyList_New(count));
        for (Py_ssize_t i = 0; i < count; ++i) PyList_SET_ITEM(list.get(), i, read(depth + 1).leak());
        return list;
      }
      case Tag::Dict: {
        Object dict = own(PyDict_New());
        for (Py_ssize_t left = take_count(); left > 0; --left) {
          const Object key = read(depth + 1), item = read(depth + 1);
          checked(PyDict_SetItem(dict.get(), key.get(), item.get()));
        }
        return dict;
      }
      case Tag::Tensor: return read_tensor();
    }
    fail();
  }

  bool is_at_end() const { return next_ == end_; }
  [[noreturn]] static void fail() { raise(ErrorKind::Value, "these bytes are not those of a plain value"); }

 private:
  const char* take_bytes(uint64_t nbytes) {
    if (nbytes > static_cast<uint64_t>(end_ - next_)) fail();
    return std::exchange(next_, next_ + nbytes);
  }
  template <class T>
  T take() {
    T value;
    std::memcpy(&value, take_bytes(sizeof value), sizeof value);
    return value;
  }
  std::string_view take_sized() {
    const auto nbytes = take<uint64_t>();
    return {take_bytes(nbytes), nbytes};
  }
  // Of items, each of which has a byte at least.
  Py_ssize_t take_count() {
    const auto count = take<uint64_t>();
    if (count > static_cast<uint64_t>(end_ - next_)) fail();
    return static_cast<Py_ssize_t>(count);
  }

  Object read_tensor() {
    const auto dtype = take<DType>();
    const auto ndim = take<uint8_t>();
    const auto offset = take<int64_t>();
    if (static_cast<int>(dtype) >= kNumDTypes || ndim > kMaxDims) fail();
    int64_t geometry[2 * kMaxDims];
    for (int i = 0; i < 2 * ndim; ++i) geometry[i] = take<int64_t>();
    const std::span<const int64_t> sizes(geometry, ndim), strides(geometry + ndim, ndim);
    const std::string_view memory = take_sized();
    check_in_storage(sizes, strides, offset, item_size(dtype), memory.size());
    const Ref<Storage> storage = allocate_storage(memory.size());
    if (!memory.empty()) std::memcpy(storage->host, memory.data(), memory.size());
    return Object::steal(wrap(pellucid::tensor_of(*storage, sizes, strides, offset, dtype)));
  }

  const char* next_;
  const char* end_;
};

PyObject* pack_plain(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* value;
    Py_ssize_t most_bytes;
    if (!PyArg_ParseTuple(args, "On:_pack_plain", &value, &most_bytes)) return nullptr;
    Writer writer(static_cast<size_t>(most_bytes));
    return writer.write(value) ? writer.result() : none();
  });
}

PyObject* unpack_plain(PyObject*, PyObject* bytes) {
  return guarded([&]() -> PyObject* {
    if (!PyBytes_Check(bytes)) raise(ErrorKind::Type, "_unpack_plain(): bytes are needed");
    Reader reader(PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes)));
    Object value = reader.read();
    if (!reader.is_at_end()) Reader::fail();
    return value.leak();
  });
}

PyMethodDef functions[] = {
    {"_pack_plain", pack_plain, METH_VARARGS,
     "_pack_plain(value, most_bytes): bytes of a plain value; None of another, or one of more bytes."},
    {"_unpack_plain", unpack_plain, METH_O, "_unpack_plain(bytes): the value."},
    {},
};

}  // namespace

void add_plain_values(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace pellucid::python
