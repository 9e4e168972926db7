// Lists of C++ as types of Python that share their elements: py::bind_vector. For pybind11's header `stl_bind`.
#pragma once

#include "pellucid/torch/module.h"

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
    Vector added;  // `items` may be `self`
    for (const handle item : items) added.push_back(item.cast<Item>());
    self.insert(self.end(), added.begin(), added.end());
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
