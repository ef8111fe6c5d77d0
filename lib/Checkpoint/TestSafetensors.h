//===- TestSafetensors.h - Small safetensors files for unit tests -*- C++ -*-===//
#ifndef STRATA_LIB_CHECKPOINT_TESTSAFETENSORS_H
#define STRATA_LIB_CHECKPOINT_TESTSAFETENSORS_H

#include <cstdint>
#include <string>
#include <vector>

namespace strata {

/// A file with any header and data, valid or not.
inline std::string safetensorsFile(const std::string &header, const std::string &data) {
  std::string size(8, '\0');
  for (size_t i = 0; i < 8; ++i)
    size[i] = char(uint64_t(header.size()) >> (8 * i) & 255);
  return size + header + data;
}

/// The bytes of a vector.
template <typename T> std::string bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

struct TestTensor {
  std::string name, dtype, shape, data; ///< shape as in JSON: "[2,3]"
};

/// A valid file with these tensors.
inline std::string safetensorsFile(const std::vector<TestTensor> &tensors) {
  std::string header = "{", data;
  for (const TestTensor &tensor : tensors) {
    header += (header.size() > 1 ? "," : "") + ("\"" + tensor.name) + R"(":{"dtype":")" +
              tensor.dtype + R"(","shape":)" + tensor.shape + R"(,"data_offsets":[)" +
              std::to_string(data.size()) + "," + std::to_string(data.size() + tensor.data.size()) +
              "]}";
    data += tensor.data;
  }
  return safetensorsFile(header + "}", data);
}

} // namespace strata

#endif // STRATA_LIB_CHECKPOINT_TESTSAFETENSORS_H
