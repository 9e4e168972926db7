// AT_DISPATCH_*: a body per dtype, in which `scalar_t` is its type.
#pragma once

#include "pellucid/torch/values.h"

#define AT_PRIVATE_CASE_TYPE_USING_HINT(dtype, hint, ...)                           \
  case dtype: {                                                                     \
    using hint [[maybe_unused]] = typename ::c10::ScalarTypeToCPPType<dtype>::type; \
    return __VA_ARGS__();                                                           \
  }
#define AT_DISPATCH_CASE(dtype, ...) AT_PRIVATE_CASE_TYPE_USING_HINT(dtype, scalar_t, __VA_ARGS__)
#define AT_DISPATCH_SWITCH(given, what, ...)                                                                \
  [&] {                                                                                                     \
    const ::c10::ScalarType pellucid_dtype = given;                                                         \
    switch (pellucid_dtype) {                                                                               \
      __VA_ARGS__                                                                                           \
      default:                                                                                              \
        throw ::c10::NotImplementedError(                                                                   \
            ::c10::detail::text('"', what, "\" not implemented for '", ::c10::name(pellucid_dtype), '\'')); \
    }                                                                                                       \
  }()

#define AT_DISPATCH_CASE_FLOATING_TYPES(...)               \
  AT_DISPATCH_CASE(::c10::ScalarType::Double, __VA_ARGS__) \
  AT_DISPATCH_CASE(::c10::ScalarType::Float, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)             \
  AT_DISPATCH_CASE(::c10::ScalarType::Byte, __VA_ARGS__) \
  AT_DISPATCH_CASE(::c10::ScalarType::Char, __VA_ARGS__) \
  AT_DISPATCH_CASE(::c10::ScalarType::Int, __VA_ARGS__)  \
  AT_DISPATCH_CASE(::c10::ScalarType::Long, __VA_ARGS__) \
  AT_DISPATCH_CASE(::c10::ScalarType::Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_COMPLEX_TYPES(...)                       \
  AT_DISPATCH_CASE(::c10::ScalarType::ComplexDouble, __VA_ARGS__) \
  AT_DISPATCH_CASE(::c10::ScalarType::ComplexFloat, __VA_ARGS__)
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...)         \
  AT_DISPATCH_CASE(::c10::ScalarType::BFloat16, __VA_ARGS__) \
  AT_DISPATCH_CASE(::c10::ScalarType::Half, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...)        \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)           \
  AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(...) \
  AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__)           \
  AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)

