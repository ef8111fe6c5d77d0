//===- RowStoreInterface.cpp - Types that hold rows -----------------------===//
#include "strata/dialects/Interfaces/RowStoreInterface.h"

#include "strata/dialects/Interfaces/RowStoreInterface.cpp.inc"
