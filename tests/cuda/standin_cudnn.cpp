// A stand-in for cuDNN: convolutions of the host's memory, queued on the stand-in driver's streams.
//
// Its functions check what the real one's documentation asks of their arguments, and memory that they are given must
// be in the driver's blocks. An algorithm takes a fixed number of pieces of work, by which the driver measures time.
// `standin_cudnn_fail` gives a function a status, after some calls: "create", "find", "add", or "run" with the number
// of an algorithm.
// `standin_cudnn_log` has the convolutions since the last time; `standin_cudnn_live` counts descriptors.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kBadParameter = 2000, kNotSupported = 3000;
constexpr int kFloat = 0, kDouble = 1, kHalf = 2, kBfloat16 = 9;
enum class Kind { Tensor, Filter, Convolution };

struct Made {
  Kind kind = Kind::Tensor;
  bool is_set = false;
  int type = -1, format = 0, dims = 0, mode = -1, groups = 1, math = 0;
  std::vector<int> sizes, strides, padding, stride, dilation;

  int64_t count() const {
    int64_t found = 1;
    for (const int n : sizes) found *= n;
    return found;
  }
};
struct Context {
  void* stream = nullptr;
};
struct Expected {
  int algorithm, status;
  float time;
  size_t memory;
  int is_deterministic, math, reserved[3];
};
// Those of each function, as it recommends them.
struct Algorithm {
  int number;
  size_t workspace;
  bool is_deterministic;
  int pieces;
};
const std::vector<Algorithm> kAlgorithms[] = {
    {{1, 1024, true, 8}, {0, 0, true, 1}, {2, 512, true, 2}},
    {{0, 0, false, 1}, {1, 2048, true, 2}},
    {{0, 0, false, 3}, {3, 256, false, 9}, {1, 0, true, 2}},
};
const char* const kNames[] = {"Forward", "BackwardData", "BackwardFilter"};

std::set<void*> live;
struct Failure {
  int status = 0, after = 0;
};
std::map<std::string, Failure> failures;
int failure_of(const std::string& function) {
  Failure& given = failures[function];
  return given.after-- > 0 ? 0 : given.status;
}
std::string calls;

template <class Function>
Function of_driver(const char* name) {
  return reinterpret_cast<Function>(dlsym(dlopen(std::getenv("PELLUCID_CUDA_DRIVER"), RTLD_NOW), name));
}

int refuse(const char* why) { return std::fprintf(stderr, "stand-in for cuDNN: %s\n", why), kBadParameter; }
#define REQUIRE(condition) \
  if (!(condition)) return refuse(#condition)

Made* made_of(void* handle, Kind kind) {
  if (!live.count(handle)) return nullptr;
  auto* const made = static_cast<Made*>(handle);
  return made->kind == kind ? made : nullptr;
}
int create(void** into, Kind kind) {
  REQUIRE(into);
  auto* const made = new Made;
  made->kind = kind;
  return live.insert(made), *into = made, 0;
}
int destroy(void* handle, Kind kind) {
  REQUIRE(made_of(handle, kind));
  return live.erase(handle), delete static_cast<Made*>(handle), 0;
}

size_t item(int type) { return type == kDouble ? 8 : type == kFloat ? 4 : 2; }

bool is_in_a_block(const void* memory, size_t nbytes) {
  static uint64_t ranges[1 << 16];
  const int count = of_driver<int (*)(uint64_t*, int)>("standin_ranges")(ranges, 1 << 16);
  const auto first = reinterpret_cast<uint64_t>(memory);
  for (int k = 0; k < count; k += 2)
    if (first >= ranges[k] && first + nbytes <= ranges[k + 1]) return true;
  return false;
}

double read(const void* memory, int64_t at, int type) {
  if (type == kDouble) return static_cast<const double*>(memory)[at];
  if (type == kFloat) return static_cast<const float*>(memory)[at];
  if (type == kHalf) return static_cast<double>(static_cast<const _Float16*>(memory)[at]);
  const uint32_t bits = uint32_t{static_cast<const uint16_t*>(memory)[at]} << 16;
  float value;
  return std::memcpy(&value, &bits, 4), value;
}
void write(void* memory, int64_t at, int type, double value) {
  if (type == kDouble) static_cast<double*>(memory)[at] = value;
  else if (type == kFloat) static_cast<float*>(memory)[at] = static_cast<float>(value);
  else if (type == kHalf) static_cast<_Float16*>(memory)[at] = static_cast<_Float16>(value);
  else {
    const auto narrow = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &narrow, 4);
    static_cast<uint16_t*>(memory)[at] = static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
  }
}

