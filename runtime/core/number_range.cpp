#include "core/number_range.h"

#include <cmath>
#include <cstdio>
#include <string>

#include "core/error.h"

namespace pellucid {
namespace {

// Integer dtypes narrower than int64. A negative number wraps in an unsigned dtype if its magnitude fits.
struct IntegerRange {
  int64_t low, high;
  double float_low;
};

constexpr IntegerRange integer_range(DType dtype) {
  const DTypeFacts& facts = facts_of(dtype);
  if (!facts.is_signed) return {-facts.highest, facts.highest, 0};
  return {-facts.highest - 1, facts.highest, -static_cast<double>(facts.highest + 1)};
}

bool fits_integer(const Value& number, DType dtype) {
  const bool is_float = number.tag == Tag::Float;
  if (dtype == DType::UInt64) return !is_float || (number.number >= 0 && number.number < 0x1p64);
  if (dtype == DType::Int64) return !is_float || (number.number >= -0x1p63 && number.number < 0x1p63);
  const IntegerRange range = integer_range(dtype);
  if (is_float) return number.number >= range.float_low && number.number <= static_cast<double>(range.high);
  return number.integer >= range.low && number.integer <= range.high;
}

}  // namespace

bool number_fits(const Value& number, DType dtype) {
  if (dtype == DType::Bool || number.tag == Tag::Complex) return true;
  if (category(dtype) == DTypeCategory::Integral) return fits_integer(number, dtype);
  if (is_opaque(dtype) || dtype == DType::Float8e4m3fn) return true;  // float8e4m3fn saturates
  const double value = number.as_double();
  return !(std::abs(value) > facts_of(dtype).largest) || std::isinf(value);
}

void raise_unfit_number(const char* op, const Value& number, DType dtype) {
  const std::string dtype_name(name(dtype));
  char given[32];
  if (number.tag == Tag::Float) std::snprintf(given, sizeof given, "%g", number.number);
  else std::snprintf(given, sizeof given, "%lld", static_cast<long long>(number.integer));
  raise(ErrorKind::Runtime,
        "%s: the number %s cannot be converted to %s without overflow; give a number in its range "
        "or use a wider dtype",
        op, given, dtype_name.c_str());
}

}  // namespace pellucid
