#include "core/owned_results.h"

namespace pellucid {

void OwnedResults::release() {
  take_each([](Tensor) {});
}

}  // namespace pellucid
