//===- PackageFuzzer.cpp - libFuzzer target for the package reader --------===//
//
// The first byte says what the others are: a file; a manifest, put into a file with right
// checksums; or changes to a sound manifest, three bytes each (offset, value), put into such a
// file. The last finds what random bytes can't: manifests that contradict themselves in one field.
//
//===----------------------------------------------------------------------===//
#include "strata/runtime/core/PackagePrinter.h"
#include "strata/runtime/core/TestPackage.h"

#include <cstdlib>
#include <cstring>

using namespace strata::rt;
namespace package = strata::package;

static void require(bool condition) {
  if (!condition)
    std::abort();
}

/// Do `rows` rows of a view lie within its slot? Looked at step by step, unlike in the verifier.
static void requireWithin(const package::Manifest &manifest, const package::View &view,
                          int64_t rows, int64_t batch, int64_t width, int64_t tokens,
                          int64_t wanted) {
  if (rows == 0)
    return;
  int64_t last = (rows - 1) * view.row_stride() + (batch - 1) * view.batch_stride() + width;
  int64_t bytes = evaluate(*manifest.slots()->Get(view.base().index())->bytes(), tokens, wanted);
  require(view.base().offset() >= 0 && view.base().offset() + 4 * last <= bytes);
}

static void requireWithin(const package::Manifest &manifest, const package::Product &product,
                          int64_t tokens, int64_t wanted) {
  int64_t rows = evaluate(*product.rows(), tokens, wanted), batch = product.batch();
  requireWithin(manifest, *product.input(), rows, batch, product.inputs(), tokens, wanted);
  for (const package::ProductPart *part : *product.parts()) {
    requireWithin(manifest, *part->output(), rows, batch, part->outputs(), tokens, wanted);
    if (product.residual())
      requireWithin(manifest, *product.residual(), rows, batch, part->outputs(), tokens, wanted);
  }
}

static void requireWithin(const package::Manifest &manifest,
                          const package::HeadAttention &attention, int64_t tokens, int64_t wanted) {
  int64_t items = evaluate(*attention.attention()->items(), tokens, wanted);
  for (const package::Product *product : {attention.absorb(), attention.expand()})
    if (product) {
      require(product->batch() == attention.heads());
      require(evaluate(*product->rows(), tokens, wanted) * attention.heads() == items);
      requireWithin(manifest, *product, tokens, wanted);
    }
}

/// What an executor would touch in some steps.
static void walk(const Package &package) {
  const package::Manifest &manifest = package.manifest();
  constexpr int64_t kSteps[][2] = {{1, 0}, {1, 1}, {2, 1}, {7, 0}, {7, 7}, {1000, 3}};
  for (auto [tokens, wanted] : kSteps) {
    requireWithin(manifest, *manifest.logits(), wanted, 1, manifest.vocabulary_size(), tokens,
                  wanted);
    for (const package::CommandEntry *entry : *manifest.commands()) {
      if (const package::Product *product = entry->command_as_Product())
        requireWithin(manifest, *product, tokens, wanted);
      if (const package::HeadAttention *attention = entry->command_as_HeadAttention())
        requireWithin(manifest, *attention, tokens, wanted);
      if (const package::GatedProduct *product = entry->command_as_GatedProduct()) {
        int64_t rows = evaluate(*product->rows(), tokens, wanted);
        requireWithin(manifest, *product->input(), rows, 1, product->inputs(), tokens, wanted);
        requireWithin(manifest, *product->output(), rows, 1, product->outputs(), tokens, wanted);
      }
    }
  }
  for (const package::Variant *variant : *manifest.variants())
    require(!package.blob(*variant->object()).empty());
  require(!printPackage(package).empty());
}

static void readPackage(std::string_view bytes) {
  strata::Expected<std::unique_ptr<Package>> package = Package::fromBytes(bytes);
  if (package.ok())
    walk(**package);
  else
    require(!package.status().message().empty());
}

static void readManifest(std::vector<uint8_t> manifest) {
  PackageContent content = makeTestContent();
  content.manifest = std::move(manifest);
  strata::Expected<std::string> bytes = packPackage(std::move(content));
  if (bytes.ok())
    readPackage(*bytes);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  if (size == 0)
    return 0;
  const uint8_t *end = bytes + size;
  switch (*bytes++ % 3) {
  case 0: {
    std::vector<char> file(bytes, end); // aligned
    readPackage({file.data(), file.size()});
    break;
  }
  case 1:
    readManifest({bytes, end});
    break;
  default: {
    static const std::vector<uint8_t> sound = makeTestManifest();
    std::vector<uint8_t> manifest = sound;
    for (; end - bytes >= 3; bytes += 3)
      manifest[(bytes[0] | bytes[1] << 8) % manifest.size()] = bytes[2];
    readManifest(std::move(manifest));
  }
  }
  return 0;
}
