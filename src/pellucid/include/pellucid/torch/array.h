// py::array and py::array_t: NumPy arrays as arguments and results of C++; py::buffer. For pybind11's header `numpy`.
//
// NumPy is called through Python: nothing of it is needed to compile. An array_t argument converts what it is given to
// an array of its dtype and order; without `forcecast` (the default), only where NumPy calls that safe.
#pragma once

#include "pellucid/torch/module.h"

namespace pybind11 {

// The memory behind an object; released with the last copy.
struct buffer_info {
  void* ptr = nullptr;
  ssize_t itemsize = 0, size = 1, ndim = 0;
  std::string format;
  std::vector<ssize_t> shape, strides;
  bool readonly = false;

  buffer_info() = default;
  // What a class gives as its memory (def_buffer), or an array copies.
  buffer_info(void* data, ssize_t item, std::string code, ssize_t dims, std::vector<ssize_t> sizes,
              std::vector<ssize_t> steps)
      : ptr(data), itemsize(item), ndim(dims), format(std::move(code)), shape(std::move(sizes)),
        strides(std::move(steps)) {
    for (const ssize_t each : shape) size *= each;
  }
  // Where the elements are, without their format; the memory is its owner's.
  static buffer_info layout_of(PyObject* owner) {
    Py_buffer view;
    if (PyObject_GetBuffer(owner, &view, PyBUF_STRIDES)) throw error_already_set();
    buffer_info found(&view, nullptr);
    PyBuffer_Release(&view);
    return found;
  }
  explicit buffer_info(PyObject* object, bool writable) {
    auto* const view = new Py_buffer();
    if (PyObject_GetBuffer(object, view, PyBUF_STRIDES | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0))) {
      delete view;
      throw error_already_set();
    }
    view_.reset(view, [](Py_buffer* held) {
      const c10::detail::Lock lock;
      PyBuffer_Release(held);
      delete held;
    });
    *this = buffer_info(view, std::move(view_));
  }

 private:
  buffer_info(Py_buffer* view, std::shared_ptr<Py_buffer> held)
      : buffer_info(view->buf, view->itemsize, view->format ? view->format : "B", view->ndim,
                    {view->shape, view->shape + view->ndim}, {view->strides, view->strides + view->ndim}) {
    readonly = view->readonly != 0;
    view_ = std::move(held);
  }
  std::shared_ptr<Py_buffer> view_;
};

// Any object with memory: bytes, arrays, memoryviews.
class buffer : public object {
 public:
  buffer() = default;
  buffer(const object& given) : object(given) {}
  static bool fits(PyObject* given) { return PyObject_CheckBuffer(given); }
  buffer_info request(bool writable = false) const { return buffer_info(object_, writable); }
};

namespace detail {

// NumPy's name of a type of C++.
template <class T>
constexpr const char* numpy_name() {
  using Real = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<Real, bool>) return "bool";
  else if constexpr (std::is_same_v<Real, std::complex<float>> || std::is_same_v<Real, c10::complex<float>>)
    return "complex64";
  else if constexpr (std::is_same_v<Real, std::complex<double>> || std::is_same_v<Real, c10::complex<double>>)
    return "complex128";
  else if constexpr (std::is_same_v<Real, c10::Half>) return "float16";
  else if constexpr (std::is_floating_point_v<Real>) return sizeof(Real) == 4 ? "float32" : "float64";
  else {
    static_assert(std::is_integral_v<Real>, "NumPy has no dtype for this type of C++");
    constexpr const char* names[2][4] = {{"uint8", "uint16", "uint32", "uint64"}, {"int8", "int16", "int32", "int64"}};
    return names[std::is_signed_v<Real>][sizeof(Real) == 1 ? 0 : sizeof(Real) == 2 ? 1 : sizeof(Real) == 4 ? 2 : 3];
  }
}
inline object numpy() { return object::steal(PyImport_ImportModule("numpy")); }

