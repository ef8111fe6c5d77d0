//===- TierDialect.td - The tier dialect -------------------*- tablegen -*-===//
#ifndef STRATA_DIALECTS_TIER_TIERDIALECT_TD
#define STRATA_DIALECTS_TIER_TIERDIALECT_TD

include "mlir/IR/DialectBase.td"

def Tier_Dialect : Dialect {
  let name = "tier";
  let cppNamespace = "::strata::tier";
  let summary = "where data lie and when they move";
  let description = [{
    `tier` says in which memory a value lies and when it moves to another; it knows nothing of what is computed. Compute reads and writes the near
    tier. What lies elsewhere has the type `!tier.at`, so no op of another dialect can take it by mistake. A transfer gives a `!tier.pending<T>`;
    only `tier.wait` makes a `T` of it.

    Hot sets, tables and slots are linear: each value is consumed once, and what consumes it gives the next. So a slot that is written while it is
    read, or a transfer without a wait, is visible in the use–def chains. `dialects/Tier/README.md` gives the reasons.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

#endif // STRATA_DIALECTS_TIER_TIERDIALECT_TD
