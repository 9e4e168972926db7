#include "intrinsics/random_ops.h"

#include <string>

#include "autograd/handler.h"
#include "core/defaults.h"
#include "core/dispatcher.h"
#include "core/error.h"
#include "core/hooks.h"
#include "core/layout.h"
#include "intrinsics/random_fill.h"
#include "kernels/copy.h"
#include "kernels/layout.h"

namespace pellucid {
namespace {

Generator& generator_of(const Value& value) {
  return value.is_none() || !value.object ? default_generator() : *static_cast<Generator*>(value.object);
}

void give(OpCall& call, Tensor result) { call.rets[0] = Value::of(result.leak()); }

// In place: self is argument 0; a result is self.
template <void (*fill)(TensorImpl& self, const Value* args)>
void fill_in_place(OpCall& call, void*) {
  TensorImpl& self = *call.args[0].tensor;
  before_write(*self.storage);
  fill(self, call.args);
  self.bump_version();
  give(call, Tensor::share(&self));
}

void uniform(TensorImpl& self, const Value* args) {
  fill_uniform(self, generator_of(args[3]), args[1].as_double(), args[2].as_double());
}
void normal(TensorImpl& self, const Value* args) {
  fill_normal(self, generator_of(args[3]), args[1].as_double(), args[2].as_double());
}
void random(TensorImpl& self, const Value* args) { fill_full_range(self, generator_of(args[1])); }
void random_from(TensorImpl& self, const Value* args) {
  fill_integers(self, generator_of(args[3]), args[1].integer,
                args[2].is_none() ? std::nullopt : std::optional<int64_t>(args[2].integer));
}
void random_to(TensorImpl& self, const Value* args) { fill_integers(self, generator_of(args[2]), 0, args[1].integer); }
void bernoulli(TensorImpl& self, const Value* args) {
  fill_bernoulli(self, generator_of(args[2]), args[1].as_double());
}

// dtype, layout and device as the five options at the end of a factory's arguments say.
struct Options {
  DType dtype;
  Device device;
};
Options options_of(const Value* options, DType dtype, Device device = {}) {
  if (!options[0].is_none()) dtype = static_cast<DType>(options[0].integer);
  if (!options[2].is_none()) device = decode_device(options[2].integer);
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

// A factory's forms without and with a generator, which then is argument `place`; its options follow.
template <size_t place, bool drawn>
Generator& chosen_generator(const OpCall& call) {
  return drawn ? generator_of(call.args[place]) : default_generator();
}
template <size_t place, bool drawn>
Tensor empty_for(const OpCall& call, size_t sizes, DType dtype) {
  return empty_with(call.args[sizes].ints(), options_of(call.args + place + drawn, dtype));
}

template <bool drawn>
void rand(OpCall& call, void*) {
  Tensor result = empty_for<1, drawn>(call, 0, default_dtype());
  fill_uniform(*result, chosen_generator<1, drawn>(call), 0, 1);
  give(call, std::move(result));
}
template <bool drawn>
void randn(OpCall& call, void*) {
  Tensor result = empty_for<1, drawn>(call, 0, default_dtype());
  fill_normal(*result, chosen_generator<1, drawn>(call), 0, 1);
  give(call, std::move(result));
}
template <bool drawn>
void randint(OpCall& call, void*) {
  Tensor result = empty_for<2, drawn>(call, 1, DType::Int64);
  fill_integers(*result, chosen_generator<2, drawn>(call), 0, call.args[0].integer);
  give(call, std::move(result));
}
template <bool drawn>
void randint_low(OpCall& call, void*) {
  Tensor result = empty_for<3, drawn>(call, 2, DType::Int64);
  fill_integers(*result, chosen_generator<3, drawn>(call), call.args[0].integer, call.args[1].integer);
  give(call, std::move(result));
}
void rand_like(OpCall& call, void*) {
  Tensor result = empty_like(*call.args[0].tensor, call.args + 1);
  fill_uniform(*result, default_generator(), 0, 1);
  give(call, std::move(result));
}
void randn_like(OpCall& call, void*) {
  Tensor result = empty_like(*call.args[0].tensor, call.args + 1);
  fill_normal(*result, default_generator(), 0, 1);
  give(call, std::move(result));
}
void randint_like(OpCall& call, void*) {
  Tensor result = empty_like(*call.args[0].tensor, call.args + 2);
  fill_integers(*result, default_generator(), 0, call.args[1].integer);
  give(call, std::move(result));
}
void randint_like_low(OpCall& call, void*) {
  Tensor result = empty_like(*call.args[0].tensor, call.args + 3);
  fill_integers(*result, default_generator(), call.args[1].integer, call.args[2].integer);
  give(call, std::move(result));
}
void normal_of_size(OpCall& call, void*) {
  Tensor result = empty_with(call.args[2].ints(), options_of(call.args + 4, default_dtype()));
  fill_normal(*result, generator_of(call.args[3]), call.args[0].as_double(), call.args[1].as_double());
  give(call, std::move(result));
}

template <bool drawn>
void randperm(OpCall& call, void*) {
  const int64_t count = call.args[0].integer;
  if (count < 0) raise(ErrorKind::Runtime, "randperm: n must not be negative, got %lld", static_cast<long long>(count));
  const Options options = options_of(call.args + 1 + drawn, DType::Int64);
  const int64_t sizes[] = {count};
  if (options.device.type == DeviceType::Meta) return give(call, empty_with(sizes, options));
  Tensor result = empty(sizes, DType::Int64);
  fill_permutation(*result, chosen_generator<1, drawn>(call));
  give(call, options.dtype == DType::Int64 ? std::move(result) : convert_elements(*result, options.dtype));
}

// A factory without tensors whose `device` is neither the CPU nor Meta runs there.
void run_where_named(OpCall& call, void* kernel) {
  if (!ran_on_named_device(call)) reinterpret_cast<BoxedKernel>(kernel)(call, nullptr);
}

// They choose memory and numbers themselves, so one kernel serves both backends.
OpRecord& define(const std::string& schema, BoxedKernel kernel) {
  OpRecord& op = *define_op(schema);
  op.kind = OpKind::Random;
  register_kernel(op, Key::CPU, {run_where_named, reinterpret_cast<void*>(kernel)});
  register_kernel(op, Key::Meta, {kernel, nullptr});
  return op;
}
void define_method(const std::string& schema, BoxedKernel kernel) {
  OpRecord& op = define(schema, kernel);
  op.variant = Variant::InPlace;
  op.is_method = true;
  register_kernel(op, Key::Autograd, {autograd_handler, nullptr});  // refuses leaves that require gradients
}
void define_function(const std::string& schema, BoxedKernel kernel) { define(schema, kernel).is_function = true; }

}  // namespace

void define_random_ops() {
  const std::string generator = "Generator? generator=None";
  const std::string options = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None";
  const std::string like = options + ", MemoryFormat? memory_format=None) -> Tensor";
  const std::string factory = options + ") -> Tensor", drawn = "Generator? generator, " + factory;
  const std::string of_integers = "ScalarType? dtype=long" + factory.substr(factory.find(','));
  const std::string drawn_integers = "Generator? generator, " + of_integers;
  const std::string written = generator + ") -> Tensor(a!)";
  define_method("uniform_(Tensor(a!) self, float from=0, float to=1, *, " + written, fill_in_place<uniform>);
  define_method("normal_(Tensor(a!) self, float mean=0, float std=1, *, " + written, fill_in_place<normal>);
  define_method("random_.from(Tensor(a!) self, int from, int? to, *, " + written, fill_in_place<random_from>);
  define_method("random_.to(Tensor(a!) self, int to, *, " + written, fill_in_place<random_to>);
  define_method("random_(Tensor(a!) self, *, " + written, fill_in_place<random>);
  define_method("bernoulli_.float(Tensor(a!) self, float p=0.5, *, " + written, fill_in_place<bernoulli>);
  define_function("rand(SymInt[] size, *, " + factory, rand<false>);
  define_function("rand.generator(SymInt[] size, *, " + drawn, rand<true>);
  define_function("randn(SymInt[] size, *, " + factory, randn<false>);
  define_function("randn.generator(SymInt[] size, *, " + drawn, randn<true>);
  define_function("randint(SymInt high, SymInt[] size, *, " + of_integers, randint<false>);
  define_function("randint.generator(SymInt high, SymInt[] size, *, " + drawn_integers, randint<true>);
  define_function("randint.low(SymInt low, SymInt high, SymInt[] size, *, " + of_integers, randint_low<false>);
  define_function("randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, " + drawn_integers,
                  randint_low<true>);
  define_function("randperm(SymInt n, *, " + of_integers, randperm<false>);
  define_function("randperm.generator(SymInt n, *, " + drawn_integers, randperm<true>);
  define_function("normal.float_float(float mean, float std, SymInt[] size, *, " + generator + ", " + factory,
                  normal_of_size);
  define_function("rand_like(Tensor self, *, " + like, rand_like);
  define_function("randn_like(Tensor self, *, " + like, randn_like);
  define_function("randint_like(Tensor self, SymInt high, *, " + like, randint_like);
  define_function("randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, " + like, randint_like_low);
}

}  // namespace pellucid
