// at::TensorIterator and cpu_kernel: a function of elements over operands that broadcast, on all threads.
//
// Operands get one shape, the dimensions are ordered by the strides of the first and merged where all operands allow
// it. Reductions are not offered: ops do them. Included by ATen/TensorIterator.h and ATen/native/cpu/Loops.h alone.
#pragma once

#include <numeric>

#include "pellucid/torch/all.h"
#include "pellucid/torch/overlap.h"
#include "pellucid/torch/vec.h"

namespace at {

using DimVector = c10::DimVector;
using StrideVector = DimVector;

struct OperandInfo {
  Tensor tensor, original;  // differ where the operand was cast
  ScalarType wanted = kFloat;
  bool is_output = false;
  void* data = nullptr;
  StrideVector stride_bytes;
};

class TensorIteratorConfig;

class TensorIteratorBase {
 public:
  using loop1d_t = std::function<void(char** data, const int64_t* strides, int64_t n)>;
  using loop2d_t = std::function<void(char** data, const int64_t* strides, int64_t n, int64_t rows)>;

  int ntensors() const { return static_cast<int>(operands_.size()); }
  int noutputs() const { return num_outputs_; }
  int ninputs() const { return ntensors() - num_outputs_; }
  int ndim() const { return static_cast<int>(shape_.size()); }
  IntArrayRef shape() const { return shape_; }  // the fastest dimension is first
  int64_t numel() const { return std::accumulate(shape_.begin(), shape_.end(), int64_t{1}, std::multiplies<>()); }
  bool is_trivial_1d() const { return ndim() == 1; }
  const Tensor& tensor(int k) const { return operand(k).tensor; }
  const Tensor& output(int k = 0) const { return tensor(k); }
  const Tensor& input(int k = 0) const { return tensor(num_outputs_ + k); }
  const Tensor& tensor_base(int k) const { return tensor(k); }
  ScalarType dtype(int k = 0) const { return tensor(k).scalar_type(); }
  ScalarType input_dtype(int k = 0) const { return dtype(num_outputs_ + k); }
  ScalarType common_dtype() const { return common_; }
  Device device(int k = 0) const { return tensor(k).device(); }
  int64_t element_size(int k) const { return tensor(k).element_size(); }
  void* data_ptr(int k) const { return operand(k).data; }
  IntArrayRef strides(int k) const { return operand(k).stride_bytes; }
  bool is_scalar(int k) const { return tensor(k).numel() == 1; }
  bool is_cpu_scalar(int k) const { return is_scalar(k) && device(k).is_cpu(); }
  template <class T>
  T scalar_value(int k) const {
    return *static_cast<const T*>(data_ptr(k));
  }
  template <class T>
  T original_scalar_value(int k) const {
    return operand(k).original.template item<T>();
  }
  bool is_contiguous() const {
    if (numel() == 1) return true;
    if (ndim() != 1) return false;
    for (int k = 0; k < ntensors(); ++k)
      if (strides(k)[0] != element_size(k)) return false;
    return true;
  }
  bool has_contiguous_first_dim() const {
    for (int k = 0; k < ntensors() && ndim(); ++k)
      if (strides(k)[0] != element_size(k)) return false;
    return true;
  }

  // `loop` gets the addresses of all operands, their strides in bytes along the first dimension, then (for two
  // dimensions) along the second, and the sizes. Blocks have at least `grain` elements.
  void for_each(const loop2d_t& loop, int64_t grain = internal::GRAIN_SIZE) {
    parallel_for(0, numel(), grain, [&](int64_t first, int64_t last) { serial_for_each(loop, {first, last}); });
  }
  void for_each(const loop1d_t& loop, int64_t grain = internal::GRAIN_SIZE) { for_each(by_rows(loop), grain); }
  struct Range {
    int64_t begin, end;
  };
  void serial_for_each(const loop1d_t& loop, Range range) const { serial_for_each(by_rows(loop), range); }
  void serial_for_each(const loop2d_t& loop, Range range) const {
    if (range.begin >= range.end) return;
    const size_t count = operands_.size();
    const int64_t inner = ndim() > 0 ? shape_[0] : 1, outer = ndim() > 1 ? shape_[1] : 1;
    std::vector<int64_t> steps(2 * count, 0);
    for (size_t k = 0; k < count; ++k)
      for (size_t d = 0; d < std::min<size_t>(shape_.size(), 2); ++d)
        steps[d * count + k] = operands_[k].stride_bytes[d];
    std::vector<char*> data(count);
    for (int64_t at = range.begin; at < range.end;) {
      for (size_t k = 0; k < count; ++k) data[k] = address(operands_[k], at);
      const int64_t column = at % inner, left = range.end - at;
      // Whole rows up to the end of the second dimension, else a part of one.
      const bool whole = column == 0 && left >= inner;
      const int64_t rows = whole ? std::min(left / inner, outer - at / inner % outer) : 1;
      const int64_t n = whole ? inner : std::min(inner - column, left);
      loop(data.data(), steps.data(), n, rows);
      at += n * rows;
    }
  }

