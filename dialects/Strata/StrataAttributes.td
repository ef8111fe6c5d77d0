//===- StrataAttributes.td - Enums and attributes ----------*- tablegen -*-===//
#ifndef STRATA_DIALECTS_STRATA_STRATAATTRIBUTES_TD
#define STRATA_DIALECTS_STRATA_STRATAATTRIBUTES_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "strata/dialects/Strata/StrataDialect.td"

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

class Strata_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::strata";
  let genSpecializedAttr = 0;
}
class Strata_EnumAttr<I32EnumAttr kind, string name> : EnumAttr<Strata_Dialect, kind, name> {
  let assemblyFormat = "$value";
}

def Strata_RopeLayout : Strata_Enum<"RopeLayout", "which elements a rotary embedding pairs", [
  I32EnumAttrCase<"None", 0, "none">,                // not rotated
  I32EnumAttrCase<"Interleaved", 1, "interleaved">,  // (2i, 2i + 1)
  I32EnumAttrCase<"Half", 2, "half">]>;              // (i, i + width / 2)

def Strata_FieldRole : Strata_Enum<"FieldRole", "what attention uses a cache field for", [
  I32EnumAttrCase<"Key", 0, "key">, I32EnumAttrCase<"Value", 1, "value">, I32EnumAttrCase<"KeyValue", 2, "key_value">]>;

def Strata_SelectorKind : Strata_Enum<"SelectorKind", "which visible records of a cache a token attends to", [
  I32EnumAttrCase<"All", 0, "all">, I32EnumAttrCase<"Window", 1, "window">, I32EnumAttrCase<"First", 2, "first">,
  I32EnumAttrCase<"Rows", 3, "rows">, I32EnumAttrCase<"Records", 4, "records">]>;

def Strata_Scoring : Strata_Enum<"Scoring", "how router logits become scores", [
  I32EnumAttrCase<"Sigmoid", 0, "sigmoid">, I32EnumAttrCase<"Softmax", 1, "softmax">]>;
def Strata_ScoringAttr : Strata_EnumAttr<Strata_Scoring, "scoring">;

def Strata_GroupScore : Strata_Enum<"GroupScore", "how a group of experts is scored", [
  I32EnumAttrCase<"TopTwoSum", 0, "top_two_sum">, I32EnumAttrCase<"Maximum", 1, "maximum">]>;
def Strata_GroupScoreAttr : Strata_EnumAttr<Strata_GroupScore, "group_score">;

def Strata_Activation : Strata_Enum<"Activation", "the activation of a gated MLP", [I32EnumAttrCase<"Silu", 0, "silu">]>;
def Strata_ActivationAttr : Strata_EnumAttr<Strata_Activation, "activation">;

def Strata_KernelKind : Strata_Enum<"KernelKind", "how the ops of a fused kernel run together", [
  I32EnumAttrCase<"Rows", 0, "rows">,          // row by row, one after the other
  I32EnumAttrCase<"Products", 1, "products">,  // several weights times one input, or one product and a residual
  I32EnumAttrCase<"Heads", 2, "heads">]>;      // head by head: absorption, attention, expansion
def Strata_KernelKindAttr : Strata_EnumAttr<Strata_KernelKind, "kernel_kind">;

def Strata_StepArray : Strata_Enum<"StepArray", "a per-step array of the runtime (strata-rt/package.fbs)", [
  I32EnumAttrCase<"TokenIds", 0, "token_ids">, I32EnumAttrCase<"Positions", 1, "positions">,
  I32EnumAttrCase<"PageBegin", 2, "page_begin">, I32EnumAttrCase<"Pages", 3, "pages">,
  I32EnumAttrCase<"Wanted", 4, "wanted">, I32EnumAttrCase<"TokenNumbers", 5, "token_numbers">,
  I32EnumAttrCase<"Zeros", 6, "zeros">, I32EnumAttrCase<"PageNumbers", 7, "page_numbers">,
  I32EnumAttrCase<"Unbounded", 8, "unbounded">]>;
def Strata_StepArrayAttr : Strata_EnumAttr<Strata_StepArray, "step_array_kind">;

def Strata_NearKind : Strata_Enum<"NearKind", "rows of a cache in near memory", [
  I32EnumAttrCase<"Stage", 0, "stage">, I32EnumAttrCase<"HotSet", 1, "hot_set">]>;
def Strata_NearKindAttr : Strata_EnumAttr<Strata_NearKind, "near_kind">;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class Strata_Attr<string name, string attrMnemonic> : AttrDef<Strata_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Strata_CacheFieldAttr : Strata_Attr<"CacheField", "field"> {
  let summary = "one field of a cache record";
  let description = [{
    `heads` × `width` elements of one type, and what attention uses them for. Example: `#strata.field<key 2x16xf32>`.
  }];
  let parameters = (ins EnumParameter<Strata_FieldRole>:$role, "int64_t":$heads, "int64_t":$width, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Elements in a record: heads × width.
    int64_t getElements() const { return getHeads() * getWidth(); }
    bool isKey() const { return getRole() != FieldRole::Value; }
    bool isValue() const { return getRole() != FieldRole::Key; }
    static ::mlir::FailureOr<CacheFieldAttr> parseBody(::mlir::AsmParser &parser, FieldRole role);
    void printBody(::mlir::AsmPrinter &printer) const;
  }];
}

