#include "autograd/strided_ops.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "autograd/gradient_ops.h"
#include "core/backend.h"
#include "core/dispatcher.h"
#include "core/error.h"
#include "core/geometry.h"
#include "core/named_ops.h"

namespace pellucid {
namespace {

Tensor base_tensor(const OpCall& call, DType dtype, Device device) {
  return empty_strided(call.args[4].ints(), call.args[5].ints(), dtype, device);
}
Tensor view_in(TensorImpl& base, const OpCall& call) {
  return make_view(base, call.args[1].ints(), call.args[2].ints(), call.args[3].integer - call.args[6].integer, true);
}

// Sums over the dimensions that repeat one element of the base; dimensions of a tensor without elements repeat none.
Tensor without_broadcast_dims(TensorImpl& grad, const OpCall& call) {
  int64_t sizes[kMaxDims];
  const auto strides = call.args[2].ints();
  for (size_t dim = 0; dim < strides.size(); ++dim) {
    const bool is_broadcast = strides[dim] == 0 && grad.sizes[dim] > 1;
    sizes[dim] = is_broadcast ? 1 : grad.sizes[dim];
  }
  return fit_gradient(Tensor::share(&grad), {sizes, grad.ndim, grad.dtype, grad.device}, nullptr, 0);
}

// The dimensions to fix so that no two elements of the rest share an address.
std::vector<size_t> meeting_dims(Sizes sizes, Sizes strides) {
  std::vector<size_t> order(sizes.size()), meeting;
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return strides[a] != strides[b] ? strides[a] < strides[b] : sizes[a] > sizes[b];
  });
  int64_t reach = 0;
  for (size_t dim : order) {
    if (sizes[dim] <= 1) continue;
    if (strides[dim] > reach) reach += (sizes[dim] - 1) * strides[dim];
    else meeting.push_back(dim);
  }
  return meeting;
}

Tensor at(TensorImpl& tensor, size_t dim, int64_t index) {
  std::vector<int64_t> sizes(tensor.shape().begin(), tensor.shape().end());
  sizes[dim] = 1;
  return make_view(tensor, sizes, tensor.stride(), tensor.offset + index * tensor.strides[dim], true);
}

// Adds in a fixed order: elements of `sum` may alias along `meeting`.
void add_each(TensorImpl& sum, TensorImpl& summand, std::span<const size_t> meeting) {
  if (meeting.empty()) return add_into(sum, summand);
  const size_t dim = meeting.front();
  for (int64_t index = 0; index < sum.sizes[dim]; ++index)
    add_each(*at(sum, dim, index), *at(summand, dim, index), meeting.subspan(1));
}

// The bytes of a storage, copied to the CPU if it is on a device.
class HostBytes {
 public:
  explicit HostBytes(Storage& storage) : storage_(storage), copy_(storage.host ? 0 : storage.nbytes) {
    if (!storage.host) read_storage(storage, copy_.data(), copy_.size());
  }
  char* data() { return storage_.host ? static_cast<char*>(storage_.host) : copy_.data(); }
  void write_back() {
    if (!storage_.host) write_storage(storage_, copy_.data(), copy_.size());
  }

 private:
  Storage& storage_;
  std::vector<char> copy_;
};

// Copies between a base whose elements share addresses and a row-major tensor; each address corresponds to its
// first element.
void copy_first_elements(TensorImpl& base, TensorImpl& elements, bool into_base) {
  if (base.device.type == DeviceType::Meta) return;
  const size_t item = item_size(base.dtype);
  HostBytes of_base(*base.storage), of_elements(*elements.storage);
  char* const places = of_base.data();
  std::vector<bool> taken(base.storage->nbytes / item);
  for (int64_t number = 0; number < base.numel; ++number) {
    int64_t index = base.offset, rest = number;
    for (size_t dim = base.shape().size(); dim--; rest /= base.sizes[dim])
      index += rest % base.sizes[dim] * base.strides[dim];
    const size_t place = static_cast<size_t>(index);
    if (taken[place]) continue;
    taken[place] = true;
    char *const shared = places + place * item, *const own = of_elements.data() + static_cast<size_t>(number) * item;
    std::memcpy(into_base ? shared : own, into_base ? own : shared, item);
  }
  (into_base ? of_base : of_elements).write_back();
}

