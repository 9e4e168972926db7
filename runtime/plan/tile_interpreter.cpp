// Runs tile programs in place of kernels: same arguments, same results, more calls.
#include <algorithm>
#include <vector>

#include "plan/tile_combine.h"
#include "plan/tile_evaluation.h"
#include "plan/tile_nest.h"
#include "plan/tile_program.h"

namespace pellucid::tile {

namespace {

int64_t run_map_program(const Call& call) {
  Evaluation evaluation;
  evaluation.params = call.params;
  for (int64_t outer = 0; outer < call.sizes[1]; ++outer)
    for (int64_t inner = 0; inner < call.sizes[0]; inner += kTile) {
      const std::vector<Elements> operands = call.body_operands(inner, outer);
      evaluation.inputs = operands.data();
      evaluation.count = std::min(kTile, call.sizes[0] - inner);
      if (const int64_t status = evaluation.run(call.program.program)) return status;
      for (size_t k = 0; k < call.num_outputs(); ++k)
        move_elements(call.program.outputs[k], call.operand(k, inner, outer),
                      evaluation.values[call.program.program.results[k]], evaluation.count);
    }
  return 0;
}

// Computes all values of one run, then calls the pack's kernel that combines them.
int64_t run_combination(const Call& call) {
  const bool is_scan = call.program.form == TileProgram::Form::Scan;
  const int64_t length = call.sizes[is_scan ? 0 : 1], others = call.sizes[is_scan ? 1 : 0];
  Evaluation evaluation;
  evaluation.params = call.params;
  evaluation.count = length;
  for (int64_t other = 0; other < others; ++other) {
    std::vector<Elements> operands;
    for (size_t k = 0; k < call.program.inputs.size(); ++k) {
      const size_t operand = call.num_outputs() + k;
      const int64_t* own = call.strides + 2 * operand;
      operands.push_back({call.data[operand] + other * own[is_scan ? 1 : 0], own[is_scan ? 0 : 1]});
    }
    evaluation.inputs = operands.data();
    if (const int64_t status = evaluation.run(call.program.program)) return status;
    const Elements& values = evaluation.values[call.program.program.results[0]];
    char* data[3];
    int64_t strides[6] = {};
    for (size_t k = 0; k < call.num_outputs(); ++k) {
      const int64_t* own = call.strides + 2 * k;
      data[k] = call.data[k] + other * own[is_scan ? 1 : 0];
      if (is_scan) strides[2 * k] = own[0];
    }
    data[call.num_outputs()] = values.data;
    strides[2 * call.num_outputs() + (is_scan ? 0 : 1)] = values.stride;
    const int64_t sizes[2] = {is_scan ? length : 1, is_scan ? 1 : length};
    const uint64_t first[1] = {call.program.params.empty() ? 0 : call.params[call.program.params.size() - 1]};
    if (const int64_t status = call.program.whole.run(data, sizes, strides, first)) return status;
  }
  return 0;
}

class RowsRun {
 public:
  explicit RowsRun(const Call& call) : call_(call) {}

  int64_t run() {
    for (int64_t row = 0; row < call_.sizes[1]; ++row) {
      results_.clear();
      pointers_.clear();
      results_.reserve(call_.program.passes.size());
      for (const RowPass& pass : call_.program.passes)
        if (const int64_t status = run_pass(pass, row)) return status;
    }
    return 0;
  }

 private:
  struct Number {
    alignas(16) char bytes[16];
  };

  int64_t run_pass(const RowPass& pass, int64_t row) {
    const int64_t columns = pass.kind == RowPass::Kind::Store ? 1 : call_.sizes[0];
    std::vector<char> partials;
    for (int64_t column = 0; column < columns || (columns == 0 && partials.empty()); column += kTile) {
      const std::vector<Elements> operands = call_.body_operands(column, row);
      Evaluation evaluation;
      evaluation.params = call_.params;
      evaluation.inputs = operands.data();
      evaluation.rows = pointers_.data();
      evaluation.count = std::min(kTile, columns - column);
      if (const int64_t status = evaluation.run(pass.program)) return status;
      const Elements& values = evaluation.values[pass.program.results[0]];
      if (pass.kind == RowPass::Kind::Reduce) {
        partials.resize(partials.size() + item_size(pass.accumulator));
        char* to = partials.data() + partials.size() - item_size(pass.accumulator);
        if (const int64_t status = reduce(pass.first, to, values, evaluation.count)) return status;
      } else if (pass.kind == RowPass::Kind::Add) {
        add(pass, values, column, row, evaluation.count);
      } else {
        const auto output = static_cast<size_t>(pass.output);
        move_elements(call_.program.outputs[output], call_.operand(output, column, row), values, evaluation.count);
      }
      if (columns == 0) break;
    }
    if (pass.kind != RowPass::Kind::Reduce) return 0;
    Number& number = results_.emplace_back();
    pointers_.push_back(number.bytes);
    const int64_t size = item(pass.accumulator);
    return reduce(pass.again, number.bytes, {partials.data(), size}, static_cast<int64_t>(partials.size()) / size);
  }

  void add(const RowPass& pass, Elements from, int64_t column, int64_t row, int64_t count) const {
    const auto output = static_cast<size_t>(pass.output);
    const Elements to = call_.operand(output, column, row);
    for (int64_t k = 0; k < count; ++k)
      combine_element(Combine::Sum, call_.program.outputs[output], to.data + k * to.stride,
                      from.data + k * from.stride);
  }

  static int64_t reduce(KernelRef& kernel, char* to, Elements from, int64_t count) {
    char* const data[2] = {to, from.data};
    const int64_t sizes[2] = {1, count}, strides[4] = {0, 0, 0, from.stride};
    return kernel.run(data, sizes, strides, nullptr);
  }

  const Call& call_;
  std::vector<Number> results_;
  std::vector<const char*> pointers_;
};

int64_t run_tile_program(void* attached, char* const* data, const int64_t* sizes, const int64_t* strides,
                         const uint64_t* params) {
  auto& owner = *static_cast<AttachedProgram*>(attached);
  const TileProgram& program = owner.get();
  const Call call{program, data, sizes, strides, params};
  switch (program.form) {
    case TileProgram::Form::Map: return run_map_program(call);
    case TileProgram::Form::Reduce:
    case TileProgram::Form::Scan: return run_combination(call);
    case TileProgram::Form::Rows: return RowsRun(call).run();
    case TileProgram::Form::Nest: return run_nest(call);
  }
  return 0;
}

}  // namespace

}  // namespace pellucid::tile

namespace pellucid {

void install_tile_interpreter() { set_program_interpreter(tile::run_tile_program); }

}  // namespace pellucid
