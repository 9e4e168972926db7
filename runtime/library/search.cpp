// Binary search in sorted rows, eight values at a time.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/thread_pool.h"
#include "library/sort.h"
#include "plan/library.h"

namespace pellucid {
namespace {

constexpr int64_t kTogether = 8;

// Whether a row's element precedes the insertion point of `value`; NaN comes after every number.
template <class T, bool after_equals>
bool is_before(T element, T value) {
  const bool ordered = after_equals ? element <= value : element < value;
  if constexpr (std::is_floating_point_v<T>) return ordered || std::isnan(value);
  else return ordered;
}

// The steps depend only on the row's length, so that eight searches run at a time without branches.
template <class T, bool after_equals, int64_t together>
void search(const T* row, int64_t length, const T* values, int64_t* places) {
  int64_t low[together] = {};
  for (; length > 1; length -= length / 2)
    for (int64_t k = 0; k < together; ++k)
      low[k] += is_before<T, after_equals>(row[low[k] + length / 2 - 1], values[k]) ? length / 2 : 0;
  for (int64_t k = 0; k < together; ++k)
    places[k] = length ? low[k] + is_before<T, after_equals>(row[low[k]], values[k]) : 0;
}

template <class T, bool after_equals>
void search_row(const T* row, int64_t length, const T* values, int64_t* places, int64_t count) {
  int64_t k = 0;
  for (; k + kTogether <= count; k += kTogether)
    search<T, after_equals, kTogether>(row, length, values + k, places + k);
  for (; k + kTogether / 2 <= count; k += kTogether / 2)
    search<T, after_equals, kTogether / 2>(row, length, values + k, places + k);
  for (; k < count; ++k) search<T, after_equals, 1>(row, length, values + k, places + k);
}

// The row in which a row of values is searched; dims of size 1 and missing dims broadcast.
int64_t row_of(const TensorImpl& rows, const TensorImpl& values, int64_t place) {
  int64_t found = 0, step = 1;
  for (int dim = rows.ndim - 2, of_values = values.ndim - 2; dim >= 0; --dim, --of_values) {
    const int64_t size = values.sizes[of_values];
    if (rows.sizes[dim] != 1) found += place % size * step;
    step *= rows.sizes[dim];
    place /= size;
  }
  return found;
}

template <class T>
void search_rows(LibraryCall& call) {
  TensorImpl &rows = *call.inputs[0], &values = *call.inputs[1], &places = *call.outputs[0];
  if (!places.numel) return;
  const T *row = rows.host_as<T>(), *value = values.host_as<T>();
  int64_t* place = places.host_as<int64_t>();
  const Constant* right = call.option("right");
  const auto find = right && right->value.integer ? search_row<T, true> : search_row<T, false>;
  const int64_t length = rows.sizes[rows.ndim - 1], width = values.ndim ? values.sizes[values.ndim - 1] : 1;
  const int64_t step = std::min(width, kParallelGrain / 16), cuts = (width + step - 1) / step;
  parallel_blocks(places.numel / width * cuts, [&](int64_t block) {
    const int64_t at = block / cuts, begin = block % cuts * step, first = at * width + begin;
    find(row + row_of(rows, values, at) * length, length, value + first, place + first, std::min(step, width - begin));
  });
}

void searchsorted(LibraryCall& call) {
  switch (call.inputs[0]->dtype) {
    case DType::UInt8: return search_rows<uint8_t>(call);
    case DType::Int8: return search_rows<int8_t>(call);
    case DType::Int16: return search_rows<int16_t>(call);
    case DType::Int32: return search_rows<int32_t>(call);
    case DType::Int64: return search_rows<int64_t>(call);
    case DType::Float32: return search_rows<float>(call);
    case DType::Float64: return search_rows<double>(call);
    default: return library_fallback(call);
  }
}

}  // namespace

void register_search() { register_library_routine("searchsorted", searchsorted); }

}  // namespace pellucid
