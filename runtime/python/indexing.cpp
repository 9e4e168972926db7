// tensor[key] and tensor[key] = value.
//
// The basic items of a key (integers, slices, None, Ellipsis) are applied in one pass over sizes and strides. If
// autograd or a mode must see them, the same pass runs view ops instead. The advanced items (tensors, masks, lists)
// become the arguments of the ops index and index_put_, one entry per dimension.
#include <algorithm>
#include <array>
#include <vector>

#include "autograd/tensor_history.h"
#include "core/call_op.h"
#include "core/dispatcher.h"
#include "core/format.h"
#include "core/geometry.h"
#include "core/hooks.h"
#include "core/kind.h"
#include "core/named_ops.h"
#include "core/recording.h"
#include "kernels/host_shadow.h"
#include "python/call_lines.h"
#include "python/convert.h"
#include "python/data_in.h"
#include "python/numbers.h"
#include "python/tensor_type.h"

namespace pellucid::python {
namespace {

int64_t checked_index(int64_t index, int64_t size, int64_t dim) {
  if (index < -size || index >= size) {
    raise(ErrorKind::Index, "index %lld is out of bounds for dimension %lld with size %lld",
          static_cast<long long>(index), static_cast<long long>(dim), static_cast<long long>(size));
  }
  return index < 0 ? index + size : index;
}

// Applies the steps to sizes and strides alone.
class GeometryView {
 public:
  explicit GeometryView(TensorImpl& source, bool = false)
      : source_(source), ndim_(source.ndim), offset_(source.offset) {
    std::copy_n(source.sizes, ndim_, sizes_);
    std::copy_n(source.strides, ndim_, strides_);
  }
  int64_t size(int64_t dim) const { return sizes_[dim]; }
  int64_t ndim() const { return ndim_; }
  void select(int64_t dim, int64_t index) {
    offset_ += index * strides_[dim];
    --ndim_;
    std::copy(sizes_ + dim + 1, sizes_ + ndim_ + 1, sizes_ + dim);
    std::copy(strides_ + dim + 1, strides_ + ndim_ + 1, strides_ + dim);
  }
  void slice(int64_t dim, int64_t start, int64_t stop, int64_t step) {
    offset_ += start * strides_[dim];
    sizes_[dim] = (stop - start + step - 1) / step;
    strides_[dim] *= step;
  }
  void unsqueeze(int64_t dim) {
    if (ndim_ == kMaxDims) raise(ErrorKind::Index, "a tensor has at most %d dimensions", kMaxDims);
    const int64_t stride = dim < ndim_ ? sizes_[dim] * strides_[dim] : 1;
    std::copy_backward(sizes_ + dim, sizes_ + ndim_, sizes_ + ndim_ + 1);
    std::copy_backward(strides_ + dim, strides_ + ndim_, strides_ + ndim_ + 1);
    sizes_[dim] = 1;
    strides_[dim] = stride;
    ++ndim_;
  }
  bool skips_colons() const { return true; }
  Tensor result() const {
    const auto count = static_cast<size_t>(ndim_);
    return make_view(source_, {sizes_, count}, {strides_, count}, offset_);
  }

 private:
  TensorImpl& source_;
  int64_t ndim_, offset_;
  int64_t sizes_[kMaxDims], strides_[kMaxDims];
};

// Runs the view op of each step; a ":" beside other items needs none.
class RecordedView {
 public:
  RecordedView(TensorImpl& source, bool has_other_items)
      : current_(Tensor::share(&source)), skips_colons_(has_other_items) {}
  int64_t size(int64_t dim) const { return current_->sizes[dim]; }
  int64_t ndim() const { return current_->ndim; }
  void select(int64_t dim, int64_t index) {
    current_ = call_op(NamedOp::Select, {Value::of(current_.get()), Value::of_int(dim), Value::of_int(index)});
  }
  void slice(int64_t dim, int64_t start, int64_t stop, int64_t step) {
    current_ = call_op(NamedOp::Slice, {Value::of(current_.get()), Value::of_int(dim), Value::of_int(start),
                                        Value::of_int(stop), Value::of_int(step)});
  }
  void unsqueeze(int64_t dim) {
    current_ = call_op(NamedOp::Unsqueeze, {Value::of(current_.get()), Value::of_int(dim)});
  }
  bool skips_colons() const { return skips_colons_; }
  Tensor result() const { return current_; }

