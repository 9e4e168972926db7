// The element functions of pointwise ops: implements `find_element_function` of kernels/element_function.h.
#pragma once

#include <atomic>
#include <memory>

#include "core/op_record.h"
#include "kernels/element_function.h"
#include "plan/key_cache.h"

namespace pellucid {

// An op's functions, which live as long as it does: there are few combinations of dtypes and static arguments.
struct ElementFunctions {
  struct Slot {
    std::atomic<ElementFunction*> function{nullptr};
    ~Slot() { delete function.load(); }
  };
  bool frozen_read = false;
  KeyCache<Slot> by_key;
};

// Adds [[key, function], ...] to the op's functions, all or, if it raises, none.
void add_element_functions(ElementFunctions& functions, std::span<const uint8_t> keys);

// Decodes [kernel id, [[argument, dtype], ...] inputs, [dtype, ...] outputs, [[argument, dtype], ...] params,
// random words per element, checks of numbers (None, or [instructions, messages]), messages of requirements
// of elements].
std::unique_ptr<ElementFunction> decode_element_function(std::span<const uint8_t> data);

}  // namespace pellucid
