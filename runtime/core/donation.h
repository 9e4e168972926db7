// Donation: operands of a call whose memory nobody reads after the call, so that its result may be computed there.
//
// A backward pass donates gradients that have no other holder, and a replay donates what dies with the call. Handlers
// accept an operand of which they read each element only where they write it. What is donated is lost even if the
// call fails. Only large operands are donated: allocating small ones costs next to nothing.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "core/op_record.h"
#include "core/tensor.h"
#include "core/thread_pool.h"

namespace pellucid {

struct Donation {
  const OpCall* call;
  std::span<TensorImpl* const> tensors;
  // If set, nothing is taken: each operand that a handler would accept is appended.
  std::vector<TensorImpl*>* accepted = nullptr;
};

class DonationScope {
 public:
  explicit DonationScope(Donation& donation) : outer_(std::exchange(current(), &donation)) {}
  ~DonationScope() { current() = outer_; }
  DonationScope(const DonationScope&) = delete;
  DonationScope& operator=(const DonationScope&) = delete;

 private:
  friend Donation* donation_to(const OpCall& call);
  static Donation*& current();  // of this thread
  Donation* const outer_;
};

// Whether the tensor is in the CPU's memory and large enough to be worth donating. Work on such tensors is shared by
// threads, so that their calls are not prepared: a prepared call tells operands and results apart by their addresses.
inline bool is_worth_donating(const TensorImpl& tensor) {
  return tensor.numel > kParallelGrain && !tensor.is_off_host();
}

// The donation to this call, or null.
Donation* donation_to(const OpCall& call);

// Whether the memory of `operand` holds exactly a result of these sizes, strides and dtype, and no other tensor is in
// it.
bool holds_result(const TensorImpl& operand, std::span<const int64_t> sizes, std::span<const int64_t> strides,
                  DType dtype);
// A tensor in the memory of `operand`, which must not be used afterwards: another identity, at version 0.
Tensor result_in(TensorImpl& operand);
// Accepts `operand`, if it is donated and holds the result; null: it is not.
Tensor accept(Donation& donation, TensorImpl& operand, std::span<const int64_t> sizes, std::span<const int64_t> strides,
              DType dtype);

}  // namespace pellucid
