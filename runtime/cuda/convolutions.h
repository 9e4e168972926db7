// Convolutions and their gradients by cuDNN, where its library is installed.
//
// A call of an op is taken whole, before its plan runs: what is computed, with its geometry, names a problem, and what
// the library offered for the latest problems is cached. What it does not take (integers, unequal paddings, sizes of
// 2**31, what it says that it does not support, a workspace for which there is no memory) runs by the op's plan, as
// everything does without the library. With the library, gradients are computed by `convolution_backward`
// (convolution_ops.h).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/bounded_cache.h"
#include "core/op_record.h"
#include "cuda/cudnn.h"

namespace pellucid::cuda {

// torch.backends.cudnn's switches.
struct CudnnSettings {
  std::atomic<bool> is_enabled{true}, times_candidates{false}, is_deterministic{false}, allows_tf32{true};
  std::atomic<int> most_candidates{10};  // that are timed; 0: all
};
inline CudnnSettings cudnn_settings;

// What names a problem in a BoundedCache.
class ProblemKey {
 public:
  void add(int number) {
    words_.push_back(static_cast<uint64_t>(number));
    hash_ = (hash_ ^ words_.back()) * 0x9E3779B97F4A7C15;
  }
  uint64_t hash() const { return hash_ ^ hash_ >> 29; }
  const std::vector<uint64_t>& words() const { return words_; }

 private:
  std::vector<uint64_t> words_;
  uint64_t hash_ = 0;
};

// The convolutions of one GPU.
class Convolutions {
 public:
  Convolutions(const std::string& library, Backend& gpus, Device device)
      : cudnn_(library), gpus_(gpus), device_(device) {}

  // Runs a call of an op that has a ConvolutionForm, on the current stream; false: the plan has to.
  bool run(OpCall& call);

 private:
  struct Work;                                           // a problem with its tensors
  struct Read;                                           // a call's arguments
  using Algorithms = std::vector<ConvolutionAlgorithm>;  // those to try, in turn; none: by the plan
  enum class Attempt { Done, NotSupported, NoMemory };
  using Own = std::function<void()>;  // the same by the op's plan

  Tensor compute(const Read& given, Computed computed, const Own& own);
  std::shared_ptr<const Algorithms> algorithms_for(Work& work, const Own& own);
  bool keep_fastest(Algorithms& candidates, Work& work, const Own& own);
  Attempt attempt(Work& work, const ConvolutionAlgorithm& algorithm);
  double milliseconds(const Own& run);
  bool run_forward(OpCall& call, const Read& given);
  bool run_gradients(OpCall& call, const Read& given);

  Cudnn cudnn_;
  Backend& gpus_;
  const Device device_;
  static constexpr std::atomic<size_t> kMostProblems{1024};
  BoundedCache<ProblemKey, std::atomic<std::shared_ptr<const Algorithms>>> problems_{kMostProblems};
};

}  // namespace pellucid::cuda
