#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "../sanitizers/check.h"
#include "core/dispatcher.h"
#include "core/generator.h"
#include "core/thread_pool.h"
#include "threads/fork_safe_mutex.h"

using namespace pellucid;

namespace {

std::string trail;
void note(OpCall&, void* context) { trail += static_cast<const char*>(context); }
void note_and_go_below(OpCall& call, void* context) {
  note(call, context);
  ExcludeKeys guard(Key::Autograd);
  dispatch(call);
}
KernelEntry entry(const char* text, BoxedKernel function = note) { return {function, const_cast<char*>(text)}; }

std::string run(OpRecord& op, KeySet extra = {}) {
  trail.clear();
  const int64_t sizes[] = {2};
  const Tensor tensor = empty(sizes, DType::Float32);
  tensor->keys = tensor->keys | extra;
  Value args[] = {Value::of(tensor.get())};
  OpCall call{&op, args, nullptr, 1, {}};
  dispatch(call);
  return trail;
}

}  // namespace

TEST(schemas_are_read_in_full) {
  const Schema s = parse_schema(
      "aten::f.x(Tensor(a!) self, Tensor?[] indices, SymInt[2] stride=1, int[] dims=[0, -1], *, Scalar alpha=1, "
      "float eps=1e-05, str mode=\"none\", ScalarType? dtype=None, Generator? generator=None) -> (Tensor(a!) values, "
      "Tensor indices)");
  CHECK(s.name_space == "aten" && s.name == "f" && s.overload == "x" && s.arguments.size() == 9 &&
        s.num_positional == 4);
  CHECK(s.arguments[0].written && s.arguments[0].aliased && s.tensor_arguments == 3);
  CHECK(s.arguments[1].type == ArgType::OptionalTensorList && !s.arguments[1].optional);
  const Value& stride = s.arguments[2].default_value;
  CHECK(stride.tag == Tag::IntList && stride.length == 2 && stride.broadcast_list && stride.integers[1] == 1);
  CHECK(s.arguments[3].default_value.ints()[1] == -1 && s.arguments[3].structural && !s.arguments[2].structural);
  CHECK(s.arguments[5].default_value.number == 1e-05 && std::strcmp(s.arguments[6].default_value.string, "none") == 0);
  CHECK(s.arguments[7].optional && s.arguments[7].type == ArgType::DType && s.arguments[4].keyword_only);
  CHECK(s.returns.size() == 2 && s.returns[0].name == "values" && s.returns[0].written);
  CHECK(parse_schema("g(Tensor self, int n=3) -> Tensor(a)[]").returns[0].is_list);
  CHECK_RAISES("character 15", parse_schema("f(Tensor self, ) -> Tensor"));
  CHECK_RAISES("unexpected text", parse_schema("f(Tensor self) -> Tensor Tensor x"));
}

TEST(the_highest_key_with_a_kernel_runs) {
  OpRecord& op = *define_op("dispatch_test(Tensor self) -> Tensor", "tests");
  CHECK_RAISES("no kernel there", run(op));
  register_kernel(op, Key::CPU, entry("cpu "));
  register_kernel(op, Key::Autograd, entry("autograd ", note_and_go_below));
  CHECK(run(op) == "cpu " && run(op, Key::Autograd) == "autograd cpu ");
  CHECK_RAISES("already", register_kernel(op, Key::CPU, entry("other ")));
  register_kernel(op, Key::CPU, entry("other "), true);
  CHECK(run(op) == "other ");
  register_fall_through(op, Key::Autograd);
  CHECK(run(op, Key::Autograd) == "other ");
  register_fallback(Key::PythonDispatch, entry("python "));
  CHECK(run(op, Key::PythonDispatch) == "python ");
  CHECK(find_op("tests::dispatch_test") == &op && !find_op("tests::unknown"));
}

