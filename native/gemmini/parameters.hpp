// Named values from Python, and the geometry of the machine (int8 16x16, fp32 4x4): all of it data, none of it code.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

namespace strop::gemmini {

// Name -> number, as Python hands it over. Each name must be taken by somebody: `unused` says which were not.
class NamedValues {
 public:
  NamedValues() = default;
  explicit NamedValues(std::map<std::string, double> values) : values_(std::move(values)) {}

  double number(const std::string& name, double otherwise) const {
    const auto found = values_.find(name);
    if (found == values_.end()) return otherwise;
    taken_.insert(name);
    return found->second;
  }

  // A whole number in [least, most]. Throws std::invalid_argument outside.
  int64_t integer(const std::string& name, int64_t otherwise, int64_t least, int64_t most) const {
    const double value = number(name, static_cast<double>(otherwise));
    if (!(value >= static_cast<double>(least) && value <= static_cast<double>(most)) || value != std::floor(value))
      throw std::invalid_argument(name + " must be a whole number from " + std::to_string(least) + " to " +
                                  std::to_string(most));
    return static_cast<int64_t>(value);
  }

  std::string unused() const {  // the first name that nobody took, or ""
    for (const auto& [name, value] : values_)
      if (taken_.find(name) == taken_.end()) return name;
    return "";
  }

 private:
  std::map<std::string, double> values_;
  mutable std::set<std::string> taken_;
};

constexpr int kMaxDim = 16;  // of an array that this build can hold
constexpr int kMaxRowBytes = 64;

struct Geometry {
  int dim = 16;               // rows and columns of the array; elements in a row of either memory
  bool floating = false;      // elements and accumulator entries are float32; otherwise int8 and int32
  int element_bytes = 1;
  int accumulator_bytes = 4;
  int banks = 4, bank_rows = 4096;                           // of the scratchpad
  int accumulator_banks = 2, accumulator_bank_rows = 512;
  int max_bytes = 64;         // of one row of a mvin
  int output_bits = 20;       // of what leaves the array (spatialArrayOutputType); not used for float32
  bool pixel_repeats = true;  // first-layer optimisations
  int norm_stats = 4;         // sets of statistics that config_norm chooses from
  // loop_ws loads whole tiles of B, rows past a padded edge too (LoopMatmul.scala compares a counter with itself).
  bool reads_padding_of_b = true;
  // Spike sends an output-stationary result to the accumulator raw; the hardware shifts and clips it (PE.scala).
  bool raw_output_stationary = false;

  int rows() const { return banks * bank_rows; }
  int accumulator_rows() const { return accumulator_banks * accumulator_bank_rows; }
  int row_bytes() const { return dim * element_bytes; }
  int accumulator_row_bytes() const { return dim * accumulator_bytes; }
  int max_columns() const { return max_bytes / element_bytes > dim ? max_bytes / element_bytes : dim; }
  int max_accumulator_columns() const {
    return max_bytes / accumulator_bytes > dim ? max_bytes / accumulator_bytes : dim;
  }
  int max_blocks() const { return max_columns() / dim; }
  int max_accumulator_blocks() const { return max_accumulator_columns() / dim; }
  int bank(int row) const { return row / bank_rows; }
  int accumulator_bank(int row) const { return row / accumulator_bank_rows; }

  // Throws std::invalid_argument for a machine that cannot be.
  static Geometry from(const NamedValues& values) {
    Geometry g;
    g.dim = static_cast<int>(values.integer("geometry.dim", g.dim, 2, kMaxDim));
    g.floating = values.integer("geometry.floating", 0, 0, 1) != 0;
    g.element_bytes = g.floating ? 4 : 1;
    g.banks = static_cast<int>(values.integer("geometry.banks", g.banks, 1, 16));
    g.bank_rows = static_cast<int>(values.integer("geometry.bank_rows", g.bank_rows, g.dim, 65536));
    g.accumulator_banks = static_cast<int>(values.integer("geometry.accumulator_banks", g.accumulator_banks, 1, 16));
    g.accumulator_bank_rows =
        static_cast<int>(values.integer("geometry.accumulator_bank_rows", g.accumulator_bank_rows, g.dim, 65536));
    g.max_bytes = static_cast<int>(values.integer("geometry.max_bytes", g.max_bytes, 16, 256));
    g.output_bits = static_cast<int>(values.integer("geometry.output_bits", g.output_bits, 8, 32));
    g.pixel_repeats = values.integer("geometry.pixel_repeats", g.pixel_repeats, 0, 1) != 0;
    g.norm_stats = static_cast<int>(values.integer("geometry.norm_stats", g.norm_stats, 1, 256));
    g.reads_padding_of_b = values.integer("geometry.reads_padding_of_b", 1, 0, 1) != 0;
    g.raw_output_stationary = values.integer("geometry.raw_output_stationary", 0, 0, 1) != 0;
    if ((g.dim & (g.dim - 1)) != 0) throw std::invalid_argument("geometry.dim must be a power of two");
    if (g.row_bytes() > kMaxRowBytes || g.accumulator_row_bytes() > kMaxRowBytes)
      throw std::invalid_argument("a row has at most 64 bytes");
    for (int n : {g.bank_rows, g.accumulator_bank_rows, g.banks, g.accumulator_banks})
      if ((n & (n - 1)) != 0) throw std::invalid_argument("banks and their rows must be powers of two");
    return g;
  }
};

}  // namespace strop::gemmini
