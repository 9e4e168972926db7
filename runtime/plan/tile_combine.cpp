#include "plan/tile_combine.h"

#include <cstring>
#include <string>

#include "core/error.h"
#include "kernels/conversion.h"

namespace pellucid::tile {

namespace {

template <class T>
T combined(Combine combine, T a, T b) {
  const bool a_is_nan = a != a;
  switch (combine) {
    case Combine::Sum: return static_cast<T>(a + b);
    case Combine::Prod: return static_cast<T>(a * b);
    case Combine::Max: return a_is_nan || a > b ? a : b;
    case Combine::Min: return a_is_nan || a < b ? a : b;
    case Combine::And: return static_cast<T>(a != T{} && b != T{});
    case Combine::Or: return static_cast<T>(a != T{} || b != T{});
    case Combine::Assign:
    case Combine::ArgMax:
    case Combine::ArgMin: return b;
  }
  return b;
}

template <class T>
void combine_as(Combine combine, char* to, const char* from) {
  T a, b;
  std::memcpy(&a, to, sizeof a);
  std::memcpy(&b, from, sizeof b);
  const T result = combined(combine, a, b);
  std::memcpy(to, &result, sizeof result);
}

void combine_halves(Combine combine, DType dtype, char* to, const char* from) {
  const Run one{{1, 1}, {0, 0}, {0, 0}};
  float a, b;
  convert(DType::Float32, reinterpret_cast<char*>(&a), dtype, to, one);
  convert(DType::Float32, reinterpret_cast<char*>(&b), dtype, from, one);
  const float result = combined(combine, a, b);
  convert(dtype, to, DType::Float32, reinterpret_cast<const char*>(&result), one);
}

template <class T>
bool is_better_as(Combine combine, const char* value, const char* held) {
  T a, b;
  std::memcpy(&a, value, sizeof a);
  std::memcpy(&b, held, sizeof b);
  if (b != b) return false;
  return a != a || (combine == Combine::ArgMax ? a > b : a < b);
}

}  // namespace

void combine_element(Combine combine, DType dtype, char* to, const char* from) {
  if (combine == Combine::Assign) {
    std::memcpy(to, from, item_size(dtype));
    return;
  }
  switch (dtype) {
    case DType::Bool:
    case DType::UInt8: return combine_as<uint8_t>(combine, to, from);
    case DType::Int8: return combine_as<int8_t>(combine, to, from);
    case DType::Int16: return combine_as<int16_t>(combine, to, from);
    case DType::Int32: return combine_as<int32_t>(combine, to, from);
    case DType::Int64: return combine_as<int64_t>(combine, to, from);
    case DType::Float32: return combine_as<float>(combine, to, from);
    case DType::Float64: return combine_as<double>(combine, to, from);
    case DType::Float16:
    case DType::BFloat16: return combine_halves(combine, dtype, to, from);
    case DType::UInt16: return combine_as<uint16_t>(combine, to, from);
    case DType::UInt32: return combine_as<uint32_t>(combine, to, from);
    case DType::UInt64: return combine_as<uint64_t>(combine, to, from);
    default:
      raise(ErrorKind::NotImplemented, "a tile program cannot combine elements of %s",
            std::string(name(dtype)).c_str());
  }
}

bool is_better(Combine combine, DType dtype, const char* value, const char* held) {
  switch (dtype) {
    case DType::Bool:
    case DType::UInt8: return is_better_as<uint8_t>(combine, value, held);
    case DType::Int8: return is_better_as<int8_t>(combine, value, held);
    case DType::Int16: return is_better_as<int16_t>(combine, value, held);
    case DType::Int32: return is_better_as<int32_t>(combine, value, held);
    case DType::Int64: return is_better_as<int64_t>(combine, value, held);
    case DType::Float32: return is_better_as<float>(combine, value, held);
    case DType::Float64: return is_better_as<double>(combine, value, held);
    default: break;
  }
  raise(ErrorKind::NotImplemented, "a tile program cannot order elements of this dtype");
}

}  // namespace pellucid::tile
