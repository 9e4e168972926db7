// What a C++ extension's functions take beside tensors: numbers, dtypes, devices, options.
// PyTorch's names, by its namespaces. Read next: tensor.h.
#pragma once

#include "pellucid/torch/lists.h"
#include "pellucid/torch/numbers.h"
#include "pellucid_dtypes.h"  // generated: enum class ScalarType, dtype_of

namespace c10 {

using pellucid::extension::GeneratorHandle;
using pellucid::extension::TensorHandle;

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
using Dtype = ScalarType;
inline ScalarType typeMetaToScalarType(TypeMeta type) { return type.type; }
inline TypeMeta scalarTypeToTypeMeta(ScalarType type) { return type; }

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

enum class DeviceType : int8_t {
  CPU = 0,
  CUDA = 1,
  XPU = 12,
  MPS = 13,
  Meta = 14,
  PrivateUse1 = 20,
  COMPILE_TIME_MAX_DEVICE_TYPES = 22
};
using DeviceIndex = int8_t;
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kMeta = DeviceType::Meta,
                     kPrivateUse1 = DeviceType::PrivateUse1, kXPU = DeviceType::XPU, kMPS = DeviceType::MPS;

inline std::ostream& operator<<(std::ostream& out, DeviceType type) {
  switch (type) {
    case DeviceType::CPU: return out << "cpu";
    case DeviceType::CUDA: return out << "cuda";
    case DeviceType::XPU: return out << "xpu";
    case DeviceType::MPS: return out << "mps";
    case DeviceType::Meta: return out << "meta";
    default: break;
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

inline std::string DeviceTypeName(DeviceType type, bool lower_case = false) {
  if (lower_case) return detail::text(type);
  constexpr const char* names[] = {"CPU", "CUDA", "XPU", "MPS", "META", "PRIVATEUSEONE"};
  constexpr DeviceType types[] = {DeviceType::CPU, DeviceType::CUDA, DeviceType::XPU,
                                  DeviceType::MPS, DeviceType::Meta, DeviceType::PrivateUse1};
  for (size_t k = 0; k < std::size(types); ++k)
    if (types[k] == type) return names[k];
  return "UNKNOWN";
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

struct DeprecatedTypeProperties {
  ScalarType scalar_type;
  Device place;
  ScalarType scalarType() const { return scalar_type; }
  TypeMeta typeMeta() const { return scalar_type; }
  DeviceType device_type() const { return place.type(); }
  bool is_cuda() const { return place.is_cuda(); }
  bool is_cpu() const { return place.is_cpu(); }
  std::string toString() const { return detail::text(*this); }
  operator ScalarType() const { return scalar_type; }
  operator TensorOptions() const { return TensorOptions(scalar_type).device(place); }
  bool operator==(const DeprecatedTypeProperties& other) const {
    return scalar_type == other.scalar_type && device_type() == other.device_type();
  }
  bool operator!=(const DeprecatedTypeProperties& other) const { return !(*this == other); }
  friend std::ostream& operator<<(std::ostream& out, const DeprecatedTypeProperties& type) {
    return out << DeviceTypeName(type.device_type()) << type.scalar_type << "Type";
  }
};

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