  // Copies results that were computed in the common dtype to the outputs that were given.
  void cast_outputs() {
    for (OperandInfo& each : operands_)
      if (each.is_output && !each.original.is_same(each.tensor)) {
        each.original.copy_(each.tensor);
        each.tensor = each.original;
      }
  }

 protected:
  friend class TensorIteratorConfig;

  const OperandInfo& operand(int k) const {
    TORCH_CHECK_INDEX(k >= 0 && k < ntensors(), "TensorIterator: operand ", k, " of ", ntensors());
    return operands_[static_cast<size_t>(k)];
  }
  loop2d_t by_rows(const loop1d_t& loop) const {
    return [&loop, count = operands_.size()](char** data, const int64_t* strides, int64_t n, int64_t rows) {
      std::vector<char*> row(data, data + count);
      for (int64_t r = 0; r < rows; ++r) {
        loop(row.data(), strides, n);
        for (size_t k = 0; k < count; ++k) row[k] += strides[count + k];
      }
    };
  }
  char* address(const OperandInfo& each, int64_t element) const {
    char* found = static_cast<char*>(each.data);
    for (size_t d = 0; d < shape_.size(); ++d) {
      found += element % shape_[d] * each.stride_bytes[d];
      element /= shape_[d];
    }
    return found;
  }

  // Merges dimensions that every operand steps through as one.
  void coalesce() {
    size_t last = 0;
    for (size_t d = 1; d < shape_.size(); ++d) {
      bool merges = shape_[last] == 1 || shape_[d] == 1;
      if (!merges) {
        merges = true;
        for (const OperandInfo& each : operands_)
          merges = merges && each.stride_bytes[d] == each.stride_bytes[last] * shape_[last];
      }
      if (!merges) ++last;
      for (OperandInfo& each : operands_)
        if (!merges || shape_[last] == 1) each.stride_bytes[last] = each.stride_bytes[d];
      shape_[last] = merges ? shape_[last] * shape_[d] : shape_[d];
    }
    if (shape_.empty()) return;
    shape_.resize(last + 1);
    for (OperandInfo& each : operands_) each.stride_bytes.resize(last + 1);
  }

  std::vector<OperandInfo> operands_;
  int num_outputs_ = 0;
  DimVector shape_;
  ScalarType common_ = kFloat;
};

class TensorIterator final : public TensorIteratorBase {
 public:
  // As pointwise ops of PyTorch have them: operands are promoted, the result is cast to the output's dtype.
  static TensorIterator binary_op(Tensor& out, const Tensor& a, const Tensor& b);
  static TensorIterator borrowing_binary_op(Tensor& out, const Tensor& a, const Tensor& b) {
    return binary_op(out, a, b);
  }
  static TensorIterator comparison_op(Tensor& out, const Tensor& a, const Tensor& b);
  static TensorIterator unary_op(Tensor& out, const Tensor& a);
  static TensorIterator unary_float_op(Tensor& out, const Tensor& a);
  static TensorIterator nullary_op(Tensor& out);
};

class TensorIteratorConfig final {
 public:
#define PELLUCID_OPERANDS(kind, is_output)                                                        \
  TensorIteratorConfig& add_##kind(const Tensor& tensor) { return add(tensor, is_output); }       \
  TensorIteratorConfig& add_owned_##kind(const Tensor& tensor) { return add(tensor, is_output); } \
  TensorIteratorConfig& add_borrowed_##kind(const Tensor& tensor) { return add(tensor, is_output); }
  PELLUCID_OPERANDS(output, true)
  PELLUCID_OPERANDS(input, false)
  PELLUCID_OPERANDS(const_input, false)
#undef PELLUCID_OPERANDS
#define PELLUCID_SETTING(name)             \
  TensorIteratorConfig& name(bool value) { \
    name##_ = value;                       \
    return *this;                          \
  }
  PELLUCID_SETTING(check_all_same_dtype)
  PELLUCID_SETTING(check_all_same_device)
  PELLUCID_SETTING(allow_cpu_scalars)
  PELLUCID_SETTING(promote_integer_inputs_to_float)
  PELLUCID_SETTING(cast_common_dtype_to_outputs)
  PELLUCID_SETTING(enforce_safe_casting_to_output)
  PELLUCID_SETTING(resize_outputs)
  PELLUCID_SETTING(set_check_mem_overlap)
#undef PELLUCID_SETTING
  TensorIteratorConfig& promote_inputs_to_common_dtype(bool value) {
    promote_ = value;
    if (value) check_all_same_dtype_ = false;
    return *this;
  }
  TensorIteratorConfig& declare_static_dtype(ScalarType dtype) {
    dtype_ = dtype;
    return *this;
  }
  TensorIteratorConfig& declare_static_dtype_and_device(ScalarType dtype, Device) {
    return declare_static_dtype(dtype);
  }
  TensorIteratorConfig& declare_static_shape(IntArrayRef shape) {
    shape_ = shape.vec();
    return *this;
  }
  template <class Given = bool>
  TensorIteratorConfig& is_reduction(Given) {
    static_assert(!sizeof(Given), "is_reduction: TensorIterator does no reductions here; call an op, such as at::sum");
    return *this;
  }