 private:
  Tensor current_;
  bool skips_colons_;
};

bool is_mask(const TensorImpl& tensor) { return tensor.dtype == DType::Bool || tensor.dtype == DType::UInt8; }

// One index per dimension of the basic view; null entries select the whole dimension.
struct AdvancedIndices {
  std::vector<Tensor> entries;
  bool any = false;

  void add(Tensor index) {
    entries.push_back(std::move(index));
    any = true;
  }
  // The mask, if it is the only index; else null.
  const TensorImpl* only_mask() const {
    const Tensor* only = nullptr;
    for (const Tensor& entry : entries)
      if (entry.get()) {
        if (only) return nullptr;
        only = &entry;
      }
    return only && is_mask(**only) ? only->get() : nullptr;
  }
  void skip(int64_t count = 1) { entries.resize(entries.size() + static_cast<size_t>(count)); }
  std::vector<TensorImpl*> pointers() const {
    std::vector<TensorImpl*> list;
    for (const Tensor& entry : entries) list.push_back(entry.get());
    return list;
  }
};

Tensor mask_of(bool value) {
  Tensor mask = empty(std::array<int64_t, 1>{1}, DType::Bool);
  *mask->host_as<bool>() = value;
  return mask;
}

// One item of a key, after conversion of lists and arrays to tensors.
struct Item {
  enum Kind : uint8_t { Integer, Slice, NewAxis, Ellipsis, Boolean, Index } kind;
  int64_t integer = 0;
  PyObject* slice = nullptr;
  Tensor tensor;

