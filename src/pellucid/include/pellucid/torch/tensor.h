// at::Tensor: a counted reference to a tensor, its facts, its elements, and every op as a method and a function.
//
// The methods and functions are generated from the op table (pellucid_methods.h, pellucid_functions.h).
#pragma once

#include "pellucid/torch/accessors.h"
#include "pellucid/torch/calls.h"
#include "pellucid/torch/generator.h"

namespace at {

namespace indexing {
class TensorIndex;
}

class Tensor {
 public:
  using Facts = pellucid::extension::Facts;

  Tensor() = default;
  static Tensor adopt(TensorHandle* handle) {
    Tensor made;
    made.handle_ = handle;
    return made;
  }
  static Tensor share(TensorHandle* handle) {
    if (handle) detail::table().retain(handle);
    return adopt(handle);
  }
  Tensor(const Tensor& other) : handle_(other.handle_) {
    if (handle_) detail::table().retain(handle_);
  }
  Tensor(Tensor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  // A name refers to another tensor; `x[0] = y` and `x.select(0, 1) = 2` write.
  Tensor& operator=(const Tensor& other) & { return *this = Tensor(other); }
  Tensor& operator=(Tensor&& other) & noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Tensor& operator=(const Tensor& other) && { return copy_(other); }
  Tensor& operator=(Tensor&& other) && { return copy_(other); }
  Tensor& operator=(const Scalar& value) && { return fill_(value); }
  ~Tensor() {
    if (handle_) detail::table().release(handle_);
  }
  TensorHandle* handle() const { return handle_; }
  TensorHandle* leak() { return std::exchange(handle_, nullptr); }

  bool defined() const { return handle_ != nullptr; }
  void reset() { *this = Tensor(); }
  bool is_same(const Tensor& other) const { return handle_ == other.handle_; }
  Facts facts() const {
    TORCH_CHECK(handle_, "a tensor that is not defined was used");
    Facts found;
    detail::table().facts(handle_, &found);
    return found;
  }
  int64_t dim() const { return facts().dims; }
  int64_t ndimension() const { return dim(); }
  int64_t numel() const { return facts().elements; }
  int64_t element_size() const { return facts().item_bytes; }
  size_t nbytes() const { return static_cast<size_t>(numel() * element_size()); }
  int64_t storage_offset() const { return facts().offset; }
  IntArrayRef sizes() const {
    const Facts found = facts();
    return {found.sizes, static_cast<size_t>(found.dims)};
  }
  IntArrayRef strides() const {
    const Facts found = facts();
    return {found.strides, static_cast<size_t>(found.dims)};
  }
  int64_t size(int64_t dim) const { return sizes()[place(dim)]; }
  int64_t stride(int64_t dim) const { return strides()[place(dim)]; }
  ScalarType scalar_type() const { return static_cast<ScalarType>(facts().dtype); }
  TypeMeta dtype() const { return scalar_type(); }
  // What PyTorch calls deprecated and libraries still use: the dtype and the device in one.
  DeprecatedTypeProperties type() const { return {scalar_type(), device()}; }
  std::string toString() const { return c10::str(type()); }
  size_t itemsize() const { return static_cast<size_t>(element_size()); }
  Device device() const {
    const Facts found = facts();
    return {static_cast<DeviceType>(found.device_type), found.device_index};
  }
  bool is_cpu() const { return device().is_cpu(); }
  bool is_cuda() const { return device().is_cuda(); }
  bool is_meta() const { return device().type() == kMeta; }
  int64_t get_device() const { return device().index(); }
  bool requires_grad() const { return facts().requires_grad; }
  bool is_sparse() const;
  Layout layout() const { return is_sparse() ? kSparse : kStrided; }
  bool is_floating_point() const { return is_floating(scalar_type()); }
  bool is_complex() const { return isComplexType(scalar_type()); }
  TensorOptions options() const { return TensorOptions(scalar_type()).device(device()); }
  bool is_xla() const { return false; }
  bool is_xpu() const { return device().type() == DeviceType::XPU; }
  bool is_mps() const { return device().type() == DeviceType::MPS; }
  bool is_privateuseone() const { return device().type() == kPrivateUse1; }
  Tensor toType(ScalarType type) const { return to(type); }
  Tensor cuda() const { return to(Device(kCUDA)); }
  Tensor variable_data() const { return detach(); }
  Tensor tensor_data() const { return detach(); }
  Tensor data() const { return detach(); }
  SymInt sym_size(int64_t dim) const { return size(dim); }
  SymInt sym_stride(int64_t dim) const { return stride(dim); }
  SymInt sym_numel() const { return numel(); }
  IntArrayRef sym_sizes() const { return sizes(); }
  IntArrayRef sym_strides() const { return strides(); }
  SymInt sym_storage_offset() const { return storage_offset(); }
  Tensor grad() const { return adopt(detail::table().gradient(handle_)); }
  Tensor set_requires_grad(bool value) const { return requires_grad_(value); }
  // d(this) / d(leaves), added to their gradients.
  void backward() const;
  void backward(const Tensor& gradient, optional<bool> retain_graph = {}, bool create_graph = false,
                optional<TensorList> inputs = {}) const;
  Tensor index(std::initializer_list<indexing::TensorIndex> places) const;
  Tensor index(ArrayRef<indexing::TensorIndex> places) const;
  Tensor index_put_(std::initializer_list<indexing::TensorIndex> places, const Tensor& values) const;
  Tensor index_put_(std::initializer_list<indexing::TensorIndex> places, const Scalar& value) const;
  Tensor index_put_(ArrayRef<indexing::TensorIndex> places, const Tensor& values) const;
  Tensor index_put_(ArrayRef<indexing::TensorIndex> places, const Scalar& value) const;
  Tensor to(TypeMeta type, bool non_blocking = false, bool copy = false) const {
    return to(type.type, non_blocking, copy);
  }
  bool is_contiguous(MemoryFormat format) const {
    if (format == MemoryFormat::Contiguous) return is_contiguous();
    const int64_t dims = format == MemoryFormat::ChannelsLast ? 4 : 5;
    return dim() == dims && movedim(1, -1).is_contiguous();
  }
  MemoryFormat suggest_memory_format() const {
    for (const MemoryFormat format : {MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d})
      if (!is_contiguous() && is_contiguous(format)) return format;
    return MemoryFormat::Contiguous;
  }
  bool is_contiguous() const {
    const Facts found = facts();
    int64_t expected = 1;
    for (int64_t d = found.dims - 1; d >= 0; --d) {
      if (found.sizes[d] != 1 && found.strides[d] != expected) return found.elements == 0;
      expected *= found.sizes[d];
    }
    return true;
  }

  void* data_ptr() const {
#ifdef WITH_CUDA  // kernels take addresses of any device
    if (!is_cpu()) return reinterpret_cast<void*>(detail::table().address(handle_));
#endif
    void* address = nullptr;
    if (detail::table().data(handle_, &address)) throw pellucid::extension::Error(detail::table().last_error());
    return address;
  }
  template <class T>
  T* data_ptr() const {
    TORCH_CHECK(holds<std::remove_const_t<T>>(scalar_type()), "expected scalar type ", name_of<T>(), " but found ",
                name(scalar_type()));
    return static_cast<T*>(data_ptr());
  }
  void* mutable_data_ptr() const { return data_ptr(); }
  const void* const_data_ptr() const { return data_ptr(); }
  template <class T>
  T* data() const {
    return data_ptr<T>();
  }
  template <class T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T>
  const T* const_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, Traits> packed_accessor32() const {
    TORCH_CHECK(dim() == static_cast<int64_t>(N), "an accessor of ", N, " dims for a tensor of ", dim());
    TORCH_CHECK(numel() < (int64_t{1} << 31), "packed_accessor32: the tensor has ", numel(), " elements");
    return {data_ptr<T>(), sizes(), strides()};
  }
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, Traits> packed_accessor64() const {
    TORCH_CHECK(dim() == static_cast<int64_t>(N), "an accessor of ", N, " dims for a tensor of ", dim());
    return {data_ptr<T>(), sizes(), strides()};
  }
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() const {
    TORCH_CHECK(dim() == static_cast<int64_t>(N), "an accessor of ", N, " dims for a tensor of ", dim());
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  Scalar item() const {
    TORCH_CHECK(numel() == 1, "item(): the tensor has ", numel(), " elements, not one");
    const ScalarType type = scalar_type();
    const ScalarType wide = isComplexType(type) ? kComplexDouble : is_floating(type) ? kDouble : kLong;
    const Tensor value = detail::call<Tensor>("aten::_to_copy", detail::pack(*this), detail::pack(wide));
    if (type == kBool) return *static_cast<const int64_t*>(value.data_ptr()) != 0;
    if (wide == kLong) return *static_cast<const int64_t*>(value.data_ptr());
    if (wide == kDouble) return *static_cast<const double*>(value.data_ptr());
    return *static_cast<const c10::complex<double>*>(value.data_ptr());
  }
  template <class T>
  T item() const {
    return item().to<T>();
  }

#include "pellucid_methods.h"

  Tensor operator[](int64_t index) const { return select(0, index); }
  Tensor operator[](const Scalar& index) const { return select(0, index.toLong()); }
  Tensor operator[](const Tensor& index) const { return select(0, index.item<int64_t>()); }
  Tensor operator-() const { return neg(); }
  Tensor operator~() const { return bitwise_not(); }
  template <class Other>
  Tensor& operator+=(const Other& other) {
    add_(other);
    return *this;
  }
  template <class Other>
  Tensor& operator-=(const Other& other) {
    sub_(other);
    return *this;
  }
  template <class Other>
  Tensor& operator*=(const Other& other) {
    mul_(other);
    return *this;
  }
  template <class Other>
  Tensor& operator/=(const Other& other) {
    div_(other);
    return *this;
  }

 private:
  size_t place(int64_t dim) const {
    const int64_t count = this->dim();
    TORCH_CHECK(dim >= -count && dim < count, "Dimension out of range: ", dim, " of a tensor with ", count);
    return static_cast<size_t>(dim < 0 ? dim + count : dim);
  }
  TensorHandle* handle_ = nullptr;
};
static_assert(sizeof(Tensor) == sizeof(TensorHandle*), "lists of tensors are lists of handles");

namespace detail {

inline Argument pack(const Generator& generator) {
  Argument made = argument(generator.defined() ? Argument::Generator : Argument::None);
  made.generator = generator.handle();
  return made;
}
inline Argument pack(const Tensor& tensor) {
  Argument made = argument(tensor.defined() ? Argument::Tensor : Argument::None);
  made.tensor = tensor.handle();
  return made;
}
inline Argument pack(TensorList list) {
  Argument made{Argument::TensorList, static_cast<uint32_t>(list.size()), {}};
  made.tensors = reinterpret_cast<TensorHandle* const*>(list.data());
  return made;
}
inline Argument pack_optional(TensorList list) {
  Argument made = pack(list);
  made.kind = Argument::OptionalTensorList;
  return made;
}

inline Tensor Results::tensor(size_t k) {
  return Tensor::adopt(list[k].kind == Result::Tensor ? std::exchange(list[k].tensor, nullptr) : nullptr);
}
inline std::vector<Tensor> Results::tensors(size_t k) {
  std::vector<Tensor> found;
  if (list[k].kind != Result::TensorList) return found;
  for (uint32_t i = 0; i < list[k].length; ++i)
    found.push_back(Tensor::adopt(std::exchange(list[k].tensors[i], nullptr)));
  return found;
}
inline Results::~Results() {
  for (size_t k = 0; k < count; ++k) {
    tensor(k);
    tensors(k);
    if (list[k].kind == Result::TensorList) table().free_list(list[k].tensors);
  }
}

template <class Return>
struct Taken {
  static Return take(Results& results) { return static_cast<Return>(results.list[0].integer); }
};
template <>
struct Taken<void> {
  static void take(Results&) {}
};
template <>
struct Taken<double> {
  static double take(Results& results) { return results.list[0].number; }
};
template <>
struct Taken<Tensor> {
  static Tensor take(Results& results) { return results.tensor(0); }
};
template <>
struct Taken<std::vector<Tensor>> {
  static std::vector<Tensor> take(Results& results) { return results.tensors(0); }
};
template <class... Tensors>
struct Taken<std::tuple<Tensors...>> {
  static std::tuple<Tensors...> take(Results& results) {
    size_t k = 0;
    return {one(static_cast<Tensors*>(nullptr), results, k)...};
  }
  static Tensor one(Tensor*, Results& results, size_t& k) { return results.tensor(k++); }
  static std::vector<Tensor> one(std::vector<Tensor>*, Results& results, size_t& k) { return results.tensors(k++); }
};

}  // namespace detail

namespace detail {

// What a factory made, a leaf that requires a gradient if the options say so.
inline Tensor with_options(Tensor made, const TensorOptions& options) {
  return options.requires_grad() ? made.requires_grad_(true) : made;
}

}  // namespace detail

#include "pellucid_functions.h"

#define PELLUCID_OPERATOR(sign, method)                                                 \
  inline Tensor operator sign(const Tensor& a, const Tensor& b) { return a.method(b); } \
  inline Tensor operator sign(const Tensor& a, const Scalar& b) { return a.method(b); }
PELLUCID_OPERATOR(+, add)
PELLUCID_OPERATOR(-, sub)
PELLUCID_OPERATOR(*, mul)
PELLUCID_OPERATOR(/, div)
PELLUCID_OPERATOR(<, lt)
PELLUCID_OPERATOR(<=, le)
PELLUCID_OPERATOR(>, gt)
PELLUCID_OPERATOR(>=, ge)
PELLUCID_OPERATOR(==, eq)
PELLUCID_OPERATOR(!=, ne)
PELLUCID_OPERATOR(&, bitwise_and)
PELLUCID_OPERATOR(|, bitwise_or)
PELLUCID_OPERATOR(^, bitwise_xor)
#undef PELLUCID_OPERATOR
inline Tensor operator+(const Scalar& a, const Tensor& b) { return b.add(a); }
inline Tensor operator*(const Scalar& a, const Tensor& b) { return b.mul(a); }
inline Tensor operator-(const Scalar& a, const Tensor& b) { return rsub(b, a); }
inline Tensor operator/(const Scalar& a, const Tensor& b) { return b.reciprocal().mul(a); }

inline std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace at

namespace torch {
using namespace at;
}
