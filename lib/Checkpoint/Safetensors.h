//===- Safetensors.h - One file of named tensors ----------------*- C++ -*-===//
//
// A .safetensors file is a u64 (little endian) that gives the header's size, the header (a JSON
// object: tensor name to dtype, shape and offsets), then the tensors' bytes without gaps. The
// format is described in the safetensors project's README.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_LIB_CHECKPOINT_SAFETENSORS_H
#define STRATA_LIB_CHECKPOINT_SAFETENSORS_H

#include "strata/lib/Support/ElementType.h"
#include "strata/lib/Support/File.h"

#include <map>
#include <vector>

namespace strata {

/// A tensor in a mapped file.
struct TensorView {
  std::string_view name;
  /// As the file spells it: "BF16", "I64".
  std::string_view dtype;
  /// Nothing when Strata has no use for the dtype: such a tensor can be listed, not read.
  std::optional<ElementType> type;
  std::vector<int64_t> shape;
  /// Row major, little endian; not always aligned to the element's size.
  const std::byte *data = nullptr;
  size_t bytes = 0;
};

/// Tensors by name, in the order of their names.
using TensorMap = std::map<std::string, TensorView, std::less<>>;

/// Reads the header of a safetensors file that lies in memory. The views point into `file`. Every
/// rule of the format is checked: sizes, types, names given once, and offsets that cover the data
/// exactly once. An error is one line of text that does not name the file.
Expected<TensorMap> parseSafetensors(std::string_view file);

/// One .safetensors file, mapped.
class SafetensorsFile {
public:
  /// Errors begin with the path.
  static Expected<SafetensorsFile> open(const std::string &path);

  const TensorMap &tensors() const { return tensors_; }

private:
  SafetensorsFile(MappedFile file, TensorMap tensors)
      : file_(std::move(file)), tensors_(std::move(tensors)) {}
  MappedFile file_;
  TensorMap tensors_;
};

} // namespace strata

#endif // STRATA_LIB_CHECKPOINT_SAFETENSORS_H
