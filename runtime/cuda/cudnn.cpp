#include "cuda/cudnn.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/error.h"
#include "cuda/library.h"

namespace pellucid::cuda {
namespace {

// cudnnConvolutionFwdAlgoPerf_t, and those of the gradients.
struct Expected {
  int algorithm, status;
  float milliseconds;
  size_t workspace;
  int is_deterministic, math;
  int reserved[3];
};
static_assert(sizeof(Expected) == 48);

constexpr int kMostAlgorithms = 16;                   // of each kind: the library has at most 8
constexpr int kNchw = 0, kNhwc = 1;                   // cudnnTensorFormat_t
constexpr int kCorrelation = 1;                       // cudnnConvolutionMode_t
constexpr int kDefault = 0, kMatrices = 1, kFma = 3;  // cudnnMathType_t; the first allows tf32
// cudnnStatus_t of version 8, and the numbers of version 9.
constexpr int kBadParameter = 3, kArchMismatch = 6, kNotSupported = 9;
constexpr int kNotSupportedFirst = 3000, kNotSupportedLast = 3999;

}  // namespace

// The names and numbers are those of the library's headers. Of the functions that the three kinds of convolution have,
// the arguments are in the same order: two tensors, the convolution, the tensor that is computed.
#define PELLUCID_CUDNN_FUNCTIONS(F)                                                                                 \
  F(create, "cudnnCreate", int, (Handle * handle))                                                                  \
  F(set_stream, "cudnnSetStream", int, (Handle handle, Handle stream))                                              \
  F(error_text, "cudnnGetErrorString", const char*, (int status))                                                   \
  F(new_tensor, "cudnnCreateTensorDescriptor", int, (Handle * made))                                                \
  F(set_tensor, "cudnnSetTensorNdDescriptor", int,                                                                  \
    (Handle made, int type, int dims, const int* sizes, const int* strides))                                        \
  F(drop_tensor, "cudnnDestroyTensorDescriptor", int, (Handle made))                                                \
  F(new_filter, "cudnnCreateFilterDescriptor", int, (Handle * made))                                                \
  F(set_filter, "cudnnSetFilterNdDescriptor", int, (Handle made, int type, int format, int dims, const int* sizes)) \
  F(drop_filter, "cudnnDestroyFilterDescriptor", int, (Handle made))                                                \
  F(new_convolution, "cudnnCreateConvolutionDescriptor", int, (Handle * made))                                      \
  F(set_convolution, "cudnnSetConvolutionNdDescriptor", int,                                                        \
    (Handle made, int spatial, const int* padding, const int* stride, const int* dilation, int mode, int type))     \
  F(set_groups, "cudnnSetConvolutionGroupCount", int, (Handle made, int groups))                                    \
  F(set_math, "cudnnSetConvolutionMathType", int, (Handle made, int math))                                          \
  F(drop_convolution, "cudnnDestroyConvolutionDescriptor", int, (Handle made))                                      \
  F(add, "cudnnAddTensor", int,                                                                                     \
    (Handle handle, const void* alpha, Handle from, const void* bias, const void* beta, Handle to, void* tensor))

struct CudnnFunctions {
#define PELLUCID_MEMBER(member, symbol, result, parameters) result(*member) parameters = nullptr;
  PELLUCID_CUDNN_FUNCTIONS(PELLUCID_MEMBER)
#undef PELLUCID_MEMBER

  struct OfKind {
    int (*find)(Handle handle, Handle first, Handle second, Handle convolution, Handle computed, int wanted, int* count,
                Expected* found);
    int (*workspace)(Handle handle, Handle first, Handle second, Handle convolution, Handle computed, int algorithm,
                     size_t* nbytes);
    int (*run)(Handle handle, const void* alpha, Handle first_made, const void* first, Handle second_made,
               const void* second, Handle convolution, int algorithm, void* workspace, size_t nbytes, const void* beta,
               Handle computed_made, void* computed);
  };
  OfKind kinds[3] = {};  // by Computed

  const OfKind& of(Computed computed) const { return kinds[static_cast<int>(computed)]; }