// The strides of a filter, which follow from its format.
std::vector<int> filter_strides(const Made& filter) {
  std::vector<int> strides(filter.sizes.size());
  int step = 1;
  if (filter.format == 1) strides[1] = step, step *= filter.sizes[1];
  for (size_t d = strides.size() - 1; d > 1; --d) strides[d] = step, step *= filter.sizes[d];
  if (filter.format == 0) strides[1] = step, step *= filter.sizes[1];
  return strides[0] = step, strides;
}

bool is_dense_in(const Made& tensor, int format) {
  Made like = tensor;
  like.format = format;
  const std::vector<int> expected = filter_strides(like);
  for (size_t d = 0; d < expected.size(); ++d)
    if (tensor.sizes[d] > 1 && tensor.strides[d] != expected[d]) return false;
  return true;
}

// A convolution's tensors: 0 the image, 1 the filter, 2 the result. `computed` is one of them.
struct Call {
  Made tensors[3], convolution;
  void* memory[3];
  int computed;
};

void compute(const Call& call) {
  const Made &image = call.tensors[0], &filter = call.tensors[1], &result = call.tensors[2];
  const std::vector<int> steps[] = {image.strides, filter_strides(filter), result.strides};
  const size_t spatial = image.sizes.size() - 2;
  std::vector<double> sums(static_cast<size_t>(call.tensors[call.computed].count()));
  const int per_group = filter.sizes[0] / call.convolution.groups;
  int64_t windows = 1, taps = 1;
  for (size_t d = 0; d < spatial; ++d) windows *= result.sizes[2 + d], taps *= filter.sizes[2 + d];
  for (int n = 0; n < image.sizes[0]; ++n)
    for (int o = 0; o < filter.sizes[0]; ++o)
      for (int c = 0; c < filter.sizes[1]; ++c)
        for (int64_t w = 0; w < windows; ++w)
          for (int64_t t = 0; t < taps; ++t) {
            const int channel = o / per_group * filter.sizes[1] + c;
            int64_t at[] = {n * steps[0][0] + channel * steps[0][1], o * steps[1][0] + c * steps[1][1],
                            n * steps[2][0] + o * steps[2][1]};
            bool is_inside = true;
            int64_t window = w, tap = t;
            for (size_t d = spatial; d--;) {
              const int p = static_cast<int>(window % result.sizes[2 + d]),
                        k = static_cast<int>(tap % filter.sizes[2 + d]);
              window /= result.sizes[2 + d], tap /= filter.sizes[2 + d];
              const int place =
                  p * call.convolution.stride[d] + k * call.convolution.dilation[d] - call.convolution.padding[d];
              is_inside &= place >= 0 && place < image.sizes[2 + d];
              at[0] += place * steps[0][2 + d], at[1] += k * steps[1][2 + d], at[2] += p * steps[2][2 + d];
            }
            if (!is_inside) continue;
            double product = 1;
            for (int k = 0; k < 3; ++k)
              if (k != call.computed) product *= read(call.memory[k], at[k], call.tensors[k].type);
            sums[static_cast<size_t>(at[call.computed])] += product;
          }
  for (size_t k = 0; k < sums.size(); ++k)
    write(call.memory[call.computed], static_cast<int64_t>(k), call.tensors[call.computed].type, sums[k]);
}