// Sizes or strides, from any list of integers or one.
class Sizes {
 public:
  template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  Sizes(T one) : list{static_cast<ssize_t>(one)} {}
  template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  Sizes(std::initializer_list<T> many) : list(many.begin(), many.end()) {}
  template <class List, class = decltype(std::declval<const List&>().begin())>
  Sizes(const List& many) : list(many.begin(), many.end()) {}
  std::vector<ssize_t> list;
};

// The elements of an array of `dims` dimensions (-1: any number), without checks of indices.
template <class T, ssize_t dims>
class Unchecked {
 public:
  Unchecked(T* data, const std::vector<ssize_t>& shape, const std::vector<ssize_t>& strides)
      : data_(data), shape_(shape), strides_(strides) {}
  template <class... Indices>
  T& operator()(Indices... indices) const {
    ssize_t k = 0, offset = 0;
    ((offset += static_cast<ssize_t>(indices) * strides_[static_cast<size_t>(k++)]), ...);
    auto* const bytes = reinterpret_cast<std::conditional_t<std::is_const_v<T>, const char, char>*>(data_);
    return *reinterpret_cast<T*>(bytes + offset);
  }
  T& operator[](ssize_t k) const { return (*this)(k); }
  ssize_t shape(ssize_t dim) const { return shape_[static_cast<size_t>(dim)]; }
  ssize_t ndim() const { return static_cast<ssize_t>(shape_.size()); }
  ssize_t size() const {
    ssize_t count = 1;
    for (const ssize_t each : shape_) count *= each;
    return count;
  }

 private:
  T* data_;
  std::vector<ssize_t> shape_, strides_;
};

}  // namespace detail

// numpy.dtype.
class dtype : public object {
 public:
  explicit dtype(const object& given) : object(given) {}
  explicit dtype(const char* name) : object(object(detail::numpy().attr("dtype"))(name)) {}
  template <class T>
  static dtype of() {
    return dtype(detail::numpy_name<T>());
  }
  static bool fits(PyObject* given) {
    return PyObject_IsInstance(given, object(detail::numpy().attr("dtype")).ptr()) == 1;
  }
  ssize_t itemsize() const { return object(attr("itemsize")).cast<ssize_t>(); }
  char kind() const { return object(attr("kind")).cast<std::string>()[0]; }
  bool equal(const object& other) const { return PyObject_RichCompareBool(object_, other.ptr(), Py_EQ) == 1; }
};

class array : public buffer {
 public:
  enum { c_style = 1, f_style = 2, forcecast = 16 };

  array() : array(dtype::of<double>(), 0) {}
  array(const object& given)
      : buffer(!given || fits(given.ptr()) ? given : object(detail::numpy().attr("asarray")(given))) {
    read_layout();
  }
  // Over `data` for as long as `base` lives; a copy without a base; not initialised without data.
  array(const dtype& type, const detail::Sizes& shape, const detail::Sizes& strides, const void* data = nullptr,
        handle base = {}) {
    *this = made(type, shape.list, strides.list, data, base);
  }
  array(const dtype& type, const detail::Sizes& shape, const void* data = nullptr, handle base = {}) {
    *this = made(type, shape.list, row_major(shape.list, type.itemsize()), data, base);
  }
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  array(const detail::Sizes& shape, const T* data, handle base = {})
      : array(pybind11::dtype::of<T>(), shape, data, base) {}