  std::string failure(int status, const char* function) const {
    return std::string("cuDNN error: ") + function + " returned " + std::to_string(status) + ", " + error_text(status);
  }
  void check(int status, const char* function) const {
    if (status) throw Error(ErrorKind::Runtime, failure(status, function));
  }
};

namespace {

bool is_not_supported(int status) {
  return status == kNotSupported || status == kArchMismatch ||
         (status >= kNotSupportedFirst && status <= kNotSupportedLast);
}

// cudnnDataType_t
int type_of(DType dtype) {
  switch (dtype) {
    case DType::Float32: return 0;
    case DType::Float64: return 1;
    case DType::Float16: return 2;
    case DType::BFloat16: return 9;
    default: raise(ErrorKind::Runtime, "cuDNN has no convolutions of %s", std::string(name(dtype)).c_str());
  }
}

// Sums are float32, or float64 of float64.
int sum_type(DType dtype) { return dtype == DType::Float64 ? 1 : 0; }

int wanted_math(const ConvolutionFacts& facts) {
  if (facts.dtype == DType::Float32) return facts.allows_tf32 ? kDefault : kFma;
  return facts.dtype == DType::Float64 ? kDefault : kMatrices;
}

// The factors of a sum `alpha * computed + beta * before`, which are float64 for float64.
struct Factor {
  float narrow;
  double wide;
  explicit Factor(double value) : narrow(static_cast<float>(value)), wide(value) {}
  const void* of(DType dtype) const { return dtype == DType::Float64 ? static_cast<const void*>(&wide) : &narrow; }
};

using Owned = std::unique_ptr<void, int (*)(Handle)>;

// The descriptors of one call.
class Descriptors {
 public:
  Descriptors(const CudnnFunctions& library, const ConvolutionFacts& facts, int math)
      : library_(library), facts_(facts), image_(tensor(facts.image)),
        filter_(make(library.new_filter, library.drop_filter, "cudnnCreateFilterDescriptor")),
        result_(tensor(facts.result)),
        convolution_(make(library.new_convolution, library.drop_convolution, "cudnnCreateConvolutionDescriptor")) {
    const int format = facts.channels_last ? kNhwc : kNchw;
    library.check(library.set_filter(filter_.get(), type_of(facts.dtype), format, dims(), facts.filter),
                  "cudnnSetFilterNdDescriptor");
    library.check(library.set_convolution(convolution_.get(), facts.spatial, facts.padding, facts.stride,
                                          facts.dilation, kCorrelation, sum_type(facts.dtype)),
                  "cudnnSetConvolutionNdDescriptor");
    library.check(library.set_groups(convolution_.get(), facts.groups), "cudnnSetConvolutionGroupCount");
    library.check(library.set_math(convolution_.get(), math), "cudnnSetConvolutionMathType");
  }

  // In the order of the kind's functions.
  Handle first() const { return facts_.computed == Computed::Image ? filter_.get() : image_.get(); }
  Handle second() const { return facts_.computed == Computed::Result ? filter_.get() : result_.get(); }
  Handle computed() const {
    switch (facts_.computed) {
      case Computed::Result: return result_.get();
      case Computed::Image: return image_.get();
      default: return filter_.get();
    }
  }
  Handle convolution() const { return convolution_.get(); }

  // One number per channel of the tensor that is computed.
  Owned bias() const {
    int sizes[2 + ConvolutionFacts::kMaxSpatial];
    std::fill_n(sizes, dims(), 1);
    sizes[1] = facts_.computed == Computed::Result ? facts_.result[1] : facts_.image[1];
    return tensor(sizes);
  }

 private:
  int dims() const { return 2 + facts_.spatial; }

  Owned make(int (*create)(Handle*), int (*drop)(Handle), const char* function) const {
    Handle made = nullptr;
    library_.check(create(&made), function);
    return {made, drop};
  }

  Owned tensor(const int* sizes) const {
    int strides[2 + ConvolutionFacts::kMaxSpatial];
    int step = 1;
    if (facts_.channels_last) strides[1] = std::exchange(step, sizes[1]);
    for (int d = dims() - 1; d > 1; --d) strides[d] = std::exchange(step, step * sizes[d]);
    if (!facts_.channels_last) strides[1] = std::exchange(step, step * sizes[1]);
    strides[0] = step;
    Owned made = make(library_.new_tensor, library_.drop_tensor, "cudnnCreateTensorDescriptor");
    library_.check(library_.set_tensor(made.get(), type_of(facts_.dtype), dims(), sizes, strides),
                   "cudnnSetTensorNdDescriptor");
    return made;
  }