  TensorIterator build() {
    TensorIterator made;
    build(made);
    return made;
  }

 private:
  TensorIteratorConfig& add(const Tensor& tensor, bool is_output) {
    operands_.push_back({tensor, tensor, kFloat, is_output, nullptr, {}});
    num_outputs_ += is_output;
    return *this;
  }
  void build(TensorIterator& made) const;
  void check_operands() const;
  std::vector<int64_t> common_shape() const;
  ScalarType common_dtype() const;

  std::vector<OperandInfo> operands_;
  int num_outputs_ = 0;
  optional<ScalarType> dtype_;
  optional<std::vector<int64_t>> shape_;
  bool promote_ = false, check_all_same_dtype_ = true, check_all_same_device_ = true, allow_cpu_scalars_ = false,
       promote_integer_inputs_to_float_ = false, cast_common_dtype_to_outputs_ = false,
       enforce_safe_casting_to_output_ = false, resize_outputs_ = true, set_check_mem_overlap_ = true;
};

inline std::vector<int64_t> TensorIteratorConfig::common_shape() const {
  if (shape_) return *shape_;
  optional<std::vector<int64_t>> found;
  for (const OperandInfo& each : operands_)
    if (each.tensor.defined() && !(each.is_output && resize_outputs_))
      found = found ? infer_size(*found, each.tensor.sizes()) : each.tensor.sizes().vec();
  // Outputs alone: theirs is the shape.
  for (const OperandInfo& each : operands_)
    if (!found && each.tensor.defined()) found = each.tensor.sizes().vec();
  return found.value_or(std::vector<int64_t>());
}

// A dtype of tensors with dimensions outweighs one of tensors without, within a category.
inline ScalarType TensorIteratorConfig::common_dtype() const {
  if (dtype_) return *dtype_;
  optional<ScalarType> found, found_in_scalars;
  for (const OperandInfo& each : operands_) {
    if (each.is_output || !each.tensor.defined()) continue;
    optional<ScalarType>& sum = each.tensor.dim() ? found : found_in_scalars;
    sum = sum ? promote_types(*sum, each.tensor.scalar_type()) : each.tensor.scalar_type();
  }
  for (const OperandInfo& each : operands_)
    if (!found && !found_in_scalars && each.tensor.defined()) found = each.tensor.scalar_type();
  TORCH_CHECK(found || found_in_scalars,
              "TensorIterator: no operand has a dtype: add an input or declare_static_dtype");
  const auto category = [](ScalarType type) {
    return isComplexType(type) ? 3 : isFloatingType(type) ? 2 : type != kBool ? 1 : 0;
  };
  ScalarType common = found ? *found : *found_in_scalars;
  if (found && found_in_scalars && category(*found_in_scalars) > category(*found))
    common = promote_types(*found, *found_in_scalars);
  return promote_integer_inputs_to_float_ && isIntegralType(common, true) ? kFloat : common;
}

inline void TensorIteratorConfig::check_operands() const {
  const OperandInfo* first = nullptr;
  for (const OperandInfo& each : operands_) {
    TORCH_CHECK(each.is_output || each.tensor.defined(), "TensorIterator: an input is not defined");
    if (!each.tensor.defined()) continue;
    TORCH_CHECK(each.tensor.device().is_cpu(), "TensorIterator: an operand is on ", each.tensor.device(),
                "; kernels of C++ loops run on the CPU");
    if (!first) first = &each;
    TORCH_CHECK(!check_all_same_dtype_ || each.tensor.scalar_type() == first->tensor.scalar_type(), "Found dtype ",
                each.tensor.scalar_type(), " but expected ", first->tensor.scalar_type());
    if (!each.is_output || !set_check_mem_overlap_) continue;
    assert_no_internal_overlap(each.tensor);
    for (const OperandInfo& other : operands_)
      if (!other.is_output && other.tensor.defined()) assert_no_partial_overlap(each.tensor, other.tensor);
  }
}

inline void TensorIteratorConfig::build(TensorIterator& made) const {
  check_operands();
  const std::vector<int64_t> shape = common_shape();
  const size_t dims = shape.size();
  made.common_ = common_dtype();
  made.operands_ = operands_;
  made.num_outputs_ = num_outputs_;

  for (OperandInfo& each : made.operands_)
    if (!each.is_output && promote_) each.tensor = each.tensor.to(made.common_);

  // Strides of inputs decide the order of the dimensions, the innermost first; those of outputs that are there, too.
  std::vector<size_t> order(dims);
  for (size_t d = 0; d < dims; ++d) order[d] = dims - 1 - d;
  const auto stride_of = [&](const OperandInfo& each, size_t d) -> int64_t {
    const size_t own = static_cast<size_t>(each.tensor.dim());
    if (d + own < dims || each.tensor.sizes()[d + own - dims] == 1) return 0;
    return each.tensor.strides()[d + own - dims] * each.tensor.element_size();
  };
  const auto is_outer = [&](size_t a, size_t b) {  // whether a belongs outside of b
    for (const OperandInfo& each : made.operands_) {
      if (!each.tensor.defined() || (each.is_output && each.tensor.sizes() != IntArrayRef(shape))) continue;
      const int64_t left = stride_of(each, a), right = stride_of(each, b);
      if (left && right && left != right) return left > right;
    }
    return false;
  };
  for (size_t k = 1; k < dims; ++k)
    for (size_t j = k; j > 0 && is_outer(order[j - 1], order[j]); --j) std::swap(order[j - 1], order[j]);

  for (OperandInfo& each : made.operands_) {
    if (!each.is_output) continue;
    if (!each.tensor.defined()) {
      std::vector<int64_t> strides(dims);
      int64_t step = 1;
      for (const size_t d : order) strides[d] = step, step *= std::max<int64_t>(shape[d], 1);
      each.tensor = each.original = empty_strided(shape, strides, TensorOptions(made.common_));
    }
    if (each.tensor.sizes() != IntArrayRef(shape)) {
      TORCH_CHECK(resize_outputs_, "output with shape ", each.tensor.sizes(), " doesn't match the broadcast shape ",
                  IntArrayRef(shape));
      each.tensor.resize_(shape);
    }
    if (!cast_common_dtype_to_outputs_ || each.tensor.scalar_type() == made.common_) continue;
    TORCH_CHECK(!enforce_safe_casting_to_output_ || can_cast(made.common_, each.tensor.scalar_type()), "result type ",
                made.common_, " can't be cast to the desired output type ", each.tensor.scalar_type());
    each.tensor = empty_like(each.tensor, TensorOptions(made.common_));
  }

  for (OperandInfo& each : made.operands_) {
    each.data = each.tensor.data_ptr();
    for (const size_t d : order) each.stride_bytes.push_back(stride_of(each, d));
  }
  made.shape_.clear();
  for (const size_t d : order) made.shape_.push_back(shape[d]);
  made.coalesce();
}

inline TensorIterator TensorIterator::binary_op(Tensor& out, const Tensor& a, const Tensor& b) {
  return TensorIteratorConfig()
      .add_output(out)
      .add_input(a)
      .add_input(b)
      .allow_cpu_scalars(true)
      .promote_inputs_to_common_dtype(true)
      .cast_common_dtype_to_outputs(true)
      .enforce_safe_casting_to_output(true)
      .build();
}
inline TensorIterator TensorIterator::comparison_op(Tensor& out, const Tensor& a, const Tensor& b) {
  if (!out.defined()) out = empty({0}, TensorOptions(kBool));
  return TensorIteratorConfig().add_output(out).add_input(a).add_input(b).promote_inputs_to_common_dtype(true).build();
}
inline TensorIterator TensorIterator::unary_op(Tensor& out, const Tensor& a) {
  return TensorIteratorConfig()
      .add_output(out)
      .add_input(a)
      .promote_inputs_to_common_dtype(true)
      .cast_common_dtype_to_outputs(true)
      .enforce_safe_casting_to_output(true)
      .build();
}
inline TensorIterator TensorIterator::unary_float_op(Tensor& out, const Tensor& a) {
  return TensorIteratorConfig()
      .add_output(out)
      .add_input(a)
      .promote_inputs_to_common_dtype(true)
      .promote_integer_inputs_to_float(true)
      .cast_common_dtype_to_outputs(true)
      .enforce_safe_casting_to_output(true)
      .build();
}
inline TensorIterator TensorIterator::nullary_op(Tensor& out) {
  return TensorIteratorConfig().add_output(out).check_all_same_dtype(false).resize_outputs(false).build();
}

}  // namespace at
