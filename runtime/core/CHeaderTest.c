/*===- CHeaderTest.c - strata-rt.h is a C header ---------------------------===*/
#include "strata-rt/strata-rt.h"

int strataHeaderIsC(void);

int strataHeaderIsC(void) { return STRATA_RT_OK == 0; }
