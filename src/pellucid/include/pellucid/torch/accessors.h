// The elements of a tensor by their indices: at::TensorAccessor and its packed relatives, which kernels take by value.
#pragma once

#include "pellucid/torch/calls.h"

namespace at {

template <class T>
struct DefaultPtrTraits {
  using PtrType = T*;
};
template <class T>
struct RestrictPtrTraits {
  using PtrType = T* __restrict__;
};

// The elements of a tensor that outlives it.
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
class TensorAccessor {
 public:
  using PtrType = typename Traits<T>::PtrType;
  TensorAccessor(PtrType data, const Index* sizes, const Index* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  Index size(Index dim) const { return sizes_[dim]; }
  Index stride(Index dim) const { return strides_[dim]; }
  ArrayRef<Index> sizes() const { return {sizes_, N}; }
  ArrayRef<Index> strides() const { return {strides_, N}; }
  PtrType data() const { return data_; }
  decltype(auto) operator[](Index k) const {
    if constexpr (N == 1) return static_cast<T&>(data_[k * strides_[0]]);
    else return TensorAccessor<T, N - 1, Traits, Index>(data_ + k * strides_[0], sizes_ + 1, strides_ + 1);
  }

 private:
  PtrType data_;
  const Index *sizes_, *strides_;
};

// The same with sizes of its own and indices of type `Index`, to be passed by value.
template <class T, size_t N, template <class> class Traits, class Index>
class GenericPackedTensorAccessor {
 public:
  using PtrType = typename Traits<T>::PtrType;
  GenericPackedTensorAccessor(PtrType data, IntArrayRef sizes, IntArrayRef strides) : data_(data) {
    for (size_t d = 0; d < N; ++d)
      sizes_[d] = static_cast<Index>(sizes[d]), strides_[d] = static_cast<Index>(strides[d]);
  }
  Index size(Index dim) const { return sizes_[dim]; }
  Index stride(Index dim) const { return strides_[dim]; }
  PtrType data() const { return data_; }
  decltype(auto) operator[](Index k) const { return TensorAccessor<T, N, Traits, Index>(data_, sizes_, strides_)[k]; }

 private:
  PtrType data_;
  Index sizes_[N], strides_[N];
};
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, Traits, int32_t>;
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, Traits, int64_t>;

}  // namespace at