// Each set alone, and with one to six more dtypes.
#define AT_DISPATCH_FLOATING_TYPES(dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(t0, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(t0, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(t0, t1, dtype, name, ...)                                   \
  AT_DISPATCH_SWITCH(dtype, name,                                                                   \
                     AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(t0, __VA_ARGS__) \
                         AT_DISPATCH_CASE(t1, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND3(t0, t1, t2, dtype, name, ...)                               \
  AT_DISPATCH_SWITCH(dtype, name,                                                                   \
                     AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(t0, __VA_ARGS__) \
                         AT_DISPATCH_CASE(t1, __VA_ARGS__) AT_DISPATCH_CASE(t2, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND4(t0, t1, t2, t3, dtype, name, ...)                                             \
  AT_DISPATCH_SWITCH(dtype, name,                                                                                     \
                     AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(t0, __VA_ARGS__) AT_DISPATCH_CASE( \
                         t1, __VA_ARGS__) AT_DISPATCH_CASE(t2, __VA_ARGS__) AT_DISPATCH_CASE(t3, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND(t0, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(t0, __VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES(dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES_AND(t0, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(t0, __VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(dtype, name, ...) AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(t0, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(t0, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(t0, t1, dtype, name, ...)                                   \
  AT_DISPATCH_SWITCH(dtype, name,                                                              \
                     AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(t0, __VA_ARGS__) \
                         AT_DISPATCH_CASE(t1, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(t0, t1, t2, dtype, name, ...)                               \
  AT_DISPATCH_SWITCH(dtype, name,                                                              \
                     AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(t0, __VA_ARGS__) \
                         AT_DISPATCH_CASE(t1, __VA_ARGS__) AT_DISPATCH_CASE(t2, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND4(t0, t1, t2, t3, dtype, name, ...)                                             \
  AT_DISPATCH_SWITCH(dtype, name,                                                                                \
                     AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(t0, __VA_ARGS__) AT_DISPATCH_CASE( \
                         t1, __VA_ARGS__) AT_DISPATCH_CASE(t2, __VA_ARGS__) AT_DISPATCH_CASE(t3, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND(t0, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name,                                        \
                     AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(t0, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(t0, t1, dtype, name, ...)                                   \
  AT_DISPATCH_SWITCH(dtype, name,                                                                               \
                     AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(t0, __VA_ARGS__) \
                         AT_DISPATCH_CASE(t1, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND3(t0, t1, t2, dtype, name, ...)                               \
  AT_DISPATCH_SWITCH(dtype, name,                                                                               \
                     AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(t0, __VA_ARGS__) \
                         AT_DISPATCH_CASE(t1, __VA_ARGS__) AT_DISPATCH_CASE(t2, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND4(t0, t1, t2, t3, dtype, name, ...)                           \
  AT_DISPATCH_SWITCH(dtype, name,                                                                               \
                     AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(t0, __VA_ARGS__) \
                         AT_DISPATCH_CASE(t1, __VA_ARGS__) AT_DISPATCH_CASE(t2, __VA_ARGS__)                    \
                             AT_DISPATCH_CASE(t3, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND5(t0, t1, t2, t3, t4, dtype, name, ...)                       \
  AT_DISPATCH_SWITCH(dtype, name,                                                                               \
                     AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(t0, __VA_ARGS__) \
                         AT_DISPATCH_CASE(t1, __VA_ARGS__) AT_DISPATCH_CASE(t2, __VA_ARGS__)                    \
                             AT_DISPATCH_CASE(t3, __VA_ARGS__) AT_DISPATCH_CASE(t4, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND6(t0, t1, t2, t3, t4, t5, dtype, name, ...)                   \
  AT_DISPATCH_SWITCH(dtype, name,                                                                               \
                     AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(t0, __VA_ARGS__) \
                         AT_DISPATCH_CASE(t1, __VA_ARGS__) AT_DISPATCH_CASE(t2, __VA_ARGS__) AT_DISPATCH_CASE(  \
                             t3, __VA_ARGS__) AT_DISPATCH_CASE(t4, __VA_ARGS__) AT_DISPATCH_CASE(t5, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX(dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND(t0, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) AT_DISPATCH_CASE(t0, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(t0, t1, dtype, name, ...)                                   \
  AT_DISPATCH_SWITCH(dtype, name,                                                                          \
                     AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) AT_DISPATCH_CASE(t0, __VA_ARGS__) \
                         AT_DISPATCH_CASE(t1, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(t0, t1, t2, dtype, name, ...)                               \
  AT_DISPATCH_SWITCH(dtype, name,                                                                          \
                     AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) AT_DISPATCH_CASE(t0, __VA_ARGS__) \
                         AT_DISPATCH_CASE(t1, __VA_ARGS__) AT_DISPATCH_CASE(t2, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND4(t0, t1, t2, t3, dtype, name, ...)                           \
  AT_DISPATCH_SWITCH(dtype, name,                                                                          \
                     AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) AT_DISPATCH_CASE(t0, __VA_ARGS__) \
                         AT_DISPATCH_CASE(t1, __VA_ARGS__) AT_DISPATCH_CASE(t2, __VA_ARGS__)               \
                             AT_DISPATCH_CASE(t3, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND5(t0, t1, t2, t3, t4, dtype, name, ...)                       \
  AT_DISPATCH_SWITCH(dtype, name,                                                                          \
                     AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) AT_DISPATCH_CASE(t0, __VA_ARGS__) \
                         AT_DISPATCH_CASE(t1, __VA_ARGS__) AT_DISPATCH_CASE(t2, __VA_ARGS__)               \
                             AT_DISPATCH_CASE(t3, __VA_ARGS__) AT_DISPATCH_CASE(t4, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND6(t0, t1, t2, t3, t4, t5, dtype, name, ...)                       \
  AT_DISPATCH_SWITCH(dtype, name,                                                                              \
                     AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) AT_DISPATCH_CASE(t0, __VA_ARGS__)     \
                         AT_DISPATCH_CASE(t1, __VA_ARGS__) AT_DISPATCH_CASE(t2, __VA_ARGS__) AT_DISPATCH_CASE( \
                             t3, __VA_ARGS__) AT_DISPATCH_CASE(t4, __VA_ARGS__) AT_DISPATCH_CASE(t5, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(dtype, name, ...) \
  AT_DISPATCH_FLOATING_TYPES_AND(::c10::ScalarType::Half, dtype, name, __VA_ARGS__)
#define AT_DISPATCH_INDEX_TYPES(dtype, name, ...)                                                  \
  AT_DISPATCH_SWITCH(dtype, name,                                                                  \
                     AT_PRIVATE_CASE_TYPE_USING_HINT(::c10::ScalarType::Int, index_t, __VA_ARGS__) \
                         AT_PRIVATE_CASE_TYPE_USING_HINT(::c10::ScalarType::Long, index_t, __VA_ARGS__))
