// Vector types for the routines of this folder: the same width on every machine, and so the same bits.
#pragma once

#include <cstdint>
#include <cstring>

namespace pellucid {

constexpr int kVectorBytes = 32;

template <class T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::Type;
template <class T>
constexpr int64_t kLanes = kVectorBytes / sizeof(T);

template <class T>
Vector<T> read_vector(const T* from) {
  Vector<T> vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}
template <class T>
void write_vector(T* to, const Vector<T>& vector) {
  std::memcpy(to, &vector, sizeof vector);
}

}  // namespace pellucid
