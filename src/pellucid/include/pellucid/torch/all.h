// All that torch/extension.h offers, and what goes with loops over elements.
#pragma once

#include <cmath>

#include "pellucid/torch/autograd.h"
#include "pellucid/torch/library.h"
#include "pellucid/torch/module.h"

namespace at {

// In the calling thread.
template <class Body>
void parallel_for(int64_t begin, int64_t end, int64_t /*grain*/, const Body& body) {
  if (begin < end) body(begin, end);
}

}  // namespace at

#define PELLUCID_CASE(dtype, type, ...) \
  case dtype: {                         \
    using scalar_t [[maybe_unused]] = type; \
    return __VA_ARGS__();               \
  }
#define PELLUCID_SWITCH(given, text, cases)                                                          \
  [&] {                                                                                              \
    const ::at::ScalarType pellucid_dtype = given;                                                   \
    switch (pellucid_dtype) {                                                                        \
      cases default : AT_ERROR('"', text, "\" not implemented for '", ::c10::name(pellucid_dtype), '\''); \
    }                                                                                                \
  }()
#define PELLUCID_FLOATING(...)                                 \
  PELLUCID_CASE(::at::ScalarType::Double, double, __VA_ARGS__) \
  PELLUCID_CASE(::at::ScalarType::Float, float, __VA_ARGS__)
#define PELLUCID_INTEGRAL(...)                                 \
  PELLUCID_CASE(::at::ScalarType::Byte, uint8_t, __VA_ARGS__)  \
  PELLUCID_CASE(::at::ScalarType::Char, int8_t, __VA_ARGS__)   \
  PELLUCID_CASE(::at::ScalarType::Short, int16_t, __VA_ARGS__) \
  PELLUCID_CASE(::at::ScalarType::Int, int32_t, __VA_ARGS__)   \
  PELLUCID_CASE(::at::ScalarType::Long, int64_t, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(dtype, name, ...) PELLUCID_SWITCH(dtype, name, PELLUCID_FLOATING(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(dtype, name, ...) PELLUCID_SWITCH(dtype, name, PELLUCID_INTEGRAL(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(dtype, name, ...) \
  PELLUCID_SWITCH(dtype, name, PELLUCID_FLOATING(__VA_ARGS__) PELLUCID_INTEGRAL(__VA_ARGS__))
