//===- StrataTypes.td - Batch and cache --------------------*- tablegen -*-===//
#ifndef STRATA_DIALECTS_STRATA_STRATATYPES_TD
#define STRATA_DIALECTS_STRATA_STRATATYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "strata/dialects/Interfaces/RowStoreInterface.td"
include "strata/dialects/Strata/StrataAttributes.td"

class Strata_Type<string name, string typeMnemonic, list<Trait> traits = []> : TypeDef<Strata_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

def Strata_Batch : Strata_Type<"Batch", "batch"> {
  let summary = "the tokens of a step";
  let description = [{
    Token ids, positions and sequences of N tokens, the page table of their sequences, and which tokens' logits are wanted.
    Prefill, chunks of it, decode and mixtures of them differ in nothing but these values. A sequence without tokens is legal.
  }];
}

def Strata_Cache : Strata_Type<"Cache", "cache", [DeclareTypeInterfaceMethods<RowStoreTypeInterface>]> {
  let summary = "a paged cache; the layout is the type";
  let description = [{
    One record per position and sequence. A record holds the fields in order; a page holds `page` records, record by record, or
    with `planar` field by field. `rope` and `hadamard` say what was done to the keys before they were written, so that
    two caches which differ in that never mix. Heads are left out when there is one.

    Examples:
    `!strata.cache<key_value 512xf32, key 64xf32, page = 64, rope = interleaved>` — MLA: keys are all 576 elements, values the first 512.
    `!strata.cache<key 2x16xf32, value 2x16xf32, page = 64, rope = half>` — two key heads and two value heads.
    `!strata.cache<key 128xbf16, page = 64, rope = half, hadamard>` — index keys.
  }];
  let parameters = (ins ArrayRefParameter<"CacheFieldAttr">:$fields, "int64_t":$pageSize, "bool":$planar,
                        EnumParameter<Strata_RopeLayout>:$rope, "bool":$hadamard);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Elements of one head's key: the widths of the fields that serve as keys.
    int64_t getKeyWidth() const;
    /// Elements of one head's value.
    int64_t getValueWidth() const;
    /// Heads of the key fields; all key fields have the same number (verified).
    int64_t getKeyHeads() const;
    /// Bytes of one record.
    int64_t getRecordBytes() const;
    /// The same cache with other element types in all fields.
    CacheType withElementType(::mlir::Type elementType) const;
    CacheType withPageSize(int64_t pageSize) const;
  }];
}

#endif // STRATA_DIALECTS_STRATA_STRATATYPES_TD