  int64_t dims_taken() const {
    if (kind == Integer || kind == Slice) return 1;
    return kind == Index ? (is_mask(*tensor) ? tensor->ndim : 1) : 0;
  }
};

// A 0-d tensor of a function transform stays a tensor: its value differs between examples.
Item tensor_item(Tensor tensor) {
  if (tensor->ndim > 0 || tensor->wrapper || category(tensor->dtype) > DTypeCategory::Integral)
    return {.kind = Item::Index, .tensor = std::move(tensor)};
  refuse_replay("an index is read from a tensor");
  Object number = own(element_object(on_host(*tensor)->host(), tensor->dtype));
  int64_t value = 0;
  if (is_mask(*tensor)) return {.kind = Item::Boolean, .integer = PyObject_IsTrue(number.get())};
  to_integer(number.get(), value);
  return {.kind = Item::Integer, .integer = value};
}

Item read_item(PyObject* object) {
  int64_t integer;
  if (is_small_integer(object, integer)) return {.kind = Item::Integer, .integer = integer};
  if (PySlice_Check(object)) return {.kind = Item::Slice, .slice = object};
  if (object == Py_None) return {.kind = Item::NewAxis};
  if (object == Py_Ellipsis) return {.kind = Item::Ellipsis};
  if (PyBool_Check(object)) return {.kind = Item::Boolean, .integer = object == Py_True};
  if (is_tensor(object)) return tensor_item(Tensor::share(tensor_of(object)));
  if (to_integer(object, integer)) return {.kind = Item::Integer, .integer = integer};
  if (PyList_Check(object) || PyTuple_Check(object) || PyRange_Check(object) || is_array_like(object)) {
    Tensor index = index_from_sequence(object);
    return tensor_item(std::move(index));
  }
  if (PyUnicode_Check(object)) raise(ErrorKind::Type, "a tensor cannot be indexed with a str");
  raise(ErrorKind::Index,
        "a tensor cannot be indexed with a %s\nexpected: integers, slices, None, Ellipsis, tensors or lists of "
        "integers or bools",
        Py_TYPE(object)->tp_name);
}

// Whether a slice is ":", independent of the size.
bool is_colon(PyObject* slice) {
  const auto* given = reinterpret_cast<PySliceObject*>(slice);
  return given->start == Py_None && given->stop == Py_None && given->step == Py_None;
}

template <class View>
void apply_slice(View& view, int64_t dim, PyObject* slice) {
  if (is_colon(slice) && view.skips_colons()) return;
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(slice, &start, &stop, &step) < 0) raise_python();
  if (step <= 0) raise(ErrorKind::Value, "the step of a slice must be positive, not %zd: use flip()", step);
  const int64_t size = view.size(dim);
  PySlice_AdjustIndices(size, &start, &stop, step);
  view.slice(dim, start, std::max(start, stop), step);
}

bool is_index_dtype(DType dtype) {
  return dtype == DType::Int64 || dtype == DType::Int32 || dtype == DType::Bool || dtype == DType::UInt8;
}

// Nested tensors are indices, sparse and quantized ones are not. As in PyTorch, the kind is checked before the dtype,
// except that a compressed one is refused for its dtype first.
void check_index(const TensorImpl& index) {
  const bool has_index_dtype = is_index_dtype(index.dtype);
  const Kind* kind = kind_of(index);
  const bool is_offered = !kind || index.keys.has(Key::Nested);
  const bool is_compressed = kind && is_sparse(kind->layout) && kind->layout != Layout::SparseCoo;
  if (!is_offered && (has_index_dtype || !is_compressed))
    raise(ErrorKind::NotImplemented, "an index is a strided or nested tensor of integers or bools, not a %s one",
          is_sparse(kind->layout) ? "sparse" : "quantized");
  if (!has_index_dtype)
    raise(ErrorKind::Index, "tensors used as indices must be int64, int32, bool or uint8, not %s",
          std::string(name(index.dtype)).c_str());
  if (index.dtype == DType::UInt8 && index.ndim)
    warn("indexing by a mask of dtype uint8 is deprecated: make it bool, or int64 if it holds indices");
}

template <class View>
void apply_item(View& view, const Item& item, int64_t& dim, int64_t ellipsis_dims, AdvancedIndices& advanced) {
  switch (item.kind) {
    case Item::Integer: view.select(dim, checked_index(item.integer, view.size(dim), dim)); return;
    case Item::Slice: apply_slice(view, dim++, item.slice); return advanced.skip();
    case Item::Ellipsis: dim += ellipsis_dims; return advanced.skip(ellipsis_dims);
    case Item::NewAxis: view.unsqueeze(dim++); return advanced.skip();
    case Item::Boolean: view.unsqueeze(dim++); return advanced.add(mask_of(item.integer));
    case Item::Index:
      check_index(*item.tensor);
      dim += item.dims_taken();
      return advanced.add(item.tensor);
  }
}

[[noreturn]] void raise_too_many(int64_t given, const TensorImpl& tensor) {
  raise(ErrorKind::Index, "too many indices: %lld were given for a tensor of dimension %d with size %s",
        static_cast<long long>(given), tensor.ndim, format_sizes(tensor.shape()).c_str());
}

template <class View>
Tensor apply_items(TensorImpl& self, std::span<PyObject* const> keys, AdvancedIndices& advanced) {
  std::vector<Item> items;
  int64_t taken = 0;
  for (PyObject* key : keys) {
    items.push_back(read_item(key));
    taken += items.back().dims_taken();
  }
  if (taken > self.ndim) raise_too_many(taken, self);
  View view(self, keys.size() > 1);
  int64_t dim = 0, ellipsis_dims = self.ndim - taken;
  for (const Item& item : items) {
    apply_item(view, item, dim, ellipsis_dims, advanced);
    if (item.kind == Item::Ellipsis) ellipsis_dims = 0;
  }
  return view.result();
}

// The timeline's event for a view that is made without an op.
struct IndexingEvent {
  explicit IndexingEvent(NamedOp op) {
    if (!is_watched(kWatchCalls)) [[likely]]
      return;
    note_line();
    scope.open(EventKind::Call, &named_op(op), 0, thread_state.sequence);
  }
  TimelineScope scope;
};

// Whether no key above the backend must see the views. ViewInPlace alone (a view of a base without gradients) needs no
// op either: a view of a view points to the base.
bool is_unobserved(const TensorImpl& self) {
  const KeySet above = self.keys - kBackends - KeySet(Key::ViewInPlace);
  return above.empty() && !requires_grad(self) && thread_state.include.empty() && !is_watched(kWatchDispatches);
}

// The fast path for keys of integers and slices: no Items, no allocation.
bool apply_simple(TensorImpl& self, std::span<PyObject* const> keys, Tensor& result) {
  if (keys.size() > self.ndim) return false;
  for (PyObject* key : keys)
    if (!PyLong_CheckExact(key) && !PySlice_Check(key)) return false;
  GeometryView view(self);
  int64_t dim = 0, position = 0;
  for (PyObject* key : keys) {
    int64_t integer;
    if (PySlice_Check(key)) {
      apply_slice(view, dim++, key);
    } else {
      if (!is_small_integer(key, integer)) return false;
      view.select(dim, checked_index(integer, view.size(dim), position));
    }
    ++position;
  }
  result = view.result();
  return true;
}

// A list of slices, None, tensors or sequences is read as a tuple; of integers or bools as one index.
bool list_means_tuple(PyObject* list) {
  const Py_ssize_t count = PyList_GET_SIZE(list);
  if (count >= 32) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PyList_GET_ITEM(list, i);
    if (is_tensor(item) || PySlice_Check(item) || item == Py_None || item == Py_Ellipsis || PyList_Check(item) ||
        PyTuple_Check(item))
      return true;
  }
  return false;
}

