//===- TierTypes.td - Places, hot sets, tables and slots ---*- tablegen -*-===//
#ifndef STRATA_DIALECTS_TIER_TIERTYPES_TD
#define STRATA_DIALECTS_TIER_TIERTYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "strata/dialects/Tier/TierDialect.td"

def Tier_SpaceAttr : AttrDef<Tier_Dialect, "Space"> {
  let mnemonic = "space";
  let summary = "a tier of a machine, by its name";
  let description = [{
    Example: `#tier.space<"ddr">`. Which tiers there are, and how large they are, says the module's attribute `tier.capacity`.
  }];
  let parameters = (ins StringRefParameter<"the tier's name">:$name);
  let assemblyFormat = "`<` $name `>`";
}

class Tier_Type<string name, string typeMnemonic> : TypeDef<Tier_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Tier_At : Tier_Type<"At", "at"> {
  let summary = "a value that lies in a tier";
  let description = [{
    A `T` (a row store or a ranked tensor) in the named tier. Rows begin `stride` bytes apart, at multiples of
    `align` bytes; left out, they lie side by side.

    Example: `!tier.at<"ddr", !strata.cache<key 16xf32, page = 64>>`.
  }];
  let parameters = (ins "::mlir::StringAttr":$space, "::mlir::Type":$value, DefaultValuedParameter<"int64_t", "0">:$stride,
                        DefaultValuedParameter<"int64_t", "0">:$align);
  let builders = [TypeBuilder<(ins "::mlir::StringAttr":$space, "::mlir::Type":$value),
                              [{ return $_get($_ctxt, space, value, 0, 0); }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes from one row to the next.
    int64_t getRowStride() const;
  }];
}

def Tier_HotSet : Tier_Type<"HotSet", "hot_set"> {
  let summary = "rows of a far value in slots of the near tier";
  let description = [{
    `slots` rows of a `T` whose home lies in the named tier. Linear: a gather consumes it and gives the next.

    Example: `!tier.hot_set<"ddr", !strata.cache<key 16xf32, page = 64>, slots = 128>`.
  }];
  let parameters = (ins "::mlir::StringAttr":$space, "::mlir::Type":$value, "int64_t":$slots,
                        DefaultValuedParameter<"int64_t", "0">:$stride, DefaultValuedParameter<"int64_t", "0">:$align);
  let builders = [TypeBuilder<(ins "::mlir::StringAttr":$space, "::mlir::Type":$value, "int64_t":$slots),
                              [{ return $_get($_ctxt, space, value, slots, 0, 0); }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRowStride() const;
  }];
}

class Tier_PageSpaceType<string name, string typeMnemonic> : Tier_Type<name, typeMnemonic> {
  let parameters = (ins "int64_t":$slots, "::mlir::StringAttr":$pages);
  let assemblyFormat = "`<` `slots` `=` $slots `,` `pages` `=` $pages `>`";
  let genVerifyDecl = 1;
}

def Tier_Table : Tier_PageSpaceType<"Table", "table"> {
  let summary = "which record lies in which slot";
  let description = [{
    The state of `slots` slots for records that are numbered as in the page space `pages`. Linear: `tier.resolve` and `tier.speculate` consume it
    and give the next.

    Example: `!tier.table<slots = 128, pages = "layer 2 keys">`.
  }];
}

def Tier_Plan : Tier_PageSpaceType<"Plan", "plan"> {
  let summary = "where a step finds its records";
  let description = [{
    For each record that a step reads its slot, and which of them must come first. Holds for every hot set with the table's slots, until the table is
    resolved again.

    Example: `!tier.plan<slots = 128, pages = "layer 2 keys">`.
  }];
}

def Tier_Slot : Tier_Type<"Slot", "slot"> {
  let summary = "a piece of the near tier that values use one after the other";
  let description = [{
    Linear: a reload consumes it, and `tier.release` gives it back after the last reader.

    Example: `!tier.slot<bytes = 4096>`.
  }];
  let parameters = (ins "int64_t":$bytes);
  let assemblyFormat = "`<` `bytes` `=` $bytes `>`";
  let genVerifyDecl = 1;
}

def Tier_Pending : Tier_Type<"Pending", "pending"> {
  let summary = "a value that is on its way";
  let description = [{
    What a transfer gives; `tier.wait` makes a `T` of it, exactly once.

    Example: `!tier.pending<tensor<4x8xf32>>`.
  }];
  let parameters = (ins "::mlir::Type":$value);
  let assemblyFormat = "`<` $value `>`";
  let genVerifyDecl = 1;
}

#endif // STRATA_DIALECTS_TIER_TIERTYPES_TD
