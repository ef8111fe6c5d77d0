//===- CacheKernels.cpp - Cache addresses, and records written ------------===//
#include "strata/passes/Lower/CacheAddress.h"

using namespace mlir;
using namespace strata;

CacheAddress::CacheAddress(KernelBuilder &builder, CacheType cache, Value elements)
    : b(builder), cache(cache), elements(elements) {
  for (CacheFieldAttr field : cache.getFields())
    recordElements += field.getElements();
}

Value CacheAddress::findRecord(Value pages, Value pageBegin, Value position) {
  int64_t pageSize = cache.getPageSize();
  Value page = b.loadIndex(pages, b.add(pageBegin, b.quotient(position, pageSize)));
  return b.add(b.multiply(page, pageSize), b.remainder(position, pageSize));
}

KernelRow CacheAddress::getField(Value record, unsigned number, Value head) {
  ArrayRef<CacheFieldAttr> fields = cache.getFields();
  int64_t before = 0;
  for (CacheFieldAttr field : fields.take_front(number))
    before += field.getElements();
  Value first;
  if (cache.getPlanar()) {
    Value slot = b.remainder(record, cache.getPageSize());
    Value page = b.multiply(b.subtract(record, slot), recordElements);
    Value withinField = b.multiply(slot, fields[number].getElements());
    first = b.add(b.add(page, cache.getPageSize() * before), withinField);
  } else {
    first = b.add(b.multiply(record, recordElements), before);
  }
  if (head)
    first = b.add(first, b.multiply(head, fields[number].getWidth()));
  return {elements, {first}};
}

SymbolRefAttr KernelModule::append(CacheType cache, ArrayRef<MemRefType> values) {
  KernelName name("append");
  name.cache(cache);
  Type integers = getIntegersType(cache.getContext());
  SmallVector<Type> arguments(3, integers);
  for (MemRefType value : values) {
    arguments.push_back(getKernelArgumentType(value));
    name.view(getKernelArgumentType(value));
  }
  arguments.push_back(getCacheElementsType(cache));
  return getOrBuildKernel(kernels, name, arguments, [&](KernelBuilder &b) {
    Value positions = b.argument(0), pageBegin = b.argument(1), pages = b.argument(2);
    CacheAddress address(b, cache, b.argument(3 + values.size()));
    b.forEachItem([&](Value item) {
      Value position = b.loadIndex(positions, item);
      Value record = address.findRecord(pages, b.loadIndex(pageBegin, item), position);
      for (unsigned fieldNumber = 0; fieldNumber < values.size(); ++fieldNumber) {
        auto valueType = cast<MemRefType>(arguments[3 + fieldNumber]);
        b.forEachRow(valueType, item, [&](ArrayRef<Value> leading) {
          Value head = leading.size() == 2 ? leading.back() : Value();
          KernelRow destination = address.getField(record, fieldNumber, head);
          KernelRow source = b.row(b.argument(3 + fieldNumber), leading);
          b.forEachChunk(valueType.getShape().back(), [&](Value offset, int64_t lanes) {
            b.store(b.load(source, offset, lanes), destination, offset);
          });
        });
      }
    });
  });
}