int check_problem(const Made* image, const Made* filter, const Made* result, const Made* convolution) {
  REQUIRE(image && filter && result && convolution);
  REQUIRE(image->is_set && filter->is_set && result->is_set && convolution->is_set);
  REQUIRE(image->type == filter->type && image->type == result->type);
  REQUIRE(convolution->type == (image->type == kDouble ? kDouble : kFloat));
  REQUIRE(convolution->mode == 1);
  REQUIRE(image->sizes.size() == filter->sizes.size() && image->sizes.size() == result->sizes.size());
  REQUIRE(convolution->stride.size() + 2 == image->sizes.size());
  REQUIRE(image->sizes[1] == filter->sizes[1] * convolution->groups && filter->sizes[0] % convolution->groups == 0);
  REQUIRE(result->sizes[0] == image->sizes[0] && result->sizes[1] == filter->sizes[0]);
  for (size_t d = 0; d < convolution->stride.size(); ++d) {
    const int reach = convolution->dilation[d] * (filter->sizes[2 + d] - 1) + 1;
    const int span = image->sizes[2 + d] + 2 * convolution->padding[d] - reach;
    REQUIRE(span >= 0 && result->sizes[2 + d] == span / convolution->stride[d] + 1);
  }
  if (image->type == kFloat) REQUIRE(convolution->math == 0 || convolution->math == 3);
  if (image->type == kDouble && filter->format == 1) return kNotSupported;
  return is_dense_in(*image, filter->format) && is_dense_in(*result, filter->format) ? 0 : kNotSupported;
}

// The arguments of a function of the kind, as image, filter, result.
void arrange(int kind, void* first, void* second, void* computed, void** into) {
  void* const given[3][3] = {{first, second, computed}, {computed, first, second}, {first, computed, second}};
  std::memcpy(into, given[kind], sizeof given[kind]);
}

int check_kind(int kind, void* first, void* second, void* convolution, void* computed) {
  void* made[3];
  arrange(kind, first, second, computed, made);
  return check_problem(made_of(made[0], Kind::Tensor), made_of(made[1], Kind::Filter), made_of(made[2], Kind::Tensor),
                       made_of(convolution, Kind::Convolution));
}

int find(int kind, void* context, void* first, void* second, void* convolution, void* computed, int wanted, int* count,
         Expected* found) {
  REQUIRE(context && wanted > 0 && count && found);
  if (const int status = check_kind(kind, first, second, convolution, computed)) return status;
  if (const int status = failure_of("find")) return status;
  *count = 0;
  for (const Algorithm& one : kAlgorithms[kind])
    if (*count < wanted)
      found[(*count)++] = {
          one.number, 0, -1, one.workspace, one.is_deterministic, static_cast<Made*>(convolution)->math, {}};
  if (*count < wanted) found[(*count)++] = {6, kNotSupported, -1, 0, 1, 0, {}};
  return 0;
}

const Algorithm* algorithm_of(int kind, int number) {
  for (const Algorithm& one : kAlgorithms[kind])
    if (one.number == number) return &one;
  return nullptr;
}

int workspace(int kind, void* context, void* first, void* second, void* convolution, void* computed, int algorithm,
              size_t* nbytes) {
  REQUIRE(context && nbytes);
  if (const int status = check_kind(kind, first, second, convolution, computed)) return status;
  const Algorithm* const one = algorithm_of(kind, algorithm);
  if (!one) return kNotSupported;
  return *nbytes = one->workspace, 0;
}

