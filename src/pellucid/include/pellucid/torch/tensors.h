// Tensors out of C++: from values and foreign memory, by indices as Python writes them; checks of their facts.
#pragma once

#include <algorithm>
#include <functional>

#include "pellucid/torch/tensor.h"

namespace at {
namespace indexing {

struct EllipsisIndexType {};
constexpr EllipsisIndexType Ellipsis{};
constexpr nullopt_t None = nullopt;

class Slice {
 public:
  Slice(optional<SymInt> start = {}, optional<SymInt> stop = {}, optional<SymInt> step = {})
      : start_(start), stop_(stop), step_(step) {}
  Tensor of(const Tensor& tensor, int64_t dim) const {
    const auto number = [](const optional<SymInt>& value) {
      return value ? optional<int64_t>(static_cast<int64_t>(*value)) : optional<int64_t>();
    };
    return tensor.slice(dim, number(start_), number(stop_), step_ ? static_cast<int64_t>(*step_) : 1);
  }

 private:
  optional<SymInt> start_, stop_, step_;
};

class TensorIndex {
 public:
  enum class Kind { None, Ellipsis, Integer, Boolean, Slice, Tensor };
  TensorIndex(nullopt_t) : kind(Kind::None) {}
  TensorIndex(EllipsisIndexType) : kind(Kind::Ellipsis) {}
  TensorIndex(const char*) : kind(Kind::Ellipsis) {}  // "..."
  template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  TensorIndex(T value) : kind(std::is_same_v<T, bool> ? Kind::Boolean : Kind::Integer), integer(value) {}
  TensorIndex(indexing::Slice given) : kind(Kind::Slice), slice(given) {}
  TensorIndex(at::Tensor given) : kind(Kind::Tensor), tensor(std::move(given)) {}

  Kind kind;
  int64_t integer = 0;
  indexing::Slice slice;
  at::Tensor tensor;
};

}  // namespace indexing

namespace detail {

// A view by what views can express, and the tensors that index its dimensions.
struct Indexed {
  Tensor view;
  std::vector<Tensor> places;
  bool has_places() const {
    for (const Tensor& place : places)
      if (place.defined()) return true;
    return false;
  }
};

inline Indexed indexed(const Tensor& tensor, ArrayRef<indexing::TensorIndex> given) {
  using Kind = indexing::TensorIndex::Kind;
  int64_t taken = 0;
  for (const auto& each : given)
    if (each.kind == Kind::Integer || each.kind == Kind::Slice) ++taken;
    else if (each.kind == Kind::Tensor) taken += each.tensor.scalar_type() == kBool ? each.tensor.dim() : 1;
  TORCH_CHECK_INDEX(taken <= tensor.dim(), "index: more indices than the dims of the tensor, ", tensor.dim());
  Indexed found{tensor, {}};
  int64_t dim = 0;
  const auto place = [&](const Tensor& index) {
    found.places.resize(static_cast<size_t>(dim));
    found.places.push_back(index);
  };
  for (const auto& each : given) switch (each.kind) {
      case Kind::None: found.view = found.view.unsqueeze(dim++); break;
      case Kind::Ellipsis: dim += tensor.dim() - taken; break;
      case Kind::Integer: found.view = found.view.select(dim, each.integer); break;
      case Kind::Slice: found.view = each.slice.of(found.view, dim++); break;
      case Kind::Boolean:
        found.view = found.view.unsqueeze(dim);
        place(full({1}, each.integer != 0, TensorOptions(kBool)));
        ++dim;
        break;
      case Kind::Tensor:
        place(each.tensor);
        dim += each.tensor.scalar_type() == kBool ? each.tensor.dim() : 1;
        break;
    }
  return found;
}

}  // namespace detail

inline Tensor Tensor::index(ArrayRef<indexing::TensorIndex> given) const {
  const detail::Indexed found = detail::indexed(*this, given);
  return found.has_places() ? found.view.index(TensorList(found.places)) : found.view;
}
inline Tensor Tensor::index(std::initializer_list<indexing::TensorIndex> given) const {
  return index(ArrayRef<indexing::TensorIndex>(given.begin(), given.size()));
}
inline Tensor Tensor::index_put_(ArrayRef<indexing::TensorIndex> given, const Tensor& values) const {
  const detail::Indexed found = detail::indexed(*this, given);
  if (found.has_places()) found.view.index_put_(TensorList(found.places), values.to(scalar_type()));
  else found.view.copy_(values);
  return *this;
}
inline Tensor Tensor::index_put_(ArrayRef<indexing::TensorIndex> given, const Scalar& value) const {
  return index_put_(given, full({}, value, options()));
}
inline Tensor Tensor::index_put_(std::initializer_list<indexing::TensorIndex> given, const Tensor& values) const {
  return index_put_(ArrayRef<indexing::TensorIndex>(given.begin(), given.size()), values);
}
inline Tensor Tensor::index_put_(std::initializer_list<indexing::TensorIndex> given, const Scalar& value) const {
  return index_put_(ArrayRef<indexing::TensorIndex>(given.begin(), given.size()), value);
}

// ---------------------------------------------------------------------------------------------- values

namespace detail {

// A number, or nested lists of numbers of one shape.
class Numbers {
 public:
  template <class T, std::enable_if_t<std::is_arithmetic_v<T> || c10::is_complex<T>::value, int> = 0>
  Numbers(T number) : type(dtype_of<T>), values{Scalar(number)} {
    if (std::is_floating_point_v<T>) type = kFloat;
    else if (std::is_integral_v<T> && !std::is_same_v<T, bool>) type = kLong;
  }
  Numbers(Half number) : type(kHalf), values{Scalar(number)} {}
  Numbers(BFloat16 number) : type(kBFloat16), values{Scalar(number)} {}
  Numbers(std::initializer_list<Numbers> list) : sizes{static_cast<int64_t>(list.size())} {
    for (const Numbers& each : list) add(each, &each == list.begin());
  }
  template <class T>
  Numbers(ArrayRef<T> list) : sizes{static_cast<int64_t>(list.size())}, type(dtype_of<T>) {
    for (const T& each : list) values.push_back(Scalar(each));
  }
  template <class T>
  Numbers(const std::vector<T>& list) : sizes{static_cast<int64_t>(list.size())}, type(dtype_of<T>) {
    for (const auto each : list) values.push_back(Scalar(static_cast<T>(each)));
  }