bool shares_places(TensorImpl& base) { return !meeting_dims(base.shape(), base.stride()).empty(); }

}  // namespace

namespace intrinsics {

void as_strided_geometry(OpCall& call, void*) {
  TensorImpl& base = *call.args[0].tensor;
  const auto sizes = call.args[1].ints(), strides = call.args[2].ints();
  if (sizes.size() != strides.size())
    raise(ErrorKind::Runtime, "as_strided: size has %zu entries and stride has %zu; they must be equal", sizes.size(),
          strides.size());
  for (int64_t size : sizes)
    if (size < 0) raise(ErrorKind::Runtime, "as_strided: the size %lld is negative", static_cast<long long>(size));
  check_in_storage(sizes, strides, call.args[3].integer, item_size(base.dtype), base.storage->nbytes);
  call.rets[0] = Value::of(make_view(base, sizes, strides, call.args[3].integer).leak());
}

void as_strided_backward(OpCall& call, void*) {
  TensorImpl& given = *call.args[0].tensor;
  Tensor result = base_tensor(call, given.dtype, given.device);
  clear_storage(*result->storage);
  Tensor grad = without_broadcast_dims(given, call);
  const int64_t offset = call.args[3].integer - call.args[6].integer;
  Tensor inside = make_view(*result, grad->shape(), call.args[2].ints(), offset, true);
  const std::vector<size_t> meeting = meeting_dims(inside->shape(), inside->stride());
  if (meeting.empty()) copy_into(*inside, *grad);
  else add_each(*inside, *grad, meeting);
  if (shares_places(*result)) {  // the first element at an address receives the sum, the others zeros
    Tensor elements = empty(result->shape(), result->dtype, result->device);
    clear_storage(*elements->storage);
    copy_first_elements(*result, *elements, false);
    result = std::move(elements);
  }
  call.rets[0] = Value::of(result.leak());
}

void as_strided_gather(OpCall& call, void*) {
  TensorImpl& given = *call.args[0].tensor;
  Tensor base = base_tensor(call, given.dtype, given.device);
  if (shares_places(*base)) {
    Tensor elements = empty(given.shape(), given.dtype, given.device);
    copy_into(*elements, given);
    copy_first_elements(*base, *elements, true);
  } else {
    copy_into(*base, given);
  }
  call.rets[0] = Value::of(clone(*view_in(*base, call)).leak());
}

void as_strided(OpCall& call, void*) {
  TensorImpl& self = *call.args[0].tensor;
  const Value offset = call.args[3].is_none() ? Value::of_int(self.offset) : call.args[3];
  Value args[] = {call.args[0],
                  call.args[1],
                  call.args[2],
                  offset,
                  Value::of(self.shape()),
                  Value::of(self.stride()),
                  Value::of_int(self.offset)};
  OpCall inner{&named_op(NamedOp::AsStridedGeometry), args, call.rets, 7, {}};
  dispatch(inner);
}

}  // namespace intrinsics

StridedCall::StridedCall(TensorImpl& base, TensorImpl& view) {
  const Value given[] = {Value::of(&base),           Value::of(view.shape()), Value::of(view.stride()),
                         Value::of_int(view.offset), Value::of(base.shape()), Value::of(base.stride()),
                         Value::of_int(base.offset)};
  std::copy(std::begin(given), std::end(given), args);
  rets[0] = Value::of(&view);
  call = {&named_op(NamedOp::AsStridedGeometry), args, rets, 7, {}};
}

}  // namespace pellucid