std::span<PyObject* const> items_of(PyObject* const& key) {
  if (!PyTuple_Check(key) && !(PyList_Check(key) && list_means_tuple(key))) return {&key, 1};
  return {PySequence_Fast_ITEMS(key), static_cast<size_t>(PySequence_Fast_GET_SIZE(key))};
}

Tensor basic_view(TensorImpl& self, std::span<PyObject* const> keys, AdvancedIndices& advanced) {
  if (!is_unobserved(self)) return apply_items<RecordedView>(self, keys, advanced);
  const IndexingEvent event(NamedOp::Slice);
  Tensor simple;
  if (apply_simple(self, keys, simple)) return simple;
  Tensor view = apply_items<GeometryView>(self, keys, advanced);
  // If all items are tensors, the tensor itself is written and no view is recorded.
  const bool same = advanced.any && view->offset == self.offset && std::ranges::equal(view->shape(), self.shape()) &&
                    std::ranges::equal(view->stride(), self.stride());
  return same ? Tensor::share(&self) : std::move(view);
}

Value index_list(const std::vector<TensorImpl*>& pointers) {
  Value list = Value::of(std::span<TensorImpl* const>(pointers));
  list.tag = Tag::OptionalTensorList;
  return list;
}

PyObject* get_item(PyObject* self, PyObject* key) {
  return guarded([&]() -> PyObject* {
    if (slot_is_overridden(self)) [[unlikely]] {
      PyObject* arguments[] = {self, key};
      return call_slot_override("__getitem__", arguments);
    }
    TensorImpl& tensor = *tensor_of(self);
    int64_t integer;
    if (is_small_integer(key, integer) && tensor.ndim && is_unobserved(tensor)) {
      const int64_t index = checked_index(integer, tensor.sizes[0], 0);
      const IndexingEvent event(NamedOp::Select);
      return wrap(make_view(tensor, tensor.shape().subspan(1), tensor.stride().subspan(1),
                            tensor.offset + index * tensor.strides[0]));
    }
    AdvancedIndices advanced;
    Tensor view = basic_view(tensor, items_of(key), advanced);
    if (!advanced.any) {
      if (view.get() == &tensor) view = call_op(NamedOp::Alias, {Value::of(&tensor)});  // a recorded key without steps
      return wrap(std::move(view));
    }
    const std::vector<TensorImpl*> pointers = advanced.pointers();
    return wrap(call_op(NamedOp::Index, {Value::of(view.get()), index_list(pointers)}));
  });
}

// Leading dimensions of size 1 that the target lacks are dropped from the value.
Tensor drop_leading_ones(TensorImpl& value, int64_t target_ndim) {
  Tensor current = Tensor::share(&value);
  while (current->ndim > target_ndim && current->sizes[0] == 1) {
    current = is_unobserved(*current)
                  ? make_view(*current, current->shape().subspan(1), current->stride().subspan(1), current->offset)
                  : call_op(NamedOp::Select, {Value::of(current.get()), Value::of_int(0), Value::of_int(0)});
  }
  return current;
}