int run(int kind, void* context, const void* alpha, void* first_made, const void* first, void* second_made,
        const void* second, void* convolution, int algorithm, void* memory, size_t nbytes, const void* beta,
        void* computed_made, void* computed) {
  if (const int status = check_kind(kind, first_made, second_made, convolution, computed_made)) return status;
  Call call;
  void* made[3];
  arrange(kind, first_made, second_made, computed_made, made);
  arrange(kind, const_cast<void*>(first), const_cast<void*>(second), computed, call.memory);
  call.computed = kind == 0 ? 2 : kind == 1 ? 0 : 1;
  call.convolution = *static_cast<Made*>(convolution);
  for (int k = 0; k < 3; ++k) {
    call.tensors[k] = *static_cast<Made*>(made[k]);
    const size_t bytes = static_cast<size_t>(call.tensors[k].count()) * item(call.tensors[k].type);
    REQUIRE(is_in_a_block(call.memory[k], bytes) && reinterpret_cast<uint64_t>(call.memory[k]) % 16 == 0);
  }
  const bool is_wide = call.tensors[0].type == kDouble;
  REQUIRE((is_wide ? *static_cast<const double*>(alpha) : *static_cast<const float*>(alpha)) == 1);
  REQUIRE((is_wide ? *static_cast<const double*>(beta) : *static_cast<const float*>(beta)) == 0);
  const Algorithm* const one = algorithm_of(kind, algorithm);
  if (!one) return kNotSupported;
  if (const int status = failure_of("run" + std::to_string(algorithm))) return status;
  REQUIRE(nbytes >= one->workspace && (!nbytes || is_in_a_block(memory, nbytes)));
  calls += std::string(kNames[kind]) + " algorithm=" + std::to_string(algorithm) +
           " type=" + std::to_string(call.tensors[0].type) + " math=" + std::to_string(call.convolution.math) +
           " format=" + std::to_string(call.tensors[1].format) + " groups=" + std::to_string(call.convolution.groups) +
           "\n";
  const auto queue = of_driver<int (*)(void*, void (*)(void*), void*)>("cuLaunchHostFunc");
  void* const stream = static_cast<Context*>(context)->stream;
  for (int piece = 1; piece < one->pieces; ++piece)
    if (const int status = queue(stream, [](void*) {}, nullptr)) return status;
  return queue(stream, [](void* given) { compute(*static_cast<Call*>(given)); }, new Call(call));  // graphs repeat it
}

struct Addition {
  Made bias, tensor;
  const void* from;
  void* to;
};

void add(void* given) {
  const auto& call = *static_cast<Addition*>(given);
  const Made& tensor = call.tensor;
  for (int64_t at = 0; at < tensor.count(); ++at) {
    const int64_t channel = at / tensor.strides[1] % tensor.sizes[1];
    write(call.to, at, tensor.type, read(call.to, at, tensor.type) + read(call.from, channel, tensor.type));
  }
}

}  // namespace

EXPORT const char* standin_cudnn_log() {
  static std::string found;
  found = calls;
  return calls.clear(), found.c_str();
}
EXPORT void standin_cudnn_fail(const char* function, int status, int after) { failures[function] = {status, after}; }
EXPORT int standin_cudnn_live() { return static_cast<int>(live.size()); }

EXPORT size_t cudnnGetVersion() { return 91002; }
EXPORT const char* cudnnGetErrorString(int) { return "refused by the stand-in"; }
EXPORT int cudnnCreate(void** handle) {
  if (const int status = failure_of("create")) return calls += "Create\n", status;
  return *handle = new Context, 0;
}
EXPORT int cudnnSetStream(void* handle, void* stream) { return static_cast<Context*>(handle)->stream = stream, 0; }
EXPORT int cudnnCreateTensorDescriptor(void** made) { return create(made, Kind::Tensor); }
EXPORT int cudnnCreateFilterDescriptor(void** made) { return create(made, Kind::Filter); }
EXPORT int cudnnCreateConvolutionDescriptor(void** made) { return create(made, Kind::Convolution); }
EXPORT int cudnnDestroyTensorDescriptor(void* made) { return destroy(made, Kind::Tensor); }
EXPORT int cudnnDestroyFilterDescriptor(void* made) { return destroy(made, Kind::Filter); }
EXPORT int cudnnDestroyConvolutionDescriptor(void* made) { return destroy(made, Kind::Convolution); }

