//===- TestPackage.h - A small package for tests ----------------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_TESTPACKAGE_H
#define STRATA_RUNTIME_CORE_TESTPACKAGE_H

#include "strata/runtime/core/Package.h"
#include "strata/runtime/core/PackageWriter.h"

#include <string>

namespace strata::rt {

/// A sound manifest with one command of each kind and one weight of each kind; not a model that
/// could run. All its scalars are stored, defaults too, so that a test can change any of them in
/// place.
std::vector<uint8_t> makeTestManifest();

/// The test manifest with two objects and an input module.
PackageContent makeTestContent();

/// The indices of the test manifest's commands.
enum TestCommand : uint32_t {
  kTestRope,
  kTestLaunch,
  kTestProduct,
  kTestHeadProduct,
  kTestRoute,
  kTestGroup,
  kTestGatheredProduct,
  kTestGroupedProduct,
  kTestSelect,
  kTestParts,
  kTestResidual,
  kTestGatedProduct,
  kTestGatedExperts,
  kTestHeadAttention,
};

/// A model that any CPU runs, without kernels: the next token after position p is p mod vocabulary,
/// whatever the prompt says. Its steps must have one token (chunk 1), since nothing picks out the
/// wanted rows. Logit `id` at position p is cos((p − id) × 2π / vocabulary).
PackageContent makeClockContent(int64_t vocabulary);
/// Its weights: a tensor "hands" [vocabulary, 2], f32.
std::vector<float> makeClockWeights(int64_t vocabulary);

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_TESTPACKAGE_H
