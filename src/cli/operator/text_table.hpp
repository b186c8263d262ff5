// A table for people: columns as wide as what stands in them, two spaces between. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::cli {

class text_table {
 public:
  enum class side : bool { left, right };
  struct column {
    std::string title;
    side aligned = side::left;
  };
  // Narrower than this no column is made, whatever the width.
  static constexpr std::size_t column_min = 8;

  explicit text_table(std::vector<column> columns) : columns_(std::move(columns)) {}

  // Cells are passed through plain_text; one that is not given is empty.
  void add(const std::vector<std::string>& cells);
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }

  // Title line and rows without ends of lines. `width` 0: as wide as they are; otherwise the widest
  // columns are cut until a line fits, and the line after that.
  [[nodiscard]] std::vector<std::string> lines(std::size_t width = 0) const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths(std::size_t total) const;

  std::vector<column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Lines with their ends.
[[nodiscard]] std::string joined(const std::vector<std::string>& lines);

}  // namespace penstock::cli
