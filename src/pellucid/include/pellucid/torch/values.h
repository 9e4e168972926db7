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
#include "pellucid_dtypes.h"  // generated: enum class ScalarType, item_type

namespace c10 {

using pellucid::extension::TensorHandle;
using std::nullopt;
using std::nullopt_t;
using std::optional;
using std::string_view;

// RuntimeError in Python.
class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace detail {

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

}  // namespace detail

#define TORCH_CHECK(condition, ...)                                                                                 \
  do {                                                                                                              \
    if (!(condition))                                                                                               \
      throw ::c10::Error(::c10::detail::text("" __VA_ARGS__).empty() ? std::string("Expected " #condition           \
                                                                                   " to be true, but got false.") \
                                                                      : ::c10::detail::text("" __VA_ARGS__));       \
  } while (false)
#define TORCH_INTERNAL_ASSERT(condition, ...) TORCH_CHECK(condition, __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(condition, ...) static_cast<void>(0)
#define TORCH_CHECK_EQ(a, b) TORCH_CHECK((a) == (b), #a " == " #b)
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
inline bool operator==(IntArrayRef a, IntArrayRef b) { return a.equals(b); }
inline bool operator!=(IntArrayRef a, IntArrayRef b) { return !a.equals(b); }
inline std::ostream& operator<<(std::ostream& out, IntArrayRef list) {
  out << '[';
  for (size_t k = 0; k < list.size(); ++k) out << (k ? ", " : "") << list[k];
  return out << ']';
}

// A list or nothing; a number is a list of one.
class OptionalIntArrayRef {
 public:
  OptionalIntArrayRef() = default;
  OptionalIntArrayRef(nullopt_t) {}
  OptionalIntArrayRef(const int64_t& one) : list_(IntArrayRef(one)) {}
  OptionalIntArrayRef(IntArrayRef list) : list_(list) {}
  OptionalIntArrayRef(const std::vector<int64_t>& list) : list_(list) {}
  OptionalIntArrayRef(const std::initializer_list<int64_t>& list) : list_(list) {}
  bool has_value() const { return list_.has_value(); }
  const IntArrayRef& value() const { return *list_; }

 private:
  optional<IntArrayRef> list_;
};

// A number of any dtype.
class Scalar {
 public:
  Scalar(double number) : kind_(Kind::Float), number_(number) {}
  Scalar(float number) : Scalar(static_cast<double>(number)) {}
  template <class Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
  Scalar(Integer number) : kind_(std::is_same_v<Integer, bool> ? Kind::Bool : Kind::Int), integer_(number) {}

  bool isFloatingPoint() const { return kind_ == Kind::Float; }
  bool isIntegral(bool with_bool) const { return kind_ == Kind::Int || (with_bool && kind_ == Kind::Bool); }
  bool isBoolean() const { return kind_ == Kind::Bool; }
  template <class T>
  T to() const {
    return kind_ == Kind::Float ? static_cast<T>(number_) : static_cast<T>(integer_);
  }
  double toDouble() const { return to<double>(); }
  int64_t toLong() const { return to<int64_t>(); }
  Scalar operator-() const { return kind_ == Kind::Float ? Scalar(-number_) : Scalar(-integer_); }

 private:
  enum class Kind : uint8_t { Int, Float, Bool } kind_;
  union {
    int64_t integer_;
    double number_;
  };
};

enum class DeviceType : int8_t { CPU = 0, CUDA = 1, XPU = 12, MPS = 13, Meta = 14, PrivateUse1 = 20 };
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kMeta = DeviceType::Meta,
                     kPrivateUse1 = DeviceType::PrivateUse1;

struct Device {
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

enum class Layout : int8_t { Strided, Sparse };
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
constexpr Layout kStrided = Layout::Strided;

// Where a new tensor is and what it holds.
class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType dtype) : dtype_(dtype) {}
  TensorOptions(Device device) : device_(device) {}
  TensorOptions(DeviceType type) : device_(Device(type)) {}
  TensorOptions dtype(ScalarType dtype) const { return changed(&TensorOptions::dtype_, optional<ScalarType>(dtype)); }
  TensorOptions device(Device device) const { return changed(&TensorOptions::device_, optional<Device>(device)); }
  TensorOptions device(DeviceType type, int index = -1) const { return device(Device(type, index)); }
  TensorOptions layout(Layout layout) const { return changed(&TensorOptions::layout_, optional<Layout>(layout)); }
  optional<ScalarType> dtype_opt() const { return dtype_; }
  optional<Device> device_opt() const { return device_; }
  optional<Layout> layout_opt() const { return layout_; }

 private:
  template <class Field>
  TensorOptions changed(Field TensorOptions::*field, Field value) const {
    TensorOptions made = *this;
    made.*field = value;
    return made;
  }
  optional<ScalarType> dtype_;
  optional<Device> device_;
  optional<Layout> layout_;
};

inline TensorOptions dtype(ScalarType given) { return TensorOptions(given); }
inline TensorOptions device(Device given) { return TensorOptions(given); }

}  // namespace c10
