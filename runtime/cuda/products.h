// Large products by cuBLASLt, where its library is installed: found at run time, never linked.
//
// The library sums in an order of its own, so its results are compared by tolerance; `must_be_deterministic` turns it
// off. What it does not take (other dtypes, broadcast, gapped or unaligned factors, several batch axes, what it says
// that it does not support) runs on the project's own schedule, as everything does without the library.
#pragma once

#include <memory>
#include <string>

#include "cuda/driver.h"
#include "cuda/grid_launch.h"

namespace pellucid::cuda {

struct BlasFunctions;

class Products {
 public:
  explicit Products(const std::string& library);  // raises a Runtime error if it cannot be loaded
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  // Runs the product on a stream of the current context; false: it is not of a kind that the library computes.
  bool run(const Launch& launch, const GridLaunch& grid, Handle stream);

 private:
  const std::unique_ptr<const BlasFunctions> functions_;
  Handle handle_ = nullptr;
};

}  // namespace pellucid::cuda