  std::vector<int64_t> sizes;
  ScalarType type = kFloat;
  std::vector<Scalar> values;

 private:
  void add(const Numbers& each, bool first) {
    if (first) {
      type = each.type;
      sizes.insert(sizes.end(), each.sizes.begin(), each.sizes.end());
    }
    TORCH_CHECK(std::equal(each.sizes.begin(), each.sizes.end(), sizes.begin() + 1, sizes.end()),
                "tensor: lists of the sizes ", IntArrayRef(sizes).slice(1), " and ", IntArrayRef(each.sizes));
    TORCH_CHECK(each.type == type, "tensor: elements of the types ", type, " and ", each.type);
    values.insert(values.end(), each.values.begin(), each.values.end());
  }
};

template <class T>
Tensor filled(const Numbers& numbers, ScalarType type) {
  const Tensor made = empty(numbers.sizes, TensorOptions(type));
  T* to = made.data_ptr<T>();
  for (const Scalar& value : numbers.values) *to++ = value.to<T>();
  return made;
}

}  // namespace detail

// torch::tensor({{1, 2}, {3, 4}}, options).
inline Tensor tensor(const detail::Numbers& numbers, const TensorOptions& options = {}) {
  Tensor made;
  if (isComplexType(numbers.type)) made = detail::filled<c10::complex<double>>(numbers, kComplexDouble);
  else if (is_floating(numbers.type)) made = detail::filled<double>(numbers, kDouble);
  else made = detail::filled<int64_t>(numbers, kLong);
  return detail::with_options(made.to(TensorOptions(options).dtype(options.dtype_opt().value_or(numbers.type))),
                              options);
}
inline Tensor tensor(std::initializer_list<detail::Numbers> list, const TensorOptions& options = {}) {
  return tensor(detail::Numbers(list), options);
}
inline Tensor scalar_tensor(const Scalar& value) { return full({}, value, TensorOptions(kDouble)); }

// A tensor over memory of the caller, who frees it in `deleter` or after the tensor's end.
inline Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const std::function<void(void*)>& deleter,
                        const TensorOptions& options = {}) {
  TORCH_CHECK(options.device().is_cpu(), "from_blob: the memory of ", options.device(), " is not the CPU's");
  TORCH_CHECK(strides.empty() || strides.size() == sizes.size(), "from_blob: ", sizes.size(), " sizes and ",
              strides.size(), " strides");
  struct Memory {
    std::function<void(void*)> deleter;
    void* data;
  };
  const auto free = [](void* given) {
    const std::unique_ptr<Memory> memory(static_cast<Memory*>(given));
    if (memory->deleter) memory->deleter(memory->data);
  };
  TensorHandle* made = nullptr;
  const c10::detail::Lock lock;
  if (detail::table().from_blob(data, sizes.data(), strides.empty() ? nullptr : strides.data(), sizes.size(),
                                static_cast<int32_t>(options.dtype()), free, new Memory{deleter, data}, &made))
    throw pellucid::extension::Error(detail::table().last_error());
  return detail::with_options(Tensor::adopt(made), options);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, const std::function<void(void*)>& deleter,
                        const TensorOptions& options = {}) {
  return from_blob(data, sizes, IntArrayRef(), deleter, options);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {}) {
  return from_blob(data, sizes, strides, nullptr, options);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {}) {
  return from_blob(data, sizes, IntArrayRef(), nullptr, options);
}

