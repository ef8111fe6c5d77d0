//===- TestKernels.h - Kernels built, compiled and called by tests -*- C++ -*-===//
#ifndef STRATA_PASSES_LOWER_TESTKERNELS_H
#define STRATA_PASSES_LOWER_TESTKERNELS_H

#include "strata-rt/kernel-abi.h"
#include "strata/lib/Support/TestFolder.h"
#include "strata/lib/Target/CpuCode.h"
#include "strata/passes/Lower/Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"

#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <random>

namespace strata {

/// Features that fit a chunk, don't fill it, go beyond it, or do so often.
inline const int64_t testWidths[] = {1, 7, 8, 16, 24, 33, 576};

inline uint16_t toBF16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (std::isnan(value))
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
inline float fromBF16(uint16_t value) {
  uint32_t bits = uint32_t(value) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

/// Elements of f32 or bf16 with NaN on both sides: what is read beyond them shows in a result, and
/// what is written there too.
class TestArray {
public:
  TestArray(size_t size, bool bf16 = false)
      : bf16(bf16), size_(size), bytes((size + 2 * guard) * width(), 0xff) {}

  size_t size() const { return size_; }
  void *data() { return bytes.data() + guard * width(); }
  float get(size_t i) const { return at(guard + i); }
  void set(size_t i, float value) {
    ASSERT_LT(i, size_);
    uint16_t rounded = toBF16(value);
    std::memcpy(bytes.data() + (guard + i) * width(), bf16 ? (void *)&rounded : (void *)&value,
                width());
  }
  void fill(std::mt19937 &random, float scale = 1) {
    std::normal_distribution<float> normal(0, scale);
    for (size_t i = 0; i < size_; ++i)
      set(i, normal(random));
  }
  bool hasIntactGuards() const {
    for (size_t i = 0; i < guard; ++i)
      if (!std::isnan(at(i)) || !std::isnan(at(guard + size_ + i)))
        return false;
    return true;
  }
  bool operator==(const TestArray &other) const { return bytes == other.bytes; }

private:
  static constexpr size_t guard = 33; // odd, so that elements are aligned to their own size alone
  size_t width() const { return bf16 ? 2 : 4; }
  float at(size_t i) const {
    float value;
    uint16_t narrow;
    std::memcpy(&value, bytes.data() + i * width(), bf16 ? 0 : 4);
    std::memcpy(&narrow, bytes.data() + i * width(), 2);
    return bf16 ? fromBF16(narrow) : value;
  }

  bool bf16;
  size_t size_;
  std::vector<unsigned char> bytes;
};

/// Holds a module of kernels; each kernel is compiled for the least processor and for this one.
class KernelsTest : public testing::Test {
protected:
  KernelsTest()
      : kernels(mlir::ModuleOp::create(mlir::UnknownLoc::get(prepare(context)), "kernels")),
        generators(*kernels) {}
  ~KernelsTest() override {
    for (void *library : libraries)
      dlclose(library);
  }

  /// The kernel for each processor.
  std::vector<strata_rt_kernel> compile(mlir::SymbolRefAttr kernel) {
    auto function = kernels->lookupSymbol<mlir::func::FuncOp>(kernel.getLeafReference());
    EXPECT_TRUE(function && succeeded(mlir::verify(*kernels)));
    std::vector<Processor> processors{*getProcessorByName("x86-64"), *getProcessorByName("native")};
    auto objects = compileKernels(*kernels, {{function, "kernel"}}, processors);
    EXPECT_TRUE(succeeded(objects));
    std::vector<strata_rt_kernel> functions;
    if (failed(objects))
      return functions;
    for (const std::string &object : *objects) {
      std::string path = folder.write("kernel" + std::to_string(libraries.size()) + ".so", object);
      libraries.push_back(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
      EXPECT_NE(libraries.back(), nullptr) << dlerror();
      functions.push_back(reinterpret_cast<strata_rt_kernel>(dlsym(libraries.back(), "kernel")));
    }
    kernels->getBody()->clear();
    return functions;
  }

  /// Elements in rows; the first dimension is dynamic. Strides are those of dense rows if none are
  /// given.
  mlir::MemRefType view(llvm::ArrayRef<int64_t> inner, llvm::ArrayRef<int64_t> strides = {},
                        bool bf16 = false) {
    llvm::SmallVector<int64_t> shape{mlir::ShapedType::kDynamic};
    shape.append(inner.begin(), inner.end());
    mlir::Type element =
        bf16 ? mlir::Type(mlir::BFloat16Type::get(&context)) : mlir::Float32Type::get(&context);
    if (strides.empty())
      return mlir::MemRefType::get(shape, element);
    return mlir::MemRefType::get(shape, element,
                                 mlir::StridedLayoutAttr::get(&context, 0, strides));
  }
  mlir::MemRefType integers(int64_t width) {
    return mlir::MemRefType::get({mlir::ShapedType::kDynamic, width},
                                 mlir::IntegerType::get(&context, 32));
  }
  CacheFieldAttr field(FieldRole role, int64_t heads, int64_t width, bool bf16 = false) {
    mlir::Type element =
        bf16 ? mlir::Type(mlir::BFloat16Type::get(&context)) : mlir::Float32Type::get(&context);
    return CacheFieldAttr::get(&context, role, heads, width, element);
  }
  CacheType cache(llvm::ArrayRef<CacheFieldAttr> fields, int64_t pageSize, bool planar = false) {
    return CacheType::get(&context, fields, pageSize, planar, RopeLayout::None, /*hadamard=*/false);
  }

  static mlir::MLIRContext *prepare(mlir::MLIRContext &context) {
    context.loadDialect<StrataDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                        mlir::math::MathDialect, mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                        mlir::vector::VectorDialect>();
    return &context;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> kernels;
  KernelModule generators;
  std::mt19937 random{7};
  TestFolder folder;
  std::vector<void *> libraries;
};

/// Element [n, h, i] of a view with these strides.
struct TestView {
  TestArray &array;
  int64_t rowStride, headStride;
  size_t index(int64_t row, int64_t head, int64_t feature) const {
    return size_t(row * rowStride + head * headStride + feature);
  }
  float get(int64_t row, int64_t head, int64_t feature) const {
    return array.get(index(row, head, feature));
  }
  void set(int64_t row, int64_t head, int64_t feature, float value) {
    array.set(index(row, head, feature), value);
  }
};

} // namespace strata

#endif // STRATA_PASSES_LOWER_TESTKERNELS_H
