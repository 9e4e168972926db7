// Reductions over indices with a derivative, as libraries for graphs write them: dispatch macros over halves,
// reducers as templates, a Function that saves sizes, ops by RegisterOperators.
#include <Python.h>
#include <torch/script.h>

#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#ifdef _WIN32
PyMODINIT_FUNC PyInit_scatter(void) { return NULL; }
#endif

#define CHECK_CPU(x) AT_ASSERTM(x.device().is_cpu(), #x " must be CPU tensor")
#define CHECK_INPUT(x) AT_ASSERTM(x, "Input mismatch")

enum ReductionType { SUM, MEAN, MIN, MAX };
const std::map<std::string, ReductionType> reduce2REDUCE = {{"sum", SUM}, {"mean", MEAN}, {"min", MIN}, {"max", MAX}};

#define DISPATCH_REDUCTION(reduce, ...)               \
  [&] {                                               \
    switch (reduce2REDUCE.at(reduce)) {               \
      case SUM: {                                     \
        static constexpr ReductionType REDUCE = SUM;  \
        return __VA_ARGS__();                         \
      }                                               \
      case MEAN: {                                    \
        static constexpr ReductionType REDUCE = MEAN; \
        return __VA_ARGS__();                         \
      }                                               \
      case MIN: {                                     \
        static constexpr ReductionType REDUCE = MIN;  \
        return __VA_ARGS__();                         \
      }                                               \
      case MAX: {                                     \
        static constexpr ReductionType REDUCE = MAX;  \
        return __VA_ARGS__();                         \
      }                                               \
    }                                                 \
  }()

template <typename scalar_t, ReductionType REDUCE>
struct Reducer {
  static inline scalar_t init() {
    if (REDUCE == MIN) return std::numeric_limits<scalar_t>::max();
    if (REDUCE == MAX) return std::numeric_limits<scalar_t>::lowest();
    return (scalar_t)0;
  }
  static inline void update(scalar_t* val, scalar_t new_val, int64_t* arg, int64_t new_arg) {
    if (REDUCE == SUM || REDUCE == MEAN) *val = *val + new_val;
    else if ((REDUCE == MIN && new_val < *val) || (REDUCE == MAX && new_val > *val)) {
      *val = new_val;
      *arg = new_arg;
    }
  }
  static inline void write(scalar_t* address, scalar_t val, int64_t* arg_address, int64_t arg, int count) {
    if (REDUCE == SUM) *address = val;
    else if (REDUCE == MEAN) *address = val / (scalar_t)(count > 0 ? count : 1);
    else if (count > 0) {
      *address = val;
      *arg_address = arg;
    } else *address = (scalar_t)0;
  }
};

std::tuple<torch::Tensor, torch::optional<torch::Tensor>> segment_cpu(torch::Tensor src, torch::Tensor indptr,
                                                                      torch::optional<torch::Tensor> optional_out,
                                                                      std::string reduce) {
  CHECK_CPU(src);
  CHECK_CPU(indptr);
  if (optional_out.has_value()) CHECK_CPU(optional_out.value());
  CHECK_INPUT(src.dim() >= indptr.dim());
  src = src.contiguous();

  auto sizes = src.sizes().vec();
  sizes[0] = indptr.numel() - 1;
  torch::Tensor out;
  if (optional_out.has_value()) {
    out = optional_out.value().contiguous();
    for (int i = 1; i < out.dim(); i++) CHECK_INPUT(src.size(i) == out.size(i));
  } else out = torch::empty(sizes, src.options());

  torch::optional<torch::Tensor> arg_out = torch::nullopt;
  int64_t* arg_out_data = nullptr;
  if (reduce2REDUCE.at(reduce) == MIN || reduce2REDUCE.at(reduce) == MAX) {
    arg_out = torch::full_like(out, src.size(0), indptr.options());
    arg_out_data = arg_out.value().data_ptr<int64_t>();
  }
  auto N = indptr.size(0) - 1;
  auto K = out.numel() / std::max<int64_t>(N, 1);
  auto indptr_data = indptr.data_ptr<int64_t>();
  AT_DISPATCH_ALL_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, src.scalar_type(), "segment_cpu", [&] {
    auto src_data = src.data_ptr<scalar_t>();
    auto out_data = out.data_ptr<scalar_t>();
    std::vector<scalar_t> vals(K);
    std::vector<int64_t> args(K);
    DISPATCH_REDUCTION(reduce, [&] {
      for (auto n = 0; n < N; n++) {
        for (auto k = 0; k < K; k++) vals[k] = Reducer<scalar_t, REDUCE>::init();
        for (auto e = indptr_data[n]; e < indptr_data[n + 1]; e++)
          for (auto k = 0; k < K; k++) Reducer<scalar_t, REDUCE>::update(&vals[k], src_data[e * K + k], &args[k], e);
        for (auto k = 0; k < K; k++)
          Reducer<scalar_t, REDUCE>::write(out_data + n * K + k, vals[k], arg_out_data + n * K + k, args[k],
                                           indptr_data[n + 1] - indptr_data[n]);
      }
    });
  });
  return std::make_tuple(out, arg_out);
}

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