TEST(catch_all_serves_keys_without_an_entry) {
  OpRecord& op = *define_op("composite_test(Tensor self) -> Tensor", "tests");
  register_catch_all(op, entry("parts "));
  CHECK(run(op, Key::Autograd) == "parts ");
  register_kernel(op, Key::Meta, entry("meta "));
  CHECK(run(op) == "parts ");
}

TEST(observers_see_entries_and_exits) {
  OpRecord& op = *define_op("observed_test(Tensor self) -> Tensor", "tests");
  register_kernel(op, Key::CPU, entry("run "));
  const int token = add_dispatch_observer(
      {[](const OpCall& call, Key key, void*) { trail += call.op->schema.name + "@" + std::string(name(key)) + " "; },
       [](const OpCall&, Key, bool failed, void*) { trail += failed ? "failed" : "done"; }, nullptr});
  CHECK(run(op) == "observed_test@CPU run done");
  register_kernel(op, Key::CPU, {[](OpCall&, void*) { raise(ErrorKind::Value, "no"); }, nullptr}, true);
  CHECK_RAISES("no", run(op));
  CHECK(trail == "observed_test@CPU failed");
  remove_dispatch_observer(token);
  CHECK(!is_watched(kWatchObservers));
}

TEST(parallel_blocks_run_once_each_and_report_the_lowest_failure) {
  set_num_threads(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::atomic<int>> runs(97);
    parallel_blocks(97, [&](int64_t block) { ++runs[static_cast<size_t>(block)]; });
    for (const auto& count : runs) CHECK(count == 1);
    CHECK(parallel_blocks(97, [&](int64_t block) -> int64_t { return block >= 13 ? block : 0; }) == 13);
  }
  CHECK_RAISES("block 20", parallel_blocks(97, [&](int64_t block) {
                 if (block >= 20) raise(ErrorKind::Value, "block %lld", static_cast<long long>(block));
               }));
  int64_t inner = 0;
  parallel_blocks(2, [&](int64_t block) {
    if (block == 0) parallel_blocks(5, [&](int64_t) { ++inner; });  // inline, on this thread
  });
  CHECK(inner == 5);
  set_num_threads(1);
}

TEST(the_child_of_a_fork_runs_alone) {
  take_mutexes_at_forks();
  forget_threads_at_forks();
  set_num_threads(3);
  parallel_blocks(10, [](int64_t) {});
  const pid_t child = fork();
  if (child == 0) {
    int64_t total = 0;
    parallel_blocks(10, [&](int64_t block) { total += block; });
    default_generator().manual_seed(1);
    _exit(total == 45 && num_threads() == 1 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  set_num_threads(1);
}

TEST(the_generator_gives_the_known_stream) {
  HostGenerator generator(5489);  // the reference implementation's default seed
  std::lock_guard lock(generator.mutex);
  CHECK(generator.random32_locked() == 3499211612u);
  std::vector<uint32_t> words(9999);
  generator.fill_locked(words);
  CHECK(words.back() == 4123659995u);  // the 10000th, as the C++ standard gives it
}

TEST(generator_states_are_restored) {
  HostGenerator a(7), b(8);
  std::vector<uint8_t> bytes(HostGenerator::kStateBytes);
  a.mutex.lock();
  a.normal_locked(0, 1);
  a.mutex.unlock();
  a.get_state(bytes);
  b.set_state(bytes);
  CHECK(b.initial_seed() == 7);
  std::scoped_lock lock(a.mutex, b.mutex);
  for (int i = 0; i < 700; ++i) CHECK(a.normal_locked(0, 1) == b.normal_locked(0, 1));
}

TEST(impossible_generator_states_are_refused) {
  HostGenerator generator;
  std::vector<uint8_t> bytes(HostGenerator::kStateBytes);
  CHECK_RAISES("not a state of", generator.set_state(bytes));
  bytes.pop_back();
  CHECK_RAISES("5056 bytes", generator.set_state(bytes));
}
