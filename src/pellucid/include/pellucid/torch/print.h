// std::cout << tensor: PyTorch's text of tensors in C++, one number format a matrix, then type and sizes.
#pragma once

#include <iomanip>

#include "pellucid/torch/tensors.h"

namespace at {
namespace detail {

// How the elements of a matrix are printed: divided by `scale`, `width` columns each.
struct NumberFormat {
  double scale = 1;
  int width = 0;
  bool has_exponent = false, is_fixed = false;

  NumberFormat(const double* values, int64_t count) {
    if (count == 0) return;
    bool integral = true;
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (int64_t k = 0; k < count; ++k) {
      if (!std::isfinite(values[k])) continue;
      integral = integral && values[k] == std::ceil(values[k]);
      least = std::min(least, std::abs(values[k]));
      most = std::max(most, std::abs(values[k]));
    }
    const bool any = std::isfinite(least);
    const int low = any ? digits(least) : 1, high = any ? digits(most) : 1;
    if (integral) {
      has_exponent = high > 9;
      width = has_exponent ? 11 : high + 1;
    } else if (high - low > 4) {
      has_exponent = true;
      width = std::abs(high) > 99 || std::abs(low) > 99 ? 12 : 11;
    } else {
      is_fixed = true;
      if (high > 5 || high < 0) scale = std::pow(10.0, high - 1);
      width = scale != 1 || high == 0 ? 7 : high + 6;
    }
  }
  void put(std::ostream& out, double value) const {
    if (has_exponent) out << std::scientific << std::setprecision(4);
    else if (is_fixed) out << std::fixed << std::setprecision(4);
    else out << std::defaultfloat;
    out << std::setw(width) << value / scale;
  }
  void put_scale(std::ostream& out) const { out << std::defaultfloat << scale << " *\n"; }

 private:
  static int digits(double value) { return value == 0 ? 1 : static_cast<int>(std::floor(std::log10(value))) + 1; }
};

inline void print_matrix(std::ostream& out, const double* values, int64_t rows, int64_t columns, int64_t line,
                         int indent) {
  const NumberFormat format(values, rows * columns);
  const std::string margin(static_cast<size_t>(indent), ' ');
  const int64_t per_line = std::max<int64_t>((line - indent) / (format.width + 1), 1);
  for (int64_t first = 0; first < columns; first += per_line) {
    const int64_t last = std::min(first + per_line, columns);
    if (per_line < columns) {
      if (first) out << '\n';
      out << "Columns " << first + 1 << " to " << last << margin;
    }
    if (format.scale != 1) {
      format.put_scale(out);
      out << margin;
    }
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = first; column < last; ++column) {
        format.put(out, values[row * columns + column]);
        out << (column + 1 < last ? ' ' : '\n');
      }
      if (row + 1 < rows) out << margin << (format.scale != 1 ? " " : "");
    }
  }
}

inline void print_elements(std::ostream& out, const Tensor& tensor, int64_t line) {
  const Tensor given = tensor.to(kDouble).contiguous();
  const double* const values = given.data_ptr<double>();
  const IntArrayRef sizes = given.sizes();
  const size_t dims = sizes.size();
  if (dims == 0) out << std::defaultfloat << values[0] << '\n';
  if (dims == 1) {
    const NumberFormat format(values, sizes[0]);
    if (format.scale != 1) format.put_scale(out);
    for (int64_t k = 0; k < sizes[0]; ++k) {
      format.put(out, values[k]);
      out << '\n';
    }
  }
  if (dims == 2) print_matrix(out, values, sizes[0], sizes[1], line, 0);
  if (dims < 3) return;
  // Matrices, the first index fastest.
  const int64_t matrix = sizes[dims - 2] * sizes[dims - 1], count = c10::multiply_integers(sizes.drop_back(2));
  for (int64_t k = 0; k < count; ++k) {
    out << (k ? "\n(" : "(");
    int64_t rest = k, place = 0;
    for (size_t d = 0; d + 2 < dims; ++d) {
      const int64_t index = rest % sizes[d];
      rest /= sizes[d];
      place = place * sizes[d] + index;
      out << index + 1 << ',';
    }
    out << ".,.) = \n";
    print_matrix(out, values + place * matrix, sizes[dims - 2], sizes[dims - 1], line, 1);
  }
}

}  // namespace detail

inline std::ostream& print(std::ostream& out, const Tensor& tensor, int64_t line = 80) {
  if (!tensor.defined()) return out << "[ Tensor (undefined) ]";
  const std::ios::fmtflags flags = out.flags();
  const std::streamsize precision = out.precision();
  if (tensor.is_complex() || tensor.is_sparse()) {
    const c10::detail::Lock lock;
    PyObject* const object = detail::table().to_python(tensor.handle());
    PyObject* const text = object ? PyObject_Str(object) : nullptr;
    if (text) out << PyUnicode_AsUTF8(text) << '\n';
    Py_XDECREF(text);
    Py_XDECREF(object);
  } else if (tensor.numel()) {
    detail::print_elements(out, tensor, line);
  }
  out.flags(flags);
  out.precision(precision);
  out << "[ " << tensor.toString() << '{';
  for (int64_t d = 0; d < tensor.dim(); ++d) out << (d ? "," : "") << tensor.size(d);
  return out << "} ]";
}
inline std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return print(out, tensor); }
inline void print(const Tensor& tensor, int64_t line = 80) {
  print(std::cout, tensor, line);
  std::cout << '\n';
}

}  // namespace at