  static bool fits(PyObject* given) {
    return PyObject_IsInstance(given, object(detail::numpy().attr("ndarray")).ptr()) == 1;
  }
  pybind11::dtype dtype() const { return pybind11::dtype(object(attr("dtype"))); }
  ssize_t ndim() const { return layout_->ndim; }
  ssize_t size() const { return layout_->size; }
  ssize_t itemsize() const { return layout_->itemsize; }
  ssize_t nbytes() const { return size() * itemsize(); }
  ssize_t shape(ssize_t dim) const { return at(layout_->shape, dim); }
  ssize_t strides(ssize_t dim) const { return at(layout_->strides, dim); }
  const ssize_t* shape() const { return layout_->shape.data(); }
  const ssize_t* strides() const { return layout_->strides.data(); }
  bool writeable() const { return !layout_->readonly; }
  const void* data() const { return layout_->ptr; }
  void* mutable_data() const {
    if (!writeable()) throw std::domain_error("array is not writeable");
    return layout_->ptr;
  }
  array reshape(const detail::Sizes& shape) const { return array(object(attr("reshape"))(at::IValue(shape.list))); }
  array squeeze() const { return array(object(attr("squeeze"))()); }
  void resize(const detail::Sizes& shape, bool refcheck = true) {
    const object keywords = object::steal(PyDict_New());
    keywords["refcheck"] = refcheck;
    const object given = pybind11::make_tuple(at::IValue(shape.list));
    object::steal(PyObject_Call(object(attr("resize")).ptr(), given.ptr(), keywords.ptr()));
    read_layout();
  }
  static std::vector<ssize_t> row_major(const std::vector<ssize_t>& shape, ssize_t itemsize) {
    std::vector<ssize_t> strides(shape.size());
    for (size_t d = shape.size(); d-- > 0; itemsize *= shape[d]) strides[d] = itemsize;
    return strides;
  }

 protected:
  const buffer_info& layout() const { return *layout_; }

 private:
  static ssize_t at(const std::vector<ssize_t>& list, ssize_t dim) {
    if (dim < 0 || dim >= static_cast<ssize_t>(list.size()))
      throw index_error("invalid axis: " + std::to_string(dim) + " (ndim = " + std::to_string(list.size()) + ")");
    return list[static_cast<size_t>(dim)];
  }
  // Address, shape and strides, once: elements are read without Python. NumPy resizes no array that has references.
  void read_layout() {
    if (object_) layout_ = std::make_shared<const buffer_info>(buffer_info::layout_of(object_));
  }
  static array made(const pybind11::dtype& type, const std::vector<ssize_t>& shape, const std::vector<ssize_t>& strides,
                    const void* data, handle base) {
    const object make = module_::import("pellucid.utils._cpp.arrays").attr("make");
    const object owner = base ? object::borrow(base.ptr()) : none();
    return array(make(type, at::IValue(shape), at::IValue(strides), reinterpret_cast<intptr_t>(data), owner));
  }
  std::shared_ptr<const buffer_info> layout_;
};

template <class T, int flags = array::forcecast>
class array_t : public array {
 public:
  using value_type = T;
  array_t() : array(pybind11::dtype::of<T>(), 0) {}
  // Converts: TypeError where the elements do not fit the dtype.
  array_t(const object& given) : array(converted(given)) {}
  array_t(const Accessor& given) : array_t(object(given)) {}
  explicit array_t(const detail::Sizes& shape, const T* data = nullptr, handle base = {})
      : array(pybind11::dtype::of<T>(), shape, strides_of(shape.list), data, base) {}
  array_t(const detail::Sizes& shape, const detail::Sizes& strides, const T* data = nullptr, handle base = {})
      : array(pybind11::dtype::of<T>(), shape, strides, data, base) {}
  explicit array_t(const buffer_info& from) : array(pybind11::dtype::of<T>(), from.shape, from.strides, from.ptr) {}