EXPORT int cudnnSetTensorNdDescriptor(void* handle, int type, int dims, const int* sizes, const int* strides) {
  Made* const made = made_of(handle, Kind::Tensor);
  REQUIRE(made && (type == kFloat || type == kDouble || type == kHalf || type == kBfloat16));
  REQUIRE(dims == 4 || dims == 5);
  for (int d = 0; d < dims; ++d) REQUIRE(sizes[d] > 0 && strides[d] > 0);
  made->is_set = true, made->type = type;
  return made->sizes.assign(sizes, sizes + dims), made->strides.assign(strides, strides + dims), 0;
}
EXPORT int cudnnSetFilterNdDescriptor(void* handle, int type, int format, int dims, const int* sizes) {
  Made* const made = made_of(handle, Kind::Filter);
  REQUIRE(made && (dims == 4 || dims == 5) && (format == 0 || format == 1));
  for (int d = 0; d < dims; ++d) REQUIRE(sizes[d] > 0);
  made->is_set = true, made->type = type, made->format = format;
  return made->sizes.assign(sizes, sizes + dims), 0;
}
EXPORT int cudnnSetConvolutionNdDescriptor(void* handle, int spatial, const int* padding, const int* stride,
                                           const int* dilation, int mode, int type) {
  Made* const made = made_of(handle, Kind::Convolution);
  REQUIRE(made && (spatial == 2 || spatial == 3));
  for (int d = 0; d < spatial; ++d) REQUIRE(padding[d] >= 0 && stride[d] > 0 && dilation[d] > 0);
  made->is_set = true, made->mode = mode, made->type = type;
  made->padding.assign(padding, padding + spatial), made->stride.assign(stride, stride + spatial);
  return made->dilation.assign(dilation, dilation + spatial), 0;
}
EXPORT int cudnnSetConvolutionGroupCount(void* handle, int groups) {
  Made* const made = made_of(handle, Kind::Convolution);
  REQUIRE(made && groups > 0);
  return made->groups = groups, 0;
}
EXPORT int cudnnSetConvolutionMathType(void* handle, int math) {
  Made* const made = made_of(handle, Kind::Convolution);
  REQUIRE(made && math >= 0 && math <= 3);
  return made->math = math, 0;
}

#define OF_KIND(kind, name)                                                                                          \
  EXPORT int cudnnGetConvolution##name##Algorithm_v7(void* c, void* a, void* b, void* v, void* d, int n, int* count, \
                                                     Expected* found) {                                              \
    return find(kind, c, a, b, v, d, n, count, found);                                                               \
  }                                                                                                                  \
  EXPORT int cudnnGetConvolution##name##WorkspaceSize(void* c, void* a, void* b, void* v, void* d, int algorithm,    \
                                                      size_t* nbytes) {                                              \
    return workspace(kind, c, a, b, v, d, algorithm, nbytes);                                                        \
  }                                                                                                                  \
  EXPORT int cudnnConvolution##name(void* c, const void* alpha, void* am, const void* a, void* bm, const void* b,    \
                                    void* v, int algorithm, void* memory, size_t nbytes, const void* beta, void* dm, \
                                    void* d) {                                                                       \
    return run(kind, c, alpha, am, a, bm, b, v, algorithm, memory, nbytes, beta, dm, d);                             \
  }
OF_KIND(0, Forward)
OF_KIND(1, BackwardData)
OF_KIND(2, BackwardFilter)

EXPORT int cudnnAddTensor(void* context, const void* alpha, void* bias, const void* from, const void* beta,
                          void* tensor, void* to) {
  if (const int status = failure_of("add")) return status;
  const Made *const one = made_of(bias, Kind::Tensor), *const other = made_of(tensor, Kind::Tensor);
  REQUIRE(one && other && one->type == other->type && one->count() == other->sizes[1]);
  REQUIRE(one->sizes.size() == other->sizes.size() && one->sizes[1] == other->sizes[1]);
  const bool is_wide = one->type == kDouble;
  for (const void* factor : {alpha, beta})
    REQUIRE((is_wide ? *static_cast<const double*>(factor) : *static_cast<const float*>(factor)) == 1);
  REQUIRE(is_in_a_block(from, static_cast<size_t>(one->count()) * item(one->type)));
  const auto queue = of_driver<int (*)(void*, void (*)(void*), void*)>("cuLaunchHostFunc");
  return queue(static_cast<Context*>(context)->stream, add, new Addition{*one, *other, from, to});
}