inline std::vector<int64_t> list2vec(const c10::List<int64_t> list) {
  std::vector<int64_t> result;
  result.reserve(list.size());
  for (size_t i = 0; i < list.size(); i++) result.push_back(list[i]);
  return result;
}

torch::Tensor broadcast(torch::Tensor src, torch::Tensor other, int64_t dim) {
  if (src.dim() == 1)
    for (auto i = 0; i < dim; i++) src = src.unsqueeze(0);
  for (auto i = src.dim(); i < other.dim(); i++) src = src.unsqueeze(-1);
  return src.expand(other.sizes().vec());
}

class ScatterSum : public torch::autograd::Function<ScatterSum> {
 public:
  static variable_list forward(AutogradContext* ctx, Variable src, Variable index, int64_t dim,
                               torch::optional<Variable> optional_out, torch::optional<int64_t> dim_size) {
    dim = dim < 0 ? src.dim() + dim : dim;
    ctx->saved_data["dim"] = dim;
    ctx->saved_data["src_shape"] = src.sizes();
    index = broadcast(index, src, dim);
    torch::Tensor out;
    if (optional_out.has_value()) {
      out = optional_out.value();
      ctx->mark_dirty({out});
    } else {
      auto sizes = src.sizes().vec();
      sizes[dim] = dim_size.has_value() ? dim_size.value()
                   : index.numel() == 0 ? 0
                                        : 1 + *index.max().data_ptr<int64_t>();
      out = torch::zeros(sizes, src.options());
    }
    out.scatter_add_(dim, index, src);
    ctx->save_for_backward({index});
    return {out};
  }
  static variable_list backward(AutogradContext* ctx, variable_list grad_outs) {
    auto grad_out = grad_outs[0];
    auto saved = ctx->get_saved_variables();
    auto src_shape = list2vec(ctx->saved_data["src_shape"].toIntList());
    auto grad_in = torch::gather(grad_out, ctx->saved_data["dim"].toInt(), saved[0], false);
    TORCH_CHECK(grad_in.sizes().vec() == src_shape, "sizes");
    return {grad_in, Variable(), Variable(), Variable(), Variable()};
  }
};

class SegmentMax : public torch::autograd::Function<SegmentMax> {
 public:
  static variable_list forward(AutogradContext* ctx, Variable src, Variable indptr) {
    ctx->saved_data["src_shape"] = src.sizes();
    auto result = segment_cpu(src, indptr, torch::nullopt, "max");
    auto out = std::get<0>(result);
    auto arg_out = std::get<1>(result).value();
    ctx->save_for_backward({indptr, arg_out});
    ctx->mark_non_differentiable({arg_out});
    return {out, arg_out};
  }
  static variable_list backward(AutogradContext* ctx, variable_list grad_outs) {
    auto grad_out = grad_outs[0];
    auto arg_out = ctx->get_saved_variables()[1];
    auto src_shape = list2vec(ctx->saved_data["src_shape"].toIntList());
    src_shape[0] += 1;
    auto grad_in = torch::zeros(src_shape, grad_out.options());
    grad_in.scatter_(0, arg_out, grad_out);
    grad_in = grad_in.narrow(0, 0, src_shape[0] - 1);
    return {grad_in, Variable()};
  }
};

torch::Tensor scatter_sum(torch::Tensor src, torch::Tensor index, int64_t dim,
                          torch::optional<torch::Tensor> optional_out, torch::optional<int64_t> dim_size) {
  return ScatterSum::apply(src, index, dim, optional_out, dim_size)[0];
}

std::tuple<torch::Tensor, torch::Tensor> segment_max(torch::Tensor src, torch::Tensor indptr) {
  auto result = SegmentMax::apply(src, indptr);
  return std::make_tuple(result[0], result[1]);
}

static auto registry = torch::RegisterOperators()
                           .op("scatter::scatter_sum", &scatter_sum)
                           .op("scatter::segment_max", &segment_max)
                           .op("scatter::segment", &segment_cpu);
