//===- SafetensorsFuzzer.cpp - libFuzzer target for the header's reader ---===//
#include "strata/lib/Checkpoint/Safetensors.h"

#include <cstdlib>

/// Any bytes give an error or views that lie inside of the file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  std::string_view file(reinterpret_cast<const char *>(bytes), size);
  strata::Expected<strata::TensorMap> tensors = strata::parseSafetensors(file);
  if (!tensors.ok()) {
    if (tensors.status().message().empty())
      std::abort();
    return 0;
  }
  volatile uint8_t sum = 0;
  for (const auto &[name, tensor] : *tensors)
    for (size_t i = 0; i < tensor.bytes; ++i)
      sum = uint8_t(sum + uint8_t(tensor.data[i]));
  return 0;
}