// A single number assigned through a mask may have another dtype: it is converted like a Python number.
Tensor as_element(Tensor value, DType dtype) {
  if (value->dtype == dtype) return value;
  if (!value->wrapper && value->device.type != DeviceType::Meta) {
    refuse_replay("whether a number fits is read from a tensor");
    Tensor probe = empty({}, dtype);
    write_element(probe->host(), dtype, own(element_object(on_host(*value)->host(), value->dtype)).get());
  }
  return call_op(NamedOp::ToCopy, {Value::of(value.get()), Value::of_dtype(dtype)});
}

void assign(TensorImpl& target, const AdvancedIndices& advanced, PyObject* value) {
  ArgumentMemory memory;
  Value number;
  Tensor source;
  if (is_tensor(value)) {
    source = Tensor::share(tensor_of(value));
  } else if (to_number(value, number, memory)) {
    if (!advanced.any) {
      require_no_internal_overlap(target);  // fill_ itself may write an expanded tensor
      call_op(NamedOp::FillScalar, {Value::of(&target), number});
      return;
    }
    source = empty({}, target.dtype);
    write_element(source->host(), target.dtype, value);
  } else {
    raise(ErrorKind::Type,
          "elements of a tensor can be set to a Tensor or a number, not to a %s\n"
          "make a tensor of it first",
          Py_TYPE(value)->tp_name);
  }
  if (!advanced.any) {
    source = drop_leading_ones(*source, target.ndim);
    // x[:] = x[0]: copy_ refuses a dense source that overlaps the target, but copies an expanded one first.
    if (source->storage == target.storage && !std::ranges::equal(source->shape(), target.shape()))
      source = call_op(NamedOp::Expand, {Value::of(source.get()), Value::of(target.shape())});
    call_op(NamedOp::Copy, {Value::of(&target), Value::of(source.get())});
    return;
  }
  if (const TensorImpl* mask = advanced.only_mask(); mask && source->numel == 1) {
    if (mask->dtype == DType::UInt8)
      raise(ErrorKind::Runtime,
            "one number is written through bool masks only, not through one of dtype uint8: use mask.bool()");
    source = as_element(std::move(source), target.dtype);
  }
  source = drop_leading_ones(*source, 0);  // broadcasting restores the target's leading dimensions
  const std::vector<TensorImpl*> pointers = advanced.pointers();
  call_op(NamedOp::IndexPut, {Value::of(&target), index_list(pointers), Value::of(source.get())});
}

int set_item(PyObject* self, PyObject* key, PyObject* value) {
  return guarded_status([&] {
    if (!value) raise(ErrorKind::Type, "elements of a tensor cannot be deleted");
    if (slot_is_overridden(self) || (is_tensor(value) && classify(value) == TensorKind::Overrides)) [[unlikely]] {
      PyObject* arguments[] = {self, key, value};
      Py_DECREF(call_slot_override("__setitem__", arguments));
      return;
    }
    // A single bool adds a dim: of size 1 for True, of size 0 for False.
    if (key == Py_False) return;
    PyObject* const read = key == Py_True ? Py_None : key;
    AdvancedIndices advanced;
    Tensor view = basic_view(*tensor_of(self), items_of(read), advanced);
    assign(*view, advanced, value);
  });
}

Py_ssize_t length(PyObject* self) {
  if (slot_is_overridden(self)) [[unlikely]] {
    Py_ssize_t given = -1;
    const int status = guarded_status([&] {
      Object answer = own(call_slot_override("__len__", {&self, 1}));
      given = PyNumber_AsSsize_t(answer.get(), PyExc_OverflowError);
      if (given < 0 && PyErr_Occurred()) raise_python();
    });
    return status < 0 ? -1 : given;
  }
  const TensorImpl& tensor = *tensor_of(self);
  if (tensor.ndim) return tensor.sizes[0];
  PyErr_SetString(PyExc_TypeError, "a 0-dimensional tensor has no len(): use item() for its value");
  return -1;
}

PyMappingMethods mapping_methods = {length, get_item, set_item};

}  // namespace

void fill_subscript_slots(PyTypeObject& type) { type.tp_as_mapping = &mapping_methods; }

}  // namespace pellucid::python
