// The base graphs as published, not as the engine has them.
#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace carillon::test {

/// Of each row of TS 38.212 table 5.3.2-2 or 5.3.2-3 its columns; of base graph 1 or 2.
inline std::vector<std::vector<std::uint32_t>> base_graph_table(std::uint32_t graph) {
  std::ifstream file(std::string(CARILLON_TEST_DATA) + "/ldpc_bg" + std::to_string(graph) + ".csv");
  std::vector<std::vector<std::uint32_t>> rows;
  std::string line;
  std::getline(file, line);  // names of the table's columns
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::uint32_t row = 0, column = 0;
    char comma = 0;
    words >> row >> comma >> column;
    if (rows.size() <= row) rows.resize(row + 1);
    rows[row].push_back(column);
  }
  return rows;
}

}  // namespace carillon::test
