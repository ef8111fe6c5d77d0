//===- CostInterface.cpp - What an op costs in a step ---------------------===//
#include "strata/dialects/Interfaces/CostInterface.h"

#include "strata/dialects/Interfaces/CostInterface.cpp.inc"
