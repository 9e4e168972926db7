// What a C++ extension's functions take beside tensors: numbers, lists, dtypes, devices, options; and their errors.
// PyTorch's names, by its namespaces. Read next: tensor.h.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "pellucid/extension.h"
#include "pellucid/torch/numbers.h"
#include "pellucid_dtypes.h"  // generated: enum class ScalarType, dtype_of

namespace c10 {

using pellucid::extension::GeneratorHandle;
using pellucid::extension::TensorHandle;
using std::in_place;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;
using std::string_view;

// RuntimeError in Python; its subclasses name their types.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  const char* msg() const { return what(); }
  virtual PyObject* type() const { return PyExc_RuntimeError; }
};
#define PELLUCID_ERROR(name, python)                           \
  class name : public Error {                                  \
   public:                                                     \
    using Error::Error;                                        \
    PyObject* type() const override { return PyExc_##python; } \
  };
PELLUCID_ERROR(IndexError, IndexError)
PELLUCID_ERROR(ValueError, ValueError)
PELLUCID_ERROR(TypeError, TypeError)
PELLUCID_ERROR(NotImplementedError, NotImplementedError)
#undef PELLUCID_ERROR

// A dtype as `Tensor::dtype()` gives it, which prints as in C++.
struct TypeMeta {
  ScalarType type;
  TypeMeta(ScalarType given) : type(given) {}
  operator ScalarType() const { return type; }
  ScalarType toScalarType() const { return type; }
  const char* name() const { return element_name(type); }
  size_t itemsize() const { return elementSize(type); }
};
inline std::ostream& operator<<(std::ostream& out, const TypeMeta& type) { return out << type.name(); }
inline bool operator==(TypeMeta a, TypeMeta b) { return a.type == b.type; }
inline bool operator!=(TypeMeta a, TypeMeta b) { return a.type != b.type; }
inline bool operator==(TypeMeta a, ScalarType b) { return a.type == b; }
inline bool operator!=(TypeMeta a, ScalarType b) { return a.type != b; }
inline bool operator==(ScalarType a, TypeMeta b) { return a == b.type; }
inline bool operator!=(ScalarType a, TypeMeta b) { return a != b.type; }
inline ScalarType typeMetaToScalarType(TypeMeta type) { return type.type; }
inline TypeMeta scalarTypeToTypeMeta(ScalarType type) { return type; }

namespace detail {

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

// The interpreter lock, for a thread that may have released it.
class Lock {
 public:
  Lock() : held_(PyGILState_Check()) {
    if (!held_) state_ = PyGILState_Ensure();
  }
  ~Lock() {
    if (!held_) PyGILState_Release(state_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  const bool held_;
  PyGILState_STATE state_ = PyGILState_UNLOCKED;
};

inline void warn(const std::string& message) {
  const Lock lock;
  if (PyErr_WarnEx(PyExc_UserWarning, message.c_str(), 1)) throw Error(message);
}

}  // namespace detail

#define PELLUCID_CHECK(kind, condition, ...)                                                    \
  do {                                                                                          \
    if (!(condition))                                                                           \
      throw ::c10::kind(::c10::detail::text(__VA_ARGS__).empty()                                \
                            ? std::string("Expected " #condition " to be true, but got false.") \
                            : ::c10::detail::text(__VA_ARGS__));                                \
  } while (false)
#define TORCH_CHECK(condition, ...) PELLUCID_CHECK(Error, condition, __VA_ARGS__)
#define STD_TORCH_CHECK(condition, ...) PELLUCID_CHECK(Error, condition, __VA_ARGS__)
#define TORCH_CHECK_INDEX(condition, ...) PELLUCID_CHECK(IndexError, condition, __VA_ARGS__)
#define TORCH_CHECK_VALUE(condition, ...) PELLUCID_CHECK(ValueError, condition, __VA_ARGS__)
#define TORCH_CHECK_TYPE(condition, ...) PELLUCID_CHECK(TypeError, condition, __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) PELLUCID_CHECK(NotImplementedError, condition, __VA_ARGS__)
#define TORCH_CHECK_ARG(condition, place, ...) \
  PELLUCID_CHECK(Error, condition, "invalid argument ", place, ": ", __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(condition, ...) TORCH_CHECK(condition, __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(condition, ...) static_cast<void>(0)
#define TORCH_API
#define C10_API
#define C10_EXPORT
#define C10_HOST_DEVICE
#define C10_UNUSED [[maybe_unused]]
#define C10_ALWAYS_INLINE inline __attribute__((always_inline))
#define C10_RESTRICT __restrict__
#define C10_LIKELY(condition) (__builtin_expect(static_cast<bool>(condition), 1))
#define C10_UNLIKELY(condition) (__builtin_expect(static_cast<bool>(condition), 0))
#define TORCH_WARN(...) ::c10::detail::warn(::c10::detail::text(__VA_ARGS__))
#define TORCH_WARN_ONCE(...) \
  do { [[maybe_unused]] static const bool pellucid_warned = (TORCH_WARN(__VA_ARGS__), true); } while (false)
#define PELLUCID_COMPARE(a, sign, b) \
  TORCH_CHECK((a)sign(b), "Check failed: " #a " " #sign " " #b " (", (a), " vs. ", (b), "). ")
#define TORCH_CHECK_EQ(a, b) PELLUCID_COMPARE(a, ==, b)
#define TORCH_CHECK_NE(a, b) PELLUCID_COMPARE(a, !=, b)
#define TORCH_CHECK_LT(a, b) PELLUCID_COMPARE(a, <, b)
#define TORCH_CHECK_LE(a, b) PELLUCID_COMPARE(a, <=, b)
#define TORCH_CHECK_GT(a, b) PELLUCID_COMPARE(a, >, b)
#define TORCH_CHECK_GE(a, b) PELLUCID_COMPARE(a, >=, b)
#define AT_ASSERT(condition) TORCH_CHECK(condition)
#define AT_ASSERTM(condition, ...) TORCH_CHECK(condition, __VA_ARGS__)
#define AT_ERROR(...) throw ::c10::Error(::c10::detail::text(__VA_ARGS__))

template <class T>
class ArrayRef {
 public:
  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
  constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  ArrayRef(const std::vector<T>& list) : data_(list.data()), size_(list.size()) {}
  template <size_t N>
  constexpr ArrayRef(const std::array<T, N>& list) : data_(list.data()), size_(N) {}
  constexpr ArrayRef(const std::initializer_list<T>& list) : data_(list.begin()), size_(list.size()) {}

  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  const T& operator[](size_t k) const { return data_[k]; }
  const T& front() const { return data_[0]; }
  const T& back() const { return data_[size_ - 1]; }
  const T& at(size_t k) const {
    if (k >= size_) throw IndexError("ArrayRef: the index " + std::to_string(k) + " is out of range");
    return data_[k];
  }
  ArrayRef slice(size_t first, size_t count) const { return {data_ + first, count}; }
  ArrayRef slice(size_t first) const { return {data_ + first, size_ - first}; }
  std::vector<T> vec() const { return {begin(), end()}; }
  bool equals(ArrayRef other) const {
    if (size_ != other.size_) return false;
    for (size_t k = 0; k < size_; ++k)
      if (data_[k] != other.data_[k]) return false;
    return true;
  }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};
using IntArrayRef = ArrayRef<int64_t>;
using IntList = IntArrayRef;
inline bool operator==(IntArrayRef a, IntArrayRef b) { return a.equals(b); }
inline bool operator!=(IntArrayRef a, IntArrayRef b) { return !a.equals(b); }
inline std::ostream& operator<<(std::ostream& out, IntArrayRef list) {
  out << '[';
  for (size_t k = 0; k < list.size(); ++k) out << (k ? ", " : "") << list[k];
  return out << ']';
}

// for (const auto k : c10::irange(n))
template <class Integer>
class integer_range {
 public:
  struct iterator {
    Integer at;
    Integer operator*() const { return at; }
    iterator& operator++() {
      ++at;
      return *this;
    }
    bool operator!=(const iterator& other) const { return at != other.at; }
  };
  integer_range(Integer first, Integer last) : first_(first), last_(last < first ? first : last) {}
  iterator begin() const { return {first_}; }
  iterator end() const { return {last_}; }

 private:
  Integer first_, last_;
};
template <class Integer>
integer_range<Integer> irange(Integer end) {
  return {Integer{0}, end};
}
template <class First, class Integer>
integer_range<Integer> irange(First begin, Integer end) {
  return {static_cast<Integer>(begin), end};
}

// A list or nothing; a number is a list of one.
template <class T>
class OptionalArrayRef {
 public:
  OptionalArrayRef() = default;
  OptionalArrayRef(nullopt_t) {}
  OptionalArrayRef(const T& one) : list_(ArrayRef<T>(one)) {}
  OptionalArrayRef(ArrayRef<T> list) : list_(list) {}
  OptionalArrayRef(const std::vector<T>& list) : list_(list) {}
  OptionalArrayRef(const std::initializer_list<T>& list) : list_(list) {}
  OptionalArrayRef(const optional<ArrayRef<T>>& list) : list_(list) {}
  OptionalArrayRef(const optional<std::vector<T>>& list) {
    if (list) list_ = ArrayRef<T>(*list);
  }
  bool has_value() const { return list_.has_value(); }
  explicit operator bool() const { return has_value(); }
  const ArrayRef<T>& value() const { return *list_; }
  const ArrayRef<T>& operator*() const { return *list_; }

 private:
  optional<ArrayRef<T>> list_;
};
using OptionalIntArrayRef = OptionalArrayRef<int64_t>;
using OptionalSymIntArrayRef = OptionalIntArrayRef;

// A number of any dtype.
class Scalar {
 public:
  Scalar() : Scalar(int64_t{0}) {}
  Scalar(double number) : kind_(Kind::Float), parts_{number, 0} {}
  Scalar(float number) : Scalar(static_cast<double>(number)) {}
  Scalar(Half number) : Scalar(static_cast<float>(number)) {}
  Scalar(BFloat16 number) : Scalar(static_cast<float>(number)) {}
  template <class T>
  Scalar(const complex<T>& number) : kind_(Kind::Complex), parts_{number.real(), number.imag()} {}
  template <class Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
  Scalar(Integer number) : kind_(std::is_same_v<Integer, bool> ? Kind::Bool : Kind::Int), integer_(number) {}

  bool isFloatingPoint() const { return kind_ == Kind::Float; }
  bool isComplex() const { return kind_ == Kind::Complex; }
  bool isIntegral(bool with_bool) const { return kind_ == Kind::Int || (with_bool && kind_ == Kind::Bool); }
  bool isBoolean() const { return kind_ == Kind::Bool; }
  template <class T>
  T to() const {
    if constexpr (is_complex<T>::value) {
      using Part = typename T::value_type;
      return kind_ == Kind::Complex ? T(static_cast<Part>(parts_[0]), static_cast<Part>(parts_[1])) : T(to<Part>());
    } else {
      if (isIntegral(true)) return static_cast<T>(integer_);
      if (kind_ == Kind::Complex && parts_[1] != 0)
        throw Error("value cannot be converted to a real type without overflow");
      return static_cast<T>(parts_[0]);
    }
  }
  double toDouble() const { return to<double>(); }
  float toFloat() const { return to<float>(); }
  int64_t toLong() const { return to<int64_t>(); }
  int toInt() const { return to<int>(); }
  bool toBool() const { return to<bool>(); }
  complex<double> toComplexDouble() const { return to<complex<double>>(); }
  const double* parts() const { return parts_; }
  Scalar operator-() const {
    if (kind_ == Kind::Complex) return -toComplexDouble();
    return kind_ == Kind::Float ? Scalar(-parts_[0]) : Scalar(-integer_);
  }

 private:
  enum class Kind : uint8_t { Int, Float, Bool, Complex } kind_;
  union {
    int64_t integer_;
    double parts_[2];
  };
};

// A size; always a number here.
class SymInt {
 public:
  SymInt(int64_t value = 0) : value_(value) {}
  operator int64_t() const { return value_; }
  int64_t expect_int() const { return value_; }
  int64_t guard_int(const char*, int64_t) const { return value_; }
  std::optional<int64_t> maybe_as_int() const { return value_; }

 private:
  int64_t value_;
};
using SymIntArrayRef = ArrayRef<int64_t>;

enum class DeviceType : int8_t { CPU = 0, CUDA = 1, XPU = 12, MPS = 13, Meta = 14, PrivateUse1 = 20 };
using DeviceIndex = int8_t;
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kMeta = DeviceType::Meta,
                     kPrivateUse1 = DeviceType::PrivateUse1;

inline std::ostream& operator<<(std::ostream& out, DeviceType type) {
  switch (type) {
    case DeviceType::CPU: return out << "cpu";
    case DeviceType::CUDA: return out << "cuda";
    case DeviceType::XPU: return out << "xpu";
    case DeviceType::MPS: return out << "mps";
    case DeviceType::Meta: return out << "meta";
    case DeviceType::PrivateUse1: break;
  }
  return out << "privateuseone";
}

struct Device {
  Device(const std::string& name);  // "cuda:1"
  Device(const char* name) : Device(std::string(name)) {}
  Device(DeviceType type, int index = -1) : type_(type), index_(static_cast<int8_t>(index)) {}
  DeviceType type() const { return type_; }
  int index() const { return index_; }
  bool has_index() const { return index_ >= 0; }
  bool is_cpu() const { return type_ == DeviceType::CPU; }
  bool is_cuda() const { return type_ == DeviceType::CUDA; }
  bool operator==(const Device& other) const { return type_ == other.type_ && index_ == other.index_; }
  bool operator!=(const Device& other) const { return !(*this == other); }

 private:
  DeviceType type_;
  int8_t index_;
};
inline std::ostream& operator<<(std::ostream& out, const Device& device) {
  out << device.type();
  return device.has_index() ? out << ':' << device.index() : out;
}

enum class Layout : int8_t { Strided, Sparse };
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
constexpr Layout kStrided = Layout::Strided, kSparse = Layout::Sparse;

// Where a new tensor is and what it holds.
class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType dtype) : dtype_(dtype) {}
  TensorOptions(TypeMeta dtype) : dtype_(dtype.type) {}
  TensorOptions(Device device) : device_(device) {}
  TensorOptions(DeviceType type) : device_(Device(type)) {}
  TensorOptions(Layout layout) : layout_(layout) {}
  TensorOptions dtype(ScalarType dtype) const { return changed(&TensorOptions::dtype_, optional<ScalarType>(dtype)); }
  TensorOptions device(Device device) const { return changed(&TensorOptions::device_, optional<Device>(device)); }
  TensorOptions device(DeviceType type, int index = -1) const { return device(Device(type, index)); }
  TensorOptions layout(Layout layout) const { return changed(&TensorOptions::layout_, optional<Layout>(layout)); }
  TensorOptions requires_grad(bool value) const { return changed(&TensorOptions::requires_grad_, value); }
  TensorOptions pinned_memory(bool value = true) const {
    return changed(&TensorOptions::pinned_, optional<bool>(value));
  }
  bool requires_grad() const { return requires_grad_; }
  ScalarType dtype() const { return dtype_.value_or(ScalarType::Float); }
  Device device() const { return device_.value_or(Device(kCPU)); }
  Layout layout() const { return layout_.value_or(kStrided); }
  optional<bool> pinned_memory_opt() const { return pinned_; }
  optional<ScalarType> dtype_opt() const { return dtype_; }
  optional<Device> device_opt() const { return device_; }
  optional<Layout> layout_opt() const { return layout_; }

 private:
  template <class Field>
  TensorOptions changed(Field TensorOptions::* field, Field value) const {
    TensorOptions made = *this;
    made.*field = value;
    return made;
  }
  optional<ScalarType> dtype_;
  optional<Device> device_;
  optional<Layout> layout_;
  optional<bool> pinned_;
  bool requires_grad_ = false;
};

inline Device::Device(const std::string& name) : type_(DeviceType::CPU), index_(-1) {
  const size_t colon = name.find(':');
  const std::string type = name.substr(0, colon);
  constexpr DeviceType known[] = {DeviceType::CPU, DeviceType::CUDA, DeviceType::XPU,
                                  DeviceType::MPS, DeviceType::Meta, DeviceType::PrivateUse1};
  for (const DeviceType each : known)
    if (detail::text(each) == type) {
      type_ = each;
      if (colon != std::string::npos) index_ = static_cast<int8_t>(std::stoi(name.substr(colon + 1)));
      return;
    }
  throw Error("no device type is named " + type);
}

inline bool isFloatingType(ScalarType dtype) { return is_floating(dtype); }
inline bool isIntegralType(ScalarType dtype, bool with_bool) {
  return dtype == kBool ? with_bool : !is_floating(dtype) && !isComplexType(dtype);
}
inline bool isReducedFloatingType(ScalarType dtype) { return dtype == kHalf || dtype == kBFloat16; }
inline ScalarType toOpMathType(ScalarType dtype) {
  if (dtype == kComplexHalf) return kComplexFloat;
  return isReducedFloatingType(dtype) ? kFloat : dtype;
}
template <class T>
struct CppTypeToScalarType : std::integral_constant<ScalarType, dtype_of<T>> {};

inline TensorOptions requires_grad(bool value = true) { return TensorOptions().requires_grad(value); }
inline TensorOptions layout(Layout given) { return TensorOptions(given); }
inline TensorOptions dtype(ScalarType given) { return TensorOptions(given); }
inline TensorOptions device(Device given) { return TensorOptions(given); }

}  // namespace c10
