#include "intrinsics/random_fill.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "core/call_op.h"
#include "core/complex_view.h"
#include "core/dispatcher.h"
#include "core/error.h"
#include "core/format.h"
#include "core/geometry.h"
#include "core/hooks.h"
#include "core/named_ops.h"
#include "intrinsics/pausable_lock.h"
#include "kernels/conversion.h"
#include "kernels/copy.h"

namespace pellucid {
namespace {

constexpr int64_t kBlock = 2048;                    // elements drawn at a time
constexpr uint64_t kWideRange = uint64_t{1} << 28;  // ranges from this size on take two words

// The largest integer of an integer dtype; for a floating dtype, the largest up to which it represents all
// integers exactly.
int64_t largest_of(DType dtype) {
  switch (category(dtype)) {
    case DTypeCategory::Bool:
    case DTypeCategory::Integral:
      if (!is_opaque(dtype)) return facts_of(dtype).highest;
      break;
    case DTypeCategory::Floating:
      if (item_size(dtype) > 1) return int64_t{2} << facts_of(dtype).mantissa;
      break;
    default: break;
  }
  raise(ErrorKind::NotImplemented, "random numbers of dtype %s are not supported", std::string(name(dtype)).c_str());
}

// On a device that has generators, fills the tensor by the op, a kernel over the words of such a generator
// (catalogue/random.py); false for a generator of the CPU.
bool fill_there(TensorImpl& tensor, Generator& generator, NamedOp op, std::initializer_list<Value> numbers) {
  if (generator.device.type == DeviceType::CPU) return false;
  if (tensor.numel == 0) return true;
  const Tensor memory = make_view(tensor, tensor.shape(), tensor.stride(), tensor.offset, true);
  if (memory->own_version) memory->own_version->release();  // the source has it, too
  memory->own_version = new VersionCell;                    // the caller counts the write
  memory->flags |= TensorImpl::kOwnVersion;
  std::vector<Value> args{Value::of(memory.get())};
  args.insert(args.end(), numbers);
  Value drawn_from;
  drawn_from.tag = Tag::Generator;
  drawn_from.object = &generator;
  args.push_back(drawn_from);
  Value result;
  OpCall call{&named_op(op), args.data(), &result, static_cast<uint8_t>(args.size()), {}};
  dispatch(call);
  Tensor::adopt(result.tensor);
  return true;
}

// The greatest number of a dtype below a limit.
double last_below(double limit, DType dtype) {
  uint64_t bits = 0;
  const auto convert_one = [&](DType to, void* result, DType from, const void* number) {
    convert(to, static_cast<char*>(result), from, static_cast<const char*>(number), Run{{1, 1}, {0, 0}, {0, 0}});
  };
  convert_one(dtype, &bits, DType::Float64, &limit);
  double rounded = 0;
  convert_one(DType::Float64, &rounded, dtype, &bits);
  if (rounded < limit) return rounded;
  const uint64_t sign = uint64_t{1} << (8 * item_size(dtype) - 1);
  if ((bits & ~sign) == 0) bits = sign | 1;  // the greatest below zero
  else bits += bits & sign ? 1 : -1;
  convert_one(DType::Float64, &rounded, dtype, &bits);
  return rounded;
}

// Calls `fill(dense)` with a dense tensor in the memory order of `tensor`; if that is a different tensor, copies
// the result back.
template <class Fill>
void fill_in_memory_order(TensorImpl& tensor, Fill&& fill) {
  if (tensor.numel == 0 || tensor.device.type == DeviceType::Meta) return;
  require_no_internal_overlap(tensor);
  if (is_non_overlapping_and_dense(tensor.shape(), tensor.stride())) return fill(tensor);
  const Tensor dense = empty_like_layout(tensor, tensor.dtype);
  fill(*dense);
  copy_elements(tensor, *dense);
}

// Writes `make(words)` to every element of a dense tensor; T is converted to the tensor's dtype.
template <class T, int kWords, class Make>
void fill_dense(TensorImpl& tensor, HostGenerator& generator, DType made_dtype, Make&& make) {
  std::array<uint32_t, kBlock * kWords> words;
  std::array<T, kBlock> made;
  char* out = tensor.host();
  const int64_t item = static_cast<int64_t>(item_size(tensor.dtype)), made_item = sizeof(T);
  PausableLock lock(generator);
  for (int64_t first = 0; first < tensor.numel; first += kBlock) {
    lock.pause_after(first);
    const int64_t count = std::min(kBlock, tensor.numel - first);
    generator.fill_locked({words.data(), static_cast<size_t>(count * kWords)});
    for (int64_t i = 0; i < count; ++i) made[static_cast<size_t>(i)] = make(words.data() + i * kWords);
    convert(tensor.dtype, out + first * item, made_dtype, reinterpret_cast<const char*>(made.data()),
            Run{{count, 1}, {item, 0}, {made_item, 0}});
  }
}

uint64_t wide_word(const uint32_t* words) { return uint64_t{words[0]} << 32 | words[1]; }
double uniform_double(const uint32_t* words) {
  return static_cast<double>(wide_word(words) & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
}

template <class Make>
void fill_words(TensorImpl& tensor, HostGenerator& generator, bool wide, Make&& make) {
  fill_in_memory_order(tensor, [&](TensorImpl& dense) {
    if (wide)
      fill_dense<int64_t, 2>(dense, generator, DType::Int64,
                             [&](const uint32_t* words) { return make(wide_word(words)); });
    else
      fill_dense<int64_t, 1>(dense, generator, DType::Int64,
                             [&](const uint32_t* words) { return make(uint64_t{words[0]}); });
  });
}

// `count`: of how many integers from `low` on; 0: of all 2**64. True where there is nothing left to fill.
bool fill_integers_there(TensorImpl& tensor, Generator& generator, int64_t low, uint64_t count) {
  if (tensor.device.type == DeviceType::Meta) return true;
  const auto high = [](auto number) { return Value::of_int(static_cast<int64_t>(number >> 32)); };
  const auto low_half = [](auto number) { return Value::of_int(static_cast<int64_t>(number & 0xFFFFFFFF)); };
  return fill_there(tensor, generator, NamedOp::FillIntegers, {high(low), low_half(low), high(count), low_half(count)});
}

void require_floating(const TensorImpl& tensor, const char* function) {
  if (category(tensor.dtype) != DTypeCategory::Floating || item_size(tensor.dtype) == 1)
    raise(ErrorKind::NotImplemented, "%s needs a floating-point tensor of at least 16 bits, not %s", function,
          std::string(name(tensor.dtype)).c_str());
}

constexpr int64_t kNormals = 16;  // computed from as many uniforms, by pairing the two halves

// Replaces uniforms by normals; the data are dense and a multiple of kNormals long.
template <class T>
void make_normals(T* data, int64_t count, DType dtype, double mean, double std) {
  constexpr size_t kHalf = kNormals / 2 * sizeof(T);
  const int64_t sizes[] = {count / 2};
  const Tensor first = empty(sizes, dtype), second = empty(sizes, dtype);
  const auto exchange = [&](TensorImpl& firsts, TensorImpl& seconds, auto&& move) {
    for (int64_t block = 0; block < count / kNormals; ++block) {
      move(data + block * kNormals, firsts.host_as<T>() + block * kNormals / 2);
      move(data + block * kNormals + kNormals / 2, seconds.host_as<T>() + block * kNormals / 2);
    }
  };
  exchange(*first, *second, [](T* ours, T* half) { std::memcpy(half, ours, kHalf); });
  Value args[] = {Value::of(first.get()), Value::of(second.get()), Value::of_float(mean), Value::of_float(std)},
        rets[2];
  OpCall call{&named_op(NamedOp::BoxMuller), args, rets, 4, {}};
  dispatch(call);
  const Tensor cosines = Tensor::adopt(rets[0].tensor), sines = Tensor::adopt(rets[1].tensor);
  exchange(*cosines, *sines, [](T* ours, T* half) { std::memcpy(ours, half, kHalf); });
}

// Piece by piece, uniforms first. For a remainder shorter than a block, the last 16 elements are drawn again.
template <class T>
void fill_normal_blocks(TensorImpl& tensor, HostGenerator& generator, double mean, double std) {
  constexpr int64_t kPiece = int64_t{1} << 16;
  const int64_t whole = tensor.numel / kNormals * kNormals, strides[] = {1};
  const auto fill_part = [&](int64_t first, int64_t count, bool normals) {
    const int64_t sizes[] = {count};
    const Tensor part = make_view(tensor, sizes, strides, tensor.offset + first, true);
    fill_uniform(*part, generator, 0, 1);
    if (normals) make_normals(part->host_as<T>(), count, part->dtype, mean, std);
  };
  for (int64_t first = 0; first < whole; first += kPiece) {
    if (first % (int64_t{1} << 20) == 0) ask_interrupt();
    fill_part(first, std::min(kPiece, whole - first), true);
  }
  if (whole == tensor.numel) return;
  fill_part(whole, tensor.numel - whole, false);  // these numbers are consumed from the stream in any case
  fill_part(tensor.numel - kNormals, kNormals, true);
}

// Halves are float32 normals rounded once; the remainder's first draw, which would be overwritten, is skipped.
void fill_half_normal(TensorImpl& tensor, HostGenerator& generator, double mean, double std) {
  const int64_t whole = tensor.numel / kNormals * kNormals;
  const Tensor wide = empty(tensor.shape(), DType::Float32);
  const auto fill_part = [&](int64_t first, int64_t count) {
    const int64_t sizes[] = {count}, strides[] = {1};
    fill_normal(*make_view(*wide, sizes, strides, first, true), generator, mean, std);
  };
  fill_part(0, whole);
  if (whole != tensor.numel) fill_part(tensor.numel - kNormals, kNormals);
  copy_elements(tensor, *wide);
}

}  // namespace

void fill_uniform(TensorImpl& tensor, Generator& generator, double from, double to) {
  if (category(tensor.dtype) == DTypeCategory::Complex)
    return fill_uniform(*view_as_real(tensor, true), generator, from, to);
  require_floating(tensor, "uniform_()");
  if (!(from <= to)) raise(ErrorKind::Runtime, "uniform_() expects from <= to; got from=%g and to=%g", from, to);
  if (tensor.device.type == DeviceType::Meta) return;
  const double last = from < to ? std::max(from, last_below(to, tensor.dtype)) : to;
  if (fill_there(tensor, generator, NamedOp::FillUniform,
                 {Value::of_float(from), Value::of_float(to), Value::of_float(last)}))
    return;
  HostGenerator& host = as_host(generator);
  // Fused multiply-add, as in PyTorch's own build: the resulting bits are part of the stream.
  fill_in_memory_order(tensor, [&](TensorImpl& dense) {
    if (dense.dtype == DType::Float64) {
      fill_dense<double, 2>(dense, host, DType::Float64,
                            [=](const uint32_t* words) { return std::fma(uniform_double(words), to - from, from); });
      return;
    }
    constexpr uint32_t kMask = (1u << 24) - 1;  // halves are rounded float32 uniforms
    const double width = static_cast<float>(to) - static_cast<float>(from);
    const double low = static_cast<float>(from);
    fill_dense<float, 1>(dense, host, DType::Float32, [=](const uint32_t* words) {
      return static_cast<float>(std::fma(static_cast<int32_t>(*words & kMask) * 0x1p-24, width, low));
    });
  });
}

void fill_normal(TensorImpl& tensor, Generator& generator, double mean, double std) {
  if (category(tensor.dtype) == DTypeCategory::Complex) {
    if (mean != 0)
      raise(ErrorKind::NotImplemented, "normal_() of complex tensors has mean 0, not %g: add the mean afterwards",
            mean);
    return fill_normal(*view_as_real(tensor, true), generator, 0,
                       std / std::sqrt(2.0));  // each part has half the variance
  }
  require_floating(tensor, "normal_()");
  if (!(std >= 0)) raise(ErrorKind::Runtime, "normal_() expects std >= 0; got std=%g", std);
  if (tensor.numel == 0 || tensor.device.type == DeviceType::Meta) return;
  if (fill_there(tensor, generator, NamedOp::FillNormal, {Value::of_float(mean), Value::of_float(std)})) return;
  HostGenerator& host = as_host(generator);
  if (tensor.numel >= kNormals && tensor.is_contiguous()) {
    if (tensor.dtype == DType::Float64) return fill_normal_blocks<double>(tensor, host, mean, std);
    if (tensor.dtype == DType::Float32) return fill_normal_blocks<float>(tensor, host, mean, std);
    return fill_half_normal(tensor, host, mean, std);
  }
  fill_in_memory_order(tensor, [&](TensorImpl& dense) {
    PausableLock lock(host);
    char* out = dense.host();
    const int64_t item = static_cast<int64_t>(item_size(dense.dtype));
    for (int64_t i = 0; i < dense.numel; ++i) {
      lock.pause_after(i);
      const double value = host.normal_locked(mean, std);
      convert(dense.dtype, out + i * item, DType::Float64, reinterpret_cast<const char*>(&value),
              Run{{1, 1}, {0, 0}, {0, 0}});
    }
  });
}

void fill_integers(TensorImpl& tensor, Generator& generator, int64_t from, std::optional<int64_t> to) {
  const int64_t largest = largest_of(tensor.dtype);
  if (to && from >= *to)
    raise(ErrorKind::Runtime, "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
          static_cast<long long>(from), static_cast<long long>(*to));
  const bool integral = category(tensor.dtype) <= DTypeCategory::Integral;
  const int64_t least = facts_of(tensor.dtype).is_signed ? -largest - 1 : 0;
  if (integral && (from < least || (to && *to - 1 > largest)))
    raise(ErrorKind::Runtime, "random integers from %lld to %lld do not fit into %s, whose range is %lld to %lld",
          static_cast<long long>(from), static_cast<long long>(to ? *to - 1 : largest), type_word(tensor.dtype),
          static_cast<long long>(least), static_cast<long long>(largest));
  const uint64_t range = static_cast<uint64_t>(to ? *to - 1 : largest) - static_cast<uint64_t>(from) + 1;
  if (fill_integers_there(tensor, generator, from, range)) return;
  fill_words(tensor, as_host(generator), range == 0 || range >= kWideRange, [=](uint64_t word) {
    return static_cast<int64_t>((range ? word % range : word) + static_cast<uint64_t>(from));
  });
}

void fill_full_range(TensorImpl& tensor, Generator& generator) {
  const uint64_t count = static_cast<uint64_t>(largest_of(tensor.dtype)) + 1;
  const bool wide = tensor.dtype == DType::Int64 || tensor.dtype == DType::Float64;
  if (fill_integers_there(tensor, generator, 0, count)) return;
  fill_words(tensor, as_host(generator), wide, [=](uint64_t word) { return static_cast<int64_t>(word % count); });
}

void fill_bernoulli(TensorImpl& tensor, Generator& generator, double p) {
  if (!(p >= 0 && p <= 1)) raise(ErrorKind::Runtime, "bernoulli_ expects p to be in [0, 1], but got p=%g", p);
  if (tensor.device.type == DeviceType::Meta) return;
  if (fill_there(tensor, generator, NamedOp::FillBernoulli, {Value::of_float(p)})) return;
  fill_in_memory_order(tensor, [&](TensorImpl& dense) {
    fill_dense<int64_t, 2>(dense, as_host(generator), DType::Int64,
                           [=](const uint32_t* words) { return uniform_double(words) < p; });
  });
}

void fill_permutation(TensorImpl& tensor, Generator& generator) {
  if (tensor.numel == 0 || tensor.device.type == DeviceType::Meta) return;
  const int64_t count = tensor.numel;
  if (generator.device.type != DeviceType::CPU) {
    const Tensor keys = empty(tensor.shape(), DType::Int64, tensor.device);
    fill_integers_there(*keys, generator, 0, 0);
    return copy_elements(tensor, *call_op(NamedOp::Argsort, {Value::of(keys.get())}));
  }
  HostGenerator& host = as_host(generator);
  int64_t* values = tensor.host_as<int64_t>();
  const bool wide = static_cast<uint64_t>(count) >= std::numeric_limits<uint32_t>::max() / 20;
  std::iota(values, values + count, int64_t{0});
  PausableLock lock(host);
  for (int64_t i = 0; i < count - 1; ++i) {
    lock.pause_after(i);
    const uint64_t word = wide ? host.random64_locked() : host.random32_locked();
    std::swap(values[i], values[i + static_cast<int64_t>(word % static_cast<uint64_t>(count - i))]);
  }
}

}  // namespace pellucid