  // Whether it is an array of this dtype and order; and what converts to one.
  static bool fits(PyObject* given) {
    if (!array::fits(given)) return false;
    const array found(object::borrow(given));
    const auto has = [&](int order, const char* name) {
      return !(flags & order) || object(found.attr("flags"))[name].template cast<bool>();
    };
    return found.dtype().equal(pybind11::dtype::of<T>()) && has(array::c_style, "C") && has(array::f_style, "F");
  }
  static bool accepts(PyObject* given) {
    return PyObject_CheckBuffer(given) || PySequence_Check(given) || PyNumber_Check(given);
  }
  static array_t ensure(handle given) {
    try {
      return array_t(object::borrow(given.ptr()));
    } catch (const error_already_set&) { PyErr_Clear(); }
    return array_t(nullptr, 0);
  }
  template <class... Indices>
  const T* data(Indices... indices) const {
    return place(indices...);
  }
  template <class... Indices>
  T* mutable_data(Indices... indices) {
    array::mutable_data();
    return const_cast<T*>(place(indices...));
  }
  const T& at(ssize_t first) const { return checked(first); }
  template <class... Indices>
  const T& at(ssize_t first, Indices... rest) const {
    return checked(first, rest...);
  }
  template <class... Indices>
  T& mutable_at(Indices... indices) {
    array::mutable_data();
    return const_cast<T&>(checked(indices...));
  }
  template <ssize_t dims = -1>
  detail::Unchecked<const T, dims> unchecked() const {
    check_dims(dims);
    return {static_cast<const T*>(array::data()), layout().shape, layout().strides};
  }
  template <ssize_t dims = -1>
  detail::Unchecked<T, dims> mutable_unchecked() {
    check_dims(dims);
    return {static_cast<T*>(array::mutable_data()), layout().shape, layout().strides};
  }

 private:
  array_t(std::nullptr_t, int) : array(object()) {}
  static object converted(const object& given) {
    constexpr const char* order = flags & array::c_style ? "C" : flags & array::f_style ? "F" : "K";
    return module_::import("pellucid.utils._cpp.arrays")
        .attr("convert")(given, detail::numpy_name<T>(), order, (flags & array::forcecast) != 0);
  }
  static std::vector<ssize_t> strides_of(const std::vector<ssize_t>& shape) {
    if (!(flags & array::f_style)) return row_major(shape, sizeof(T));
    std::vector<ssize_t> strides(shape.rbegin(), shape.rend());
    strides = row_major(strides, sizeof(T));
    return {strides.rbegin(), strides.rend()};
  }
  void check_dims(ssize_t dims) const {
    if (dims >= 0 && ndim() != dims)
      throw std::domain_error("array has incorrect number of dimensions: " + std::to_string(ndim()) + "; expected " +
                              std::to_string(dims));
  }
  // The address of an element, or of the first one with these indices; without checks of bounds.
  template <class... Indices>
  const T* place(Indices... indices) const {
    if (static_cast<ssize_t>(sizeof...(Indices)) > ndim())
      throw index_error("too many indices for an array: " + std::to_string(sizeof...(Indices)) + " for " +
                        std::to_string(ndim()) + " dimensions");
    [[maybe_unused]] const ssize_t* stride = array::strides();
    ssize_t offset = 0;
    ((offset += static_cast<ssize_t>(indices) * *stride++), ...);
    return reinterpret_cast<const T*>(static_cast<const char*>(array::data()) + offset);
  }
  template <class... Indices>
  const T& checked(Indices... indices) const {
    if (static_cast<ssize_t>(sizeof...(Indices)) != ndim())
      throw index_error("index dimension mismatch: " + std::to_string(sizeof...(Indices)) + " indices for " +
                        std::to_string(ndim()) + " dimensions");
    ssize_t dim = 0;
    const auto check = [&](ssize_t index) {
      if (index < 0 || index >= shape(dim))
        throw index_error("index " + std::to_string(index) + " is out of bounds for axis " + std::to_string(dim) +
                          " with size " + std::to_string(shape(dim)));
      ++dim;
    };
    (check(static_cast<ssize_t>(indices)), ...);
    return *place(indices...);
  }
};

// A function of numbers as one of arrays that broadcast, by numpy.vectorize; numbers alone give a number.
template <class Function>
auto vectorize(Function function) {
  using Result = std::decay_t<typename at::detail::signature_t<Function>::Result>;
  const object each =
      object::steal(at::detail::python_function(at::detail::callable(std::move(function)), "vectorized", ""));
  const object over = detail::numpy().attr("vectorize");
  return [called = over(each, pybind11::make_tuple(detail::numpy_name<Result>()))](const args& given) {
    const object made = object::steal(PyObject_CallObject(called.ptr(), given.ptr()));
    return object(made.attr("ndim")).cast<int64_t>() ? made : made.attr("item")();
  };
}

}  // namespace pybind11
