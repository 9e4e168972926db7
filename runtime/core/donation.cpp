#include "core/donation.h"

#include <algorithm>

#include "core/storage_parts.h"

namespace pellucid {

Donation*& DonationScope::current() {
  static thread_local Donation* donation __attribute__((tls_model("initial-exec"))) = nullptr;
  return donation;
}

Donation* donation_to(const OpCall& call) {
  Donation* const donation = DonationScope::current();
  return donation && donation->call == &call ? donation : nullptr;
}

bool holds_result(const TensorImpl& operand, std::span<const int64_t> sizes, std::span<const int64_t> strides,
                  DType dtype) {
  constexpr int kUnusual =
      TensorImpl::kNoMemory | TensorImpl::kOffHost | TensorImpl::kPending | TensorImpl::kOwnVersion;
  const Storage& storage = *operand.storage;
  return operand.dtype == dtype && is_worth_donating(operand) && !(operand.flags & kUnusual) && !operand.wrapper &&
         operand.device == Device{} && operand.offset == 0 &&
         storage.nbytes == static_cast<size_t>(operand.numel) * item_size(dtype) && !storage.escaped &&
         !storage.deleter && std::ranges::equal(operand.shape(), sizes) &&
         std::ranges::equal(operand.stride(), strides);
}

Tensor result_in(TensorImpl& operand) {
  renew_storage(*operand.storage);
  return tensor_of(*operand.storage, operand.shape(), operand.stride(), 0, operand.dtype);
}

Tensor accept(Donation& donation, TensorImpl& operand, std::span<const int64_t> sizes, std::span<const int64_t> strides,
              DType dtype) {
  if (std::ranges::count(donation.tensors, &operand) == 0 || !holds_result(operand, sizes, strides, dtype)) return {};
  if (!donation.accepted)
    return operand.storage->refs.load(std::memory_order_acquire) == 1 ? result_in(operand) : Tensor();
  donation.accepted->push_back(&operand);
  return {};
}

}  // namespace pellucid