// ------------------------------------------------------------------------------------- facts compared

namespace Reduction {
enum Reduction { None, Mean, Sum, END };
}
template <class T>
bool _isnan(T value) {
  return value != value;
}
// The index of a dimension that may be counted from the end.
inline int64_t maybe_wrap_dim(int64_t dim, int64_t dims) {
  TORCH_CHECK_INDEX(dim >= -dims && dim < dims, "Dimension out of range: ", dim, " of a tensor with ", dims);
  return dim < 0 ? dim + dims : dim;
}
// The sizes that two operands broadcast to.
inline std::vector<int64_t> infer_size(IntArrayRef a, IntArrayRef b) {
  std::vector<int64_t> sizes(std::max(a.size(), b.size()));
  for (size_t k = 1; k <= sizes.size(); ++k) {
    const int64_t left = k <= a.size() ? a[a.size() - k] : 1, right = k <= b.size() ? b[b.size() - k] : 1;
    TORCH_CHECK(left == right || left == 1 || right == 1, "the sizes ", a, " and ", b, " do not broadcast: ", left,
                " and ", right, " differ");
    sizes[sizes.size() - k] = left == 1 ? right : left;
  }
  return sizes;
}

using CheckedFrom = const char*;
// An argument, its name and place, for messages.
struct TensorArg {
  TensorArg(const Tensor& tensor, const char* name, int place) : tensor(tensor), name(name), pos(place) {}
  const Tensor* operator->() const { return &tensor; }
  const Tensor& operator*() const { return tensor; }
  const Tensor& tensor;
  const char* name;
  int pos;
};
inline std::ostream& operator<<(std::ostream& out, const TensorArg& given) {
  return out << "argument #" << given.pos << " '" << given.name << "'";
}
inline void checkSameType(CheckedFrom function, const TensorArg& a, const TensorArg& b) {
  TORCH_CHECK(a->scalar_type() == b->scalar_type(), function, ": ", a, " and ", b, " have the types ", a->scalar_type(),
              " and ", b->scalar_type());
}
inline void checkAllSameType(CheckedFrom function, ArrayRef<TensorArg> given) {
  for (size_t k = 1; k < given.size(); ++k) checkSameType(function, given[0], given[k]);
}
inline void checkSameSize(CheckedFrom function, const TensorArg& a, const TensorArg& b) {
  TORCH_CHECK(a->sizes() == b->sizes(), function, ": ", a, " and ", b, " have the sizes ", a->sizes(), " and ",
              b->sizes());
}
inline void checkDim(CheckedFrom function, const TensorArg& given, int64_t dims) {
  TORCH_CHECK(given->dim() == dims, function, ": ", given, " has ", given->dim(), " dims, not ", dims);
}

}  // namespace at
