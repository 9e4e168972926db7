// reshape, flatten and view_as-like ops: a view if the strides allow one, else a copy; unbind, split and chunk:
// lists of views.
#include <memory>

#include "autograd/view_history.h"
#include "core/format.h"
#include "core/geometry.h"
#include "core/named_ops.h"
#include "intrinsics/give.h"
#include "intrinsics/kernels.h"
#include "intrinsics/layout.h"
#include "intrinsics/repeat.h"

namespace pellucid::intrinsics {
namespace {

Tensor row_major_copy(TensorImpl& self) { return copy_in_format(self, self.dtype, MemoryFormat::Contiguous); }

// A view if the strides allow one, else a row-major copy.
void reshape_to(OpCall& call, Sizes sizes) {
  TensorImpl& self = *call.args[0].tensor;
  int64_t strides[kMaxDims];
  if (self.is_contiguous() || view_strides(self.shape(), self.stride(), sizes, strides))
    return give_call(call, named_op(NamedOp::View), {Value::of(sizes)});
  Tensor copy = row_major_copy(self);
  Tensor reshaped = call_op(NamedOp::View, {Value::of(copy.get()), Value::of(sizes)});
  copy = nullptr;
  become_base(*reshaped);
  give(call, std::move(reshaped));
}

void reshape_to_given(OpCall& call, Sizes given) {
  const TensorImpl& self = *call.args[0].tensor;
  if (given.size() > kMaxDims)
    raise(ErrorKind::Runtime, "reshape(): a tensor has at most %d dimensions, not %zu", kMaxDims, given.size());
  int64_t sizes[kMaxDims];
  infer_size(given, self.numel, sizes);
  reshape_to(call, {sizes, given.size()});
}

// A list result is a block whose ownership passes to the caller.
class TensorBlock {
 public:
  explicit TensorBlock(int64_t count) : tensors_(new Tensor[static_cast<size_t>(count)]), count_(count) {}
  Tensor& operator[](int64_t index) { return tensors_[static_cast<size_t>(index)]; }
  void give(OpCall& call) {
    auto** block = new TensorImpl*[static_cast<size_t>(count_)];
    for (int64_t i = 0; i < count_; ++i) block[i] = (*this)[i].leak();
    call.rets[0] = Value::of(std::span<TensorImpl* const>(block, static_cast<size_t>(count_)));
  }

