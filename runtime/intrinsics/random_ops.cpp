// Random draws in PyTorch's order: in place, and factories.
#include <optional>

#include "core/backend.h"
#include "core/defaults.h"
#include "core/error.h"
#include "core/hooks.h"
#include "core/layout.h"
#include "intrinsics/kernels.h"
#include "intrinsics/random_fill.h"
#include "kernels/copy.h"
#include "kernels/layout.h"

namespace pellucid::intrinsics {
namespace {

void give(OpCall& call, Tensor result) { call.rets[0] = Value::of(result.leak()); }

// In place: argument 0 is self, which is also the result.
void fill_in_place(OpCall& call, auto&& fill) {
  TensorImpl& self = *call.args[0].tensor;
  before_write(*self.storage);
  fill(self);
  self.bump_version();
  give(call, Tensor::share(&self));
}

// dtype, layout and device from the options at the end of a factory's arguments.
struct Options {
  DType dtype;
  Device device;
};
Options options_of(const Value* options, DType dtype, Device device = {}) {
  if (!options[0].is_none()) dtype = static_cast<DType>(options[0].integer);
  if (!options[2].is_none()) device = with_index(decode_device(options[2].integer));
  return {dtype, device};
}
Tensor empty_with(std::span<const int64_t> sizes, const Options& options) {
  return empty(sizes, options.dtype, options.device);
}
Tensor empty_like(const TensorImpl& like, const Value* options) {
  const Options chosen = options_of(options, like.dtype, like.device);
  const MemoryFormat format =
      options[4].is_none() ? MemoryFormat::Preserve : static_cast<MemoryFormat>(options[4].integer);
  return empty_with_format(like, chosen.dtype, format, chosen.device);
}

// A factory's overload may have a generator as argument `place`, before its options.
struct Factory {
  Generator& generator;
  Tensor result;
};
bool takes_generator(const OpCall& call, size_t place) {
  return call.op->schema.arguments[place].type == ArgType::Generator;
}
Factory factory(const OpCall& call, size_t place, const Value& sizes, DType dtype) {
  const bool drawn = takes_generator(call, place);
  Tensor result = empty_with(sizes.ints(), options_of(call.args + place + drawn, dtype));
  Generator& generator = generator_for(drawn ? call.args[place] : Value(), result->device);
  return {generator, std::move(result)};
}

}  // namespace

void uniform(OpCall& call, void*) {
  const Value* args = call.args;
  fill_in_place(call, [&](TensorImpl& self) {
    fill_uniform(self, generator_for(args[3], self.device), args[1].as_double(), args[2].as_double());
  });
}

void normal(OpCall& call, void*) {
  const Value* args = call.args;
  fill_in_place(call, [&](TensorImpl& self) {
    fill_normal(self, generator_for(args[3], self.device), args[1].as_double(), args[2].as_double());
  });
}

void random(OpCall& call, void*) {
  fill_in_place(call, [&](TensorImpl& self) { fill_full_range(self, generator_for(call.args[1], self.device)); });
}

void random_from(OpCall& call, void*) {
  const Value* args = call.args;
  fill_in_place(call, [&](TensorImpl& self) {
    fill_integers(self, generator_for(args[3], self.device), args[1].integer,
                  args[2].is_none() ? std::nullopt : std::optional<int64_t>(args[2].integer));
  });
}

void random_to(OpCall& call, void*) {
  const Value* args = call.args;
  fill_in_place(
      call, [&](TensorImpl& self) { fill_integers(self, generator_for(args[2], self.device), 0, args[1].integer); });
}

void bernoulli(OpCall& call, void*) {
  const Value* args = call.args;
  fill_in_place(
      call, [&](TensorImpl& self) { fill_bernoulli(self, generator_for(args[2], self.device), args[1].as_double()); });
}

void draw_gamma(OpCall& call, void*) {
  fill_in_place(call, [&](TensorImpl& self) { fill_gamma(self, generator_for(call.args[1], self.device)); });
}

void draw_poisson(OpCall& call, void*) {
  fill_in_place(call, [&](TensorImpl& self) { fill_poisson(self, generator_for(call.args[1], self.device)); });
}

void draw_binomial(OpCall& call, void*) {
  fill_in_place(call, [&](TensorImpl& self) { fill_binomial(self, generator_for(call.args[1], self.device)); });
}

void rand(OpCall& call, void*) {
  auto [generator, result] = factory(call, 1, call.args[0], default_dtype());
  fill_uniform(*result, generator, 0, 1);
  give(call, std::move(result));
}

void randn(OpCall& call, void*) {
  auto [generator, result] = factory(call, 1, call.args[0], default_dtype());
  fill_normal(*result, generator, 0, 1);
  give(call, std::move(result));
}

void randint(OpCall& call, void*) {
  auto [generator, result] = factory(call, 2, call.args[1], DType::Int64);
  fill_integers(*result, generator, 0, call.args[0].integer);
  give(call, std::move(result));
}

void randint_low(OpCall& call, void*) {
  auto [generator, result] = factory(call, 3, call.args[2], DType::Int64);
  fill_integers(*result, generator, call.args[0].integer, call.args[1].integer);
  give(call, std::move(result));
}

void normal_of_size(OpCall& call, void*) {
  auto [generator, result] = factory(call, 3, call.args[2], default_dtype());
  fill_normal(*result, generator, call.args[0].as_double(), call.args[1].as_double());
  give(call, std::move(result));
}

void rand_like(OpCall& call, void*) {
  Tensor result = empty_like(*call.args[0].tensor, call.args + 1);
  fill_uniform(*result, default_generator(result->device), 0, 1);
  give(call, std::move(result));
}

void randn_like(OpCall& call, void*) {
  Tensor result = empty_like(*call.args[0].tensor, call.args + 1);
  fill_normal(*result, default_generator(result->device), 0, 1);
  give(call, std::move(result));
}

void randint_like(OpCall& call, void*) {
  Tensor result = empty_like(*call.args[0].tensor, call.args + 2);
  fill_integers(*result, default_generator(result->device), 0, call.args[1].integer);
  give(call, std::move(result));
}

void randint_like_low(OpCall& call, void*) {
  Tensor result = empty_like(*call.args[0].tensor, call.args + 3);
  fill_integers(*result, default_generator(result->device), call.args[1].integer, call.args[2].integer);
  give(call, std::move(result));
}

void randperm(OpCall& call, void*) {
  const int64_t count = call.args[0].integer;
  if (count < 0) raise(ErrorKind::Runtime, "randperm: n must not be negative, got %lld", static_cast<long long>(count));
  const bool drawn = takes_generator(call, 1);
  const Options options = options_of(call.args + 1 + drawn, DType::Int64);
  const int64_t sizes[] = {count};
  Generator& generator = generator_for(drawn ? call.args[1] : Value(), options.device);
  Tensor result = empty_with(sizes, {DType::Int64, options.device});
  fill_permutation(*result, generator);
  give(call, options.dtype == DType::Int64 ? std::move(result) : convert_elements(*result, options.dtype));
}

}  // namespace pellucid::intrinsics
