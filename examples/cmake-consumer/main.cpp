#include <iostream>

#include "base/isa.hpp"

int main() {
  std::cout << "kernels on this machine:";
  for (const carillon::Isa isa : carillon::available_isas())
    std::cout << ' ' << carillon::to_string(isa);
  std::cout << '\n';
}
