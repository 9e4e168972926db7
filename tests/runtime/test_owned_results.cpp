#include <vector>

#include "../sanitizers/check.h"
#include "core/owned_results.h"
#include "core/schema.h"

using namespace pellucid;

namespace {

Tensor some() { return empty({}, DType::Float32); }

struct Call {
  OpRecord op;
  Value rets[3];
  Tensor first = some(), second = some(), third = some();

  Call() {
    op.schema = parse_schema("f() -> (Tensor, Tensor[], Tensor)");
    auto** list = new TensorImpl*[2];
    list[0] = Tensor::share(second.get()).leak();
    list[1] = nullptr;
    rets[0] = Value::of(Tensor::share(first.get()).leak());
    rets[1] = Value::of(std::span<TensorImpl* const>(list, 2));
    rets[2] = Value::of(Tensor::share(third.get()).leak());
  }
  OpCall get() { return {&op, nullptr, rets, 0, {}}; }
  bool nothing_is_shared() const { return first->unique() && second->unique() && third->unique(); }
};

}  // namespace

TEST(results_that_nobody_takes_are_released) {
  Call call;
  {
    const OwnedResults results(call.get());
    CHECK(!call.nothing_is_shared());
  }
  CHECK(call.nothing_is_shared());
}

TEST(results_that_are_given_on_stay) {
  Call call;
  {
    OwnedResults results(call.get());
    results.pass_on();
  }
  CHECK(!call.nothing_is_shared());
  OwnedResults(call.get()).take_each([](Tensor) {});
  CHECK(call.nothing_is_shared());
}

TEST(each_tensor_is_taken_once_and_absent_ones_are_null) {
  Call call;
  std::vector<Tensor> taken;
  OwnedResults(call.get()).take_each([&](Tensor result) { taken.push_back(std::move(result)); });
  CHECK(taken.size() == 4);
  CHECK(taken[0].get() == call.first.get() && taken[1].get() == call.second.get());
  CHECK(!taken[2] && taken[3].get() == call.third.get());
  taken.clear();
  CHECK(call.nothing_is_shared());
}

TEST(what_an_exception_leaves_is_released) {
  Call call;
  try {
    OwnedResults(call.get()).take_each([&](Tensor result) {
      if (result.get() == call.second.get()) throw 1;
    });
  } catch (int) {}
  CHECK(call.nothing_is_shared());
}
