// Lists of C++ as types of Python that share their elements: PYBIND11_MAKE_OPAQUE, py::bind_vector.
// For pybind11's header `stl_bind`.
#pragma once

#include "pellucid/torch/module.h"

// Values of the type are objects of a class, not copies as lists; at the top level, before the type is converted.
#define PYBIND11_MAKE_OPAQUE(...)                              \
  namespace at::detail {                                       \
  template <>                                                  \
  struct Convert<__VA_ARGS__> : ConvertObject<__VA_ARGS__> {}; \
  }

namespace pybind11 {

template <class Vector>
class_<Vector, std::shared_ptr<Vector>> bind_vector(handle scope, const char* name) {
  using Item = typename Vector::value_type;
  const auto place = [](const Vector& self, ssize_t k) {
    const auto size = static_cast<ssize_t>(self.size());
    if (k < -size || k >= size) throw index_error("the index " + std::to_string(k) + " is out of range");
    return static_cast<size_t>(k < 0 ? k + size : k);
  };
  const auto extend = [](Vector& self, handle items) {
    for (const handle item : items) self.push_back(item.cast<Item>());
  };
  class_<Vector, std::shared_ptr<Vector>> made(scope, name);
  made.def(init<>())
      .def(init([extend](handle items) {
        Vector list;
        extend(list, items);
        return list;
      }))
      .def("__len__", [](const Vector& self) { return self.size(); })
      .def("__getitem__", [place](const Vector& self, ssize_t k) -> Item { return self[place(self, k)]; })
      .def("__setitem__", [place](Vector& self, ssize_t k, const Item& item) { self[place(self, k)] = item; })
      .def("append", [](Vector& self, const Item& item) { self.push_back(item); })
      .def("extend", extend)
      .def("clear", [](Vector& self) { self.clear(); });
  return made;
}

}  // namespace pybind11