def Strata_YarnAttr : Strata_Attr<"Yarn", "yarn"> {
  let summary = "YaRN scaling of a rotary embedding";
  let description = [{
    Frequencies below `beta_slow` rotations over `original_positions` are divided by `factor`, those above `beta_fast` stay,
    linear in between (Peng et al., "YaRN", 2023). `attention_factor` multiplies cosine and sine. `truncate` rounds the
    borders of the ramp to whole indices, as published models want.
  }];
  let parameters = (ins "::mlir::FloatAttr":$factor, "::mlir::FloatAttr":$beta_fast, "::mlir::FloatAttr":$beta_slow,
                        "int64_t":$original_positions, "::mlir::FloatAttr":$attention_factor, "bool":$truncate);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Strata_Llama3Attr : Strata_Attr<"Llama3", "llama3"> {
  let summary = "Llama 3 scaling of a rotary embedding";
  let description = [{
    Wavelengths above `original_positions / low_frequency_factor` are scaled by `factor`, those below
    `original_positions / high_frequency_factor` stay, smooth in between (Llama 3.1 model code).
  }];
  let parameters = (ins "::mlir::FloatAttr":$factor, "::mlir::FloatAttr":$low_frequency_factor,
                        "::mlir::FloatAttr":$high_frequency_factor, "int64_t":$original_positions);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Strata_RopeAttr : Strata_Attr<"Rope", "rope"> {
  let summary = "a rotary position embedding";
  let description = [{
    Pair i of a rotated part of width W turns by position × f(i), where f(i) = theta^(−2i / W), changed by `scaling`
    (`#strata.yarn` or `#strata.llama3`) if given. Example: `#strata.rope<theta = 1.0e4, layout = interleaved>`.
  }];
  let parameters = (ins "::mlir::FloatAttr":$theta, EnumParameter<Strata_RopeLayout>:$layout,
                        OptionalParameter<"::mlir::Attribute">:$scaling);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The frequencies of a rotated part of `width` elements: width / 2 numbers, in radians per position.
    ::llvm::SmallVector<double> getFrequencies(int64_t width) const;
    /// What cosine and sine are multiplied by: 1 without YaRN.
    double getAttentionFactor() const;
  }];
}

def Strata_SelectorAttr : Strata_Attr<"Selector", "selector"> {
  let summary = "which visible records of a cache a token attends to";
  let description = [{
    `all`: every visible record. `window n`: the last n visible ones, the token's own included. `first n`: positions 0 … n − 1.
    `rows`: the positions listed for the token by an index tensor. `records`: the records listed by their own numbers in the cache, whatever
    sequence they belong to.
  }];
  let parameters = (ins EnumParameter<Strata_SelectorKind>:$kind, "int64_t":$count);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static ::mlir::FailureOr<SelectorAttr> parseBody(::mlir::AsmParser &parser);
    void printBody(::mlir::AsmPrinter &printer) const;
    /// Whether an index tensor lists what is selected.
    bool isListed() const { return getKind() == SelectorKind::Rows || getKind() == SelectorKind::Records; }
  }];
}

def Strata_PartAttr : Strata_Attr<"Part", "part"> {
  let summary = "a strided part of a stored tensor";
  let description = [{
    The stored tensor has groups × stride rows; the value holds, for each group, the rows from `offset` on, as many as its
    second dimension says. MLA's `kv_b_proj`, say, holds keys and values of each head one after the other.
  }];
  let parameters = (ins "int64_t":$groups, "int64_t":$stride, "int64_t":$offset);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Strata_BlockScalesAttr : Strata_Attr<"BlockScales", "block_scales"> {
  let summary = "the scales of a block-quantised tensor";
  let description = [{
    Element (r, c) of the stored tensor is multiplied by element (r div rows, c div columns) of the tensor called `name`.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$rows, "int64_t":$columns);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Strata_SizeAttr : Strata_Attr<"Size", "size"> {
  let summary = "a size that is linear in a step's sizes";
  let description = "tokens × (tokens of the step) + wanted × (tokens whose logits are wanted) + fixed.";
  let parameters = (ins DefaultValuedParameter<"int64_t", "0">:$tokens, DefaultValuedParameter<"int64_t", "0">:$wanted,
                        DefaultValuedParameter<"int64_t", "0">:$fixed);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // STRATA_DIALECTS_STRATA_STRATAATTRIBUTES_TD
