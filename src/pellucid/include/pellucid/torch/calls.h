// Calls of ops from C++: arguments of any type that schemas have, packed for the table, and results taken apart.
#pragma once

#include <tuple>

#include "pellucid/torch/values.h"

namespace at {

using namespace c10;
class Tensor;
class Generator;
using TensorList = ArrayRef<Tensor>;

namespace detail {

using pellucid::extension::Argument;
using pellucid::extension::Result;

// The table, found when it is first needed.
inline const pellucid::extension::Table& table() {
  if (!pellucid::extension::table() && !pellucid::extension::connect()) throw Error("pellucid is not there");
  return *pellucid::extension::table();
}

inline Argument argument(Argument::Kind kind, int64_t integer = 0) {
  Argument made{kind, 0, {}};
  made.integer = integer;
  return made;
}
inline Argument pack(int64_t value) { return argument(Argument::Int, value); }
inline Argument pack(bool value) { return argument(Argument::Bool, value); }
inline Argument pack(ScalarType value) { return argument(Argument::DType, static_cast<int64_t>(value)); }
inline Argument pack(Layout value) { return argument(Argument::Layout, static_cast<int64_t>(value)); }
inline Argument pack(MemoryFormat value) { return argument(Argument::MemoryFormat, static_cast<int64_t>(value)); }
inline Argument pack(const Device& value) {
  return argument(Argument::Device, static_cast<int64_t>(value.type()) << 8 | static_cast<uint8_t>(value.index()));
}
inline Argument pack(double value) {
  Argument made = argument(Argument::Float);
  made.number = value;
  return made;
}
inline Argument pack(const Scalar& value) {
  if (value.isComplex()) {
    Argument made = argument(Argument::Complex);
    made.numbers = value.parts();
    return made;
  }
  if (value.isFloatingPoint()) return pack(value.toDouble());
  return argument(value.isBoolean() ? Argument::Bool : Argument::Int, value.toLong());
}
inline Argument pack(IntArrayRef list) {
  Argument made{Argument::IntList, static_cast<uint32_t>(list.size()), {}};
  made.integers = list.data();
  return made;
}
inline Argument pack(ArrayRef<double> list) {
  Argument made{Argument::FloatList, static_cast<uint32_t>(list.size()), {}};
  made.numbers = list.data();
  return made;
}
template <class T>
Argument pack(const OptionalArrayRef<T>& list) {
  return list.has_value() ? pack(list.value()) : argument(Argument::None);
}
inline Argument pack(string_view text) {
  Argument made{Argument::String, static_cast<uint32_t>(text.size()), {}};
  made.string = text.data();
  return made;
}
Argument pack(const Generator& generator);
Argument pack(const Tensor& tensor);
Argument pack(TensorList list);
Argument pack_optional(TensorList list);
template <class T>
Argument pack(const optional<T>& value) {
  return value ? pack(*value) : argument(Argument::None);
}
inline Argument omitted() { return argument(Argument::Default); }

// All results of a call; those that are not taken are released.
struct Results {
  Result list[8];
  size_t count = 0;
  ~Results();
  Tensor tensor(size_t k);
  std::vector<Tensor> tensors(size_t k);
};

inline void run(Results& results, const char* op, const Argument* arguments, size_t count) {
  const c10::detail::Lock lock;
  if (table().call(op, arguments, count, results.list, 8, &results.count))
    throw pellucid::extension::Error(table().last_error());
}

template <class Return>
struct Taken;

template <class Return, class... Arguments>
Return call(const char* op, const Arguments&... arguments) {
  const Argument given[] = {arguments..., omitted()};
  Results results;
  run(results, op, given, sizeof...(Arguments));
  return Taken<Return>::take(results);
}

}  // namespace detail
}  // namespace at
