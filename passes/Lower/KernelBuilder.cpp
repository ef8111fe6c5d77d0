//===- KernelBuilder.cpp - Loops, chunks and memory of kernels ------------===//
#include "strata/passes/Lower/KernelBuilder.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace strata;

KernelBuilder::KernelBuilder(func::FuncOp function)
    : ImplicitLocOpBuilder(function.getLoc(), function.getContext()), function(function) {
  setInsertionPointToStart(function.addEntryBlock());
}

Value KernelBuilder::stackBuffer(int64_t elements, Type elementType) {
  // In a loop the stack would grow with every iteration.
  InsertionGuard guard(*this);
  setInsertionPointToStart(&function.front());
  auto type = MemRefType::get({elements}, elementType);
  return memref::AllocaOp::create(*this, type, getI64IntegerAttr(64));
}

Value KernelBuilder::index(int64_t value) { return arith::ConstantIndexOp::create(*this, value); }

Value KernelBuilder::splat(double value, int64_t lanes) {
  FloatAttr element = getF32FloatAttr(static_cast<float>(value));
  if (lanes == 0)
    return arith::ConstantOp::create(*this, element);
  return arith::ConstantOp::create(*this,
                                   DenseElementsAttr::get(floats(lanes), Attribute(element)));
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void KernelBuilder::loop(Value from, Value to, int64_t step, Body body) {
  loop(from, to, step, {}, [&](Value position, ValueRange) {
    body(position);
    return SmallVector<Value>();
  });
}

SmallVector<Value> KernelBuilder::loop(Value from, Value to, int64_t step, ValueRange initial,
                                       ReducingBody body) {
  auto loop = scf::ForOp::create(*this, from, to, index(step), initial);
  InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  // Without accumulators the loop already has its terminator.
  if (!initial.empty())
    scf::YieldOp::create(*this, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

void KernelBuilder::forEachRow(MemRefType view, Value item,
                               llvm::function_ref<void(ArrayRef<Value>)> body) {
  if (view.getRank() == 2)
    return body({item});
  loop(index(0), index(view.getDimSize(1)), 1, [&](Value head) { body({item, head}); });
}

void KernelBuilder::forEachChunk(int64_t width, ChunkBody body) {
  reduceChunks(width, {}, [&](Value position, int64_t lanes, ValueRange) {
    body(position, lanes);
    return SmallVector<Value>();
  });
}

SmallVector<Value> KernelBuilder::reduceChunks(int64_t width, ValueRange initial,
                                               ReducingChunkBody body) {
  SmallVector<Value> accumulators(initial);
  int64_t full = width - width % chunkLanes;
  if (full == chunkLanes)
    accumulators = body(index(0), chunkLanes, accumulators);
  else if (full > 0)
    accumulators =
        loop(index(0), index(full), chunkLanes, accumulators,
             [&](Value position, ValueRange values) { return body(position, chunkLanes, values); });
  if (full < width)
    accumulators = body(index(full), width - full, accumulators);
  return accumulators;
}

void KernelBuilder::ifThen(Value condition, llvm::function_ref<void()> body) {
  auto choice = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  InsertionGuard guard(*this);
  setInsertionPointToStart(choice.thenBlock());
  body();
}

Value KernelBuilder::ifThenElse(Value condition, Value otherwise,
                                llvm::function_ref<Value()> body) {
  auto choice = scf::IfOp::create(*this, otherwise.getType(), condition, /*withElseRegion=*/true);
  InsertionGuard guard(*this);
  setInsertionPointToStart(choice.thenBlock());
  Value value = body();
  scf::YieldOp::create(*this, value);
  setInsertionPointToStart(choice.elseBlock());
  scf::YieldOp::create(*this, otherwise);
  return choice.getResult(0);
}

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

Value KernelBuilder::add(Value a, Value b) { return arith::AddIOp::create(*this, a, b); }
Value KernelBuilder::subtract(Value a, Value b) { return arith::SubIOp::create(*this, a, b); }
Value KernelBuilder::multiply(Value a, int64_t b) {
  return arith::MulIOp::create(*this, a, index(b));
}
Value KernelBuilder::quotient(Value a, int64_t b) {
  return arith::DivUIOp::create(*this, a, index(b));
}
Value KernelBuilder::remainder(Value a, int64_t b) {
  return arith::RemUIOp::create(*this, a, index(b));
}
Value KernelBuilder::minimum(Value a, Value b) { return arith::MinSIOp::create(*this, a, b); }
Value KernelBuilder::maximum(Value a, Value b) { return arith::MaxSIOp::create(*this, a, b); }
Value KernelBuilder::isLess(Value a, Value b) {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::slt, a, b);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value KernelBuilder::loadIndex(Value memref, ValueRange indices) {
  Value loaded = memref::LoadOp::create(*this, memref, indices);
  return arith::IndexCastOp::create(*this, getIndexType(), loaded);
}

Value KernelBuilder::loadFloat(Value memref, ValueRange indices) {
  return memref::LoadOp::create(*this, memref, indices);
}

void KernelBuilder::storeFloat(Value value, Value memref, ValueRange indices) {
  memref::StoreOp::create(*this, value, memref, indices);
}

KernelRow KernelBuilder::row(Value memref, ArrayRef<Value> leading) {
  KernelRow row{memref, {}};
  row.indices.append(leading.begin(), leading.end());
  row.indices.push_back(index(0));
  return row;
}

SmallVector<Value, 3> KernelBuilder::at(const KernelRow &row, Value position) {
  SmallVector<Value, 3> indices(row.indices);
  indices.back() = add(indices.back(), position);
  return indices;
}

Value KernelBuilder::load(const KernelRow &row, Value position, int64_t lanes) {
  Type elementType = cast<MemRefType>(row.memref.getType()).getElementType();
  auto type = VectorType::get({lanes}, elementType);
  Value loaded = vector::LoadOp::create(*this, type, row.memref, at(row, position));
  if (elementType.isF32())
    return loaded;
  assert(elementType.isBF16() && "kernels compute with f32 and bf16 memory");
  Value bits = arith::BitcastOp::create(*this, integerTypeLike(type, 16), loaded);
  Value wide = arith::ExtUIOp::create(*this, integerTypeLike(type, 32), bits);
  Value shifted = arith::ShLIOp::create(*this, wide, integersLike(16, wide));
  return arith::BitcastOp::create(*this, floats(lanes), shifted);
}

void KernelBuilder::store(Value vector, const KernelRow &row, Value position) {
  Type elementType = cast<MemRefType>(row.memref.getType()).getElementType();
  if (elementType.isBF16()) {
    Value bits =
        arith::TruncIOp::create(*this, integerTypeLike(vector.getType(), 16), bf16Bits(vector));
    auto type = cast<VectorType>(vector.getType()).clone(elementType);
    vector = arith::BitcastOp::create(*this, type, bits);
  }
  vector::StoreOp::create(*this, vector, row.memref, at(row, position));
}

void KernelBuilder::copy(const KernelRow &source, const KernelRow &destination, int64_t width) {
  Type elementType = cast<MemRefType>(source.memref.getType()).getElementType();
  forEachChunk(width, [&](Value position, int64_t lanes) {
    auto type = VectorType::get({lanes}, elementType);
    Value loaded = vector::LoadOp::create(*this, type, source.memref, at(source, position));
    vector::StoreOp::create(*this, loaded, destination.memref, at(destination, position));
  });
}