  const CudnnFunctions& library_;
  const ConvolutionFacts& facts_;
  const Owned image_, filter_, result_, convolution_;
};

std::unique_ptr<const CudnnFunctions> load(const std::string& path) {
  void* const loaded = open_library("cuDNN", path);
  auto functions = std::make_unique<CudnnFunctions>();
#define PELLUCID_LOAD(member, symbol, result, parameters) load_symbol(loaded, path, symbol, functions->member);
  PELLUCID_CUDNN_FUNCTIONS(PELLUCID_LOAD)
#undef PELLUCID_LOAD
  const char* const names[] = {"Forward", "BackwardData", "BackwardFilter"};
  for (int kind = 0; kind < 3; ++kind) {
    const std::string name = names[kind];
    CudnnFunctions::OfKind& of = functions->kinds[kind];
    load_symbol(loaded, path, ("cudnnGetConvolution" + name + "Algorithm_v7").c_str(), of.find);
    load_symbol(loaded, path, ("cudnnGetConvolution" + name + "WorkspaceSize").c_str(), of.workspace);
    load_symbol(loaded, path, ("cudnnConvolution" + name).c_str(), of.run);
  }
  return functions;
}

void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

Cudnn::Cudnn(const std::string& library) : functions_(load(library)) {
  if (const int status = functions_->create(&handle_))
    throw UnusableLibrary(functions_->failure(status, "cudnnCreate"));
}

Cudnn::~Cudnn() = default;

std::vector<ConvolutionAlgorithm> Cudnn::algorithms(const ConvolutionFacts& facts) {
  const CudnnFunctions& library = *functions_;
  const int wanted = wanted_math(facts);
  const Descriptors made(library, facts, wanted);
  const CudnnFunctions::OfKind& kind = library.of(facts.computed);
  const std::lock_guard lock(mutex_);
  Expected expected[kMostAlgorithms];
  int count = 0;
  const int status = kind.find(handle_, made.first(), made.second(), made.convolution(), made.computed(),
                               kMostAlgorithms, &count, expected);
  if (is_not_supported(status) || status == kBadParameter) return {};  // version 8's answer to some memory orders
  library.check(status, "cudnnGetConvolution...Algorithm_v7");
  std::vector<ConvolutionAlgorithm> found;
  for (const Expected& one : std::span(expected, static_cast<size_t>(count))) {
    const int math = wanted == kFma ? kFma : one.math;
    if (one.status) continue;
    size_t nbytes = 0;
    const Descriptors own(library, facts, math);
    if (kind.workspace(handle_, own.first(), own.second(), own.convolution(), own.computed(), one.algorithm, &nbytes))
      continue;
    found.push_back({one.algorithm, math, nbytes, one.is_deterministic != 0});
  }
  return found;
}

bool Cudnn::run(const ConvolutionFacts& facts, const ConvolutionAlgorithm& algorithm, const ConvolutionTensors& tensors,
                uint64_t workspace, Handle stream) {
  const CudnnFunctions& library = *functions_;
  const Descriptors made(library, facts, algorithm.math);
  const bool reads_image = facts.computed != Computed::Image, reads_filter = facts.computed == Computed::Result;
  const uint64_t first = reads_image ? tensors.image : tensors.filter;
  const uint64_t second = reads_filter ? tensors.filter : tensors.result;
  const uint64_t computed = reads_filter ? tensors.result : reads_image ? tensors.filter : tensors.image;
  const Factor one(1), zero(0);
  const std::lock_guard lock(mutex_);
  library.check(library.set_stream(handle_, stream), "cudnnSetStream");
  const int status = library.of(facts.computed)
                         .run(handle_, one.of(facts.dtype), made.first(), pointer(first), made.second(),
                              pointer(second), made.convolution(), algorithm.number, pointer(workspace),
                              algorithm.workspace, zero.of(facts.dtype), made.computed(), pointer(computed));
  if (is_not_supported(status)) return false;
  if (status) throw ConvolutionError(library.failure(status, "cudnnConvolution..."));
  return true;
}

bool Cudnn::add_bias(const ConvolutionFacts& facts, uint64_t bias, uint64_t tensor, Handle stream) {
  const CudnnFunctions& library = *functions_;
  const Descriptors made(library, facts, wanted_math(facts));
  const Owned own = made.bias();
  const Factor one(1);
  const std::lock_guard lock(mutex_);
  library.check(library.set_stream(handle_, stream), "cudnnSetStream");
  const int status = library.add(handle_, one.of(facts.dtype), own.get(), pointer(bias), one.of(facts.dtype),
                                 made.computed(), pointer(tensor));
  if (is_not_supported(status)) return false;
  library.check(status, "cudnnAddTensor");
  return true;
}

int64_t cudnn_version(const std::string& path) {
  size_t (*version)() = nullptr;
  load_symbol(open_library("cuDNN", path), path, "cudnnGetVersion", version);
  return static_cast<int64_t>(version());
}

}  // namespace pellucid::cuda