 private:
  std::unique_ptr<Tensor[]> tensors_;
  int64_t count_;
};

int64_t required_dim(const TensorImpl& self, int64_t dim, const char* function, ErrorKind kind = ErrorKind::Runtime) {
  if (!self.ndim) raise(kind, "%s(): a 0-dimensional tensor has no dimension to split", function);
  return wrap_dim(dim, self.ndim);
}

Tensor narrow_to(TensorImpl& self, int64_t dim, int64_t start, int64_t length) {
  return call_op(NamedOp::Narrow, {Value::of(&self), Value::of_int(dim), Value::of_int(start), Value::of_int(length)});
}

void give_chunks(OpCall& call_, TensorImpl& self, int64_t dim, int64_t piece) {
  const int64_t size = self.sizes[dim];
  const int64_t count = piece == 0 ? 1 : std::max<int64_t>(1, (size + piece - 1) / piece);
  TensorBlock parts(count);
  for (int64_t i = 0; i < count; ++i) parts[i] = narrow_to(self, dim, i * piece, std::min(piece, size - i * piece));
  parts.give(call_);
}

}  // namespace

void reshape(OpCall& call, void*) { reshape_to_given(call, call.args[1].ints()); }

void flatten(OpCall& call, void*) {
  const TensorImpl& self = *call.args[0].tensor;
  const int64_t start = wrap_dim(call.args[1].integer, self.ndim), end = wrap_dim(call.args[2].integer, self.ndim);
  if (start > end)
    raise(ErrorKind::Runtime, "flatten(): start_dim %lld comes after end_dim %lld", static_cast<long long>(start),
          static_cast<long long>(end));
  if (start == end && self.ndim) return give_unchanged(call);
  int64_t sizes[kMaxDims + 1];
  int64_t* next = std::copy_n(self.sizes, start, sizes);
  int64_t merged = 1;
  for (int64_t dim = start; dim < std::min<int64_t>(end + 1, self.ndim); ++dim) merged *= self.sizes[dim];
  *next++ = merged;
  if (end + 1 < self.ndim) next = std::copy(self.sizes + end + 1, self.sizes + self.ndim, next);
  reshape_to(call, {sizes, static_cast<size_t>(next - sizes)});
}

// The first of two tensors, viewed in the shape of the other.
void expand_as(OpCall& call, void*) {
  give_call(call, named_op(NamedOp::Expand), {Value::of(call.args[1].tensor->shape()), Value::of_bool(false)});
}

void view_as(OpCall& call, void*) {
  give_call(call, named_op(NamedOp::View), {Value::of(call.args[1].tensor->shape())});
}

void reshape_as(OpCall& call, void*) { reshape_to_given(call, call.args[1].tensor->shape()); }

void unbind(OpCall& call_, void*) {
  TensorImpl& self = *call_.args[0].tensor;
  const int64_t dim = required_dim(self, call_.args[1].integer, "unbind", ErrorKind::Index);
  TensorBlock parts(self.sizes[dim]);
  for (int64_t i = 0; i < self.sizes[dim]; ++i)
    parts[i] = call_op(NamedOp::Select, {Value::of(&self), Value::of_int(dim), Value::of_int(i)});
  parts.give(call_);
}

void split(OpCall& call_, void*) {
  TensorImpl& self = *call_.args[0].tensor;
  const int64_t piece = call_.args[1].integer, dim = required_dim(self, call_.args[2].integer, "split");
  if (piece < 0 || (piece == 0 && self.sizes[dim] != 0))
    raise(ErrorKind::Runtime, "split(): split_size can only be 0 if dimension size is 0, and never negative; got %lld",
          static_cast<long long>(piece));
  give_chunks(call_, self, dim, piece);
}

void split_sizes(OpCall& call_, void*) {
  TensorImpl& self = *call_.args[0].tensor;
  const Sizes sizes = call_.args[1].ints();
  const int64_t dim = required_dim(self, call_.args[2].integer, "split");
  int64_t total = 0;
  for (int64_t size : sizes) {
    if (size < 0)
      raise(ErrorKind::Runtime, "split(): a piece has the negative size %lld", static_cast<long long>(size));
    total += size;
  }
  if (total != self.sizes[dim])
    raise(
        ErrorKind::Runtime,
        "split_with_sizes expects split_sizes to sum exactly to %lld (input tensor's size at dimension %lld), but got "
        "split_sizes=%s, which sum to %lld",
        static_cast<long long>(self.sizes[dim]), static_cast<long long>(dim), format_sizes(sizes).c_str(),
        static_cast<long long>(total));
  TensorBlock parts(static_cast<int64_t>(sizes.size()));
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); start += sizes[i++])
    parts[static_cast<int64_t>(i)] = narrow_to(self, dim, start, sizes[i]);
  parts.give(call_);
}

void chunk(OpCall& call_, void*) {
  TensorImpl& self = *call_.args[0].tensor;
  const int64_t chunks = call_.args[1].integer, dim = required_dim(self, call_.args[2].integer, "chunk");
  if (chunks <= 0)
    raise(ErrorKind::Runtime, "chunk expects `chunks` to be greater than 0, got: %lld", static_cast<long long>(chunks));
  const int64_t piece = (self.sizes[dim] + chunks - 1) / chunks;
  const std::vector<int64_t> empty(piece == 0 ? static_cast<size_t>(chunks) : 0);
  Value args[] = {Value::of(&self), piece ? Value::of_int(piece) : Value::of(Sizes(empty)), Value::of_int(dim)};
  OpCall split{&named_op(piece ? NamedOp::SplitEven : NamedOp::SplitWithSizes), args, call_.rets, 3, {}};
  dispatch(split);
}

// split(list of sizes) is split_with_sizes.
void split_list(OpCall& call_, void*) {
  OpCall split{&named_op(NamedOp::SplitWithSizes), call_.args, call_.rets, call_.num_args, {}};
  dispatch(split);
}

}  // namespace pellucid::intrinsics
