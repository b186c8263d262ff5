#include "cli/operator/text_table.hpp"

#include <algorithm>
#include <numeric>

#include "cli/operator/plain_text.hpp"

namespace penstock::cli {
namespace {

constexpr std::size_t gap = 2;

}  // namespace

void text_table::add(const std::vector<std::string>& cells) {
  std::vector<std::string> row;
  for (const auto& cell : cells) row.push_back(plain_text(cell));
  row.resize(columns_.size());
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> text_table::widths(std::size_t total) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t widest = columns_of(columns_[i].title);
    for (const auto& row : rows_) widest = std::max(widest, columns_of(row[i]));
    widths.push_back(widest);
  }
  if (total == 0) return widths;
  const auto used = [&] {
    return std::accumulate(widths.begin(), widths.end(), gap * (widths.size() - 1));
  };
  while (used() > total) {
    const auto widest = std::ranges::max_element(widths);
    if (*widest <= column_min) break;
    --*widest;
  }
  return widths;
}

std::vector<std::string> text_table::lines(std::size_t width) const {
  const auto widths_now = widths(width);
  std::vector<std::string> out;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string cell = cut(cell_of(i), widths_now[i]);
      const std::string fill(widths_now[i] - columns_of(cell), ' ');
      if (i > 0) line.append(gap, ' ');
      line += columns_[i].aligned == side::right ? fill + cell : cell + fill;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out.push_back(width == 0 ? std::move(line) : cut(line, width));
  };
  add_line([&](std::size_t i) { return columns_[i].title; });
  for (const auto& row : rows_) add_line([&](std::size_t i) { return row[i]; });
  return out;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const auto& line : lines) out.append(line).append("\n");
  return out;
}

}  // namespace penstock::cli
