// cuDNN's convolutions: the calls of its library, which is found at run time and never linked.
//
// The calls are those of versions 8 and 9 that take tensors' descriptors, not graphs. Whether and with which algorithm
// to call them is decided in convolutions.h.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/error.h"
#include "cuda/driver.h"

namespace pellucid::cuda {

struct CudnnFunctions;

// The tensor of a convolution that is computed from the other two.
enum class Computed : int { Result, Image, Filter };

// A convolution of images (n, channels, ...) with filters (outputs, channels of a group, ...), all dense in the same
// memory order. The numbers of a spatial dim are those of the dim after next of the tensors.
struct ConvolutionFacts {
  static constexpr int kMaxSpatial = 3;
  Computed computed = Computed::Result;
  DType dtype = DType::Float32;
  bool channels_last = false;
  bool allows_tf32 = false;
  int spatial = 2;  // 2 or 3
  int image[2 + kMaxSpatial] = {}, filter[2 + kMaxSpatial] = {}, result[2 + kMaxSpatial] = {};
  int padding[kMaxSpatial] = {}, stride[kMaxSpatial] = {}, dilation[kMaxSpatial] = {};
  int groups = 1;

  bool operator==(const ConvolutionFacts&) const = default;
};

struct ConvolutionAlgorithm {
  int number, math;
  size_t workspace;  // bytes
  bool is_deterministic;
};

// The addresses of the tensors; aligned as the pool's blocks are.
struct ConvolutionTensors {
  uint64_t image, filter, result;
};

// A convolution that the library took failed.
class ConvolutionError : public Error {
 public:
  explicit ConvolutionError(const std::string& message) : Error(ErrorKind::Runtime, message) {}
};

class Cudnn {
 public:
  // Of the current context. Raises a Runtime error if the library cannot be loaded, UnusableLibrary if it fails.
  explicit Cudnn(const std::string& library);
  ~Cudnn();
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  // The algorithms that take the convolution, those first that the library expects to be fastest. May be empty.
  std::vector<ConvolutionAlgorithm> algorithms(const ConvolutionFacts& facts);
  // False: the library does not support it after all. Raises ConvolutionError.
  bool run(const ConvolutionFacts& facts, const ConvolutionAlgorithm& algorithm, const ConvolutionTensors& tensors,
           uint64_t workspace, Handle stream);
  // Adds a bias of as many numbers as the tensor has channels. `computed` of the facts is Result or Image.
  // False: the library does not support it.
  bool add_bias(const ConvolutionFacts& facts, uint64_t bias, uint64_t tensor, Handle stream);

 private:
  const std::unique_ptr<const CudnnFunctions> functions_;
  std::mutex mutex_;  // of the handle
  Handle handle_ = nullptr;
};

// cudnnGetVersion of a library: 90100 for 9.1.0.
int64_t cudnn_version(const std::string& library);

}  // namespace pellucid::cuda
