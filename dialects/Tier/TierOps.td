//===- TierOps.td - Transfers and what they need -----------*- tablegen -*-===//
#ifndef STRATA_DIALECTS_TIER_TIEROPS_TD
#define STRATA_DIALECTS_TIER_TIEROPS_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "strata/dialects/Tier/TierTypes.td"

def Tier_Records : TypeAlias<2DTensorOf<[I32]>, "i32 tensor [tokens, k] of record numbers, -1: none">;
def Tier_RecordList : TypeAlias<1DTensorOf<[I32]>, "i32 tensor of record numbers">;

class Tier_Op<string name, list<Trait> traits = []> : Op<Tier_Dialect, name, traits> {
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Which record lies in which slot
//===----------------------------------------------------------------------===//

def Tier_ResolveOp : Tier_Op<"resolve", [AllTypesMatch<["table", "next_table"]>]> {
  let summary = "find slots for the records that a step reads";
  let description = [{
    Gives each of `records` a slot of the table and says which are missing. The least recently used records go, never one that is read now. The step writes
    the records `own` itself: what lay under these numbers before is forgotten first. `k` is the most records of a token.

    Constraints:
    - (resolve_c1) table and plan have the same slots and page space.
    - (resolve_c2) `records` has k columns, and 1 ≤ k ≤ slots.

    ```mlir
    func.func @resolve(%records: tensor<?x8xi32>, %own: tensor<?xi32>, %table0: !tier.table<slots = 32, pages = "keys">) -> !tier.table<slots = 32, pages = "keys"> {
      %table1, %plan = tier.resolve %records in %table0 writing %own {k = 8}
          : tensor<?x8xi32>, tensor<?xi32>, !tier.table<slots = 32, pages = "keys"> -> !tier.plan<slots = 32, pages = "keys">
      return %table1 : !tier.table<slots = 32, pages = "keys">
    }
    ```
  }];
  let arguments = (ins Tier_Records:$records, Tier_Table:$table, Tier_RecordList:$own, I64Attr:$k);
  let results = (outs Tier_Table:$next_table, Tier_Plan:$plan);
  let assemblyFormat = [{
    $records `in` $table `writing` $own attr-dict `:` type($records) `,` type($own) `,` qualified(type($table)) `->` qualified(type($plan))
  }];
}

def Tier_SpeculateOp : Tier_Op<"speculate", [AllTypesMatch<["table", "next_table"]>]> {
  let summary = "find slots for records that may be read later";
  let description = [{
    Like `tier.resolve`, but gives slots to at most `limit` missing records, and only slots that no plan of this step uses. What the plan says can be
    gathered, and nothing else: it has no slots to read by.

    Constraints:
    - (speculate_c1) table and plan have the same slots and page space.
    - (speculate_c2) `limit` is positive.

    ```mlir
    func.func @speculate(%records: tensor<?x8xi32>, %table0: !tier.table<slots = 32, pages = "keys">) -> !tier.table<slots = 32, pages = "keys"> {
      %table1, %plan = tier.speculate %records in %table0 limit 4
          : tensor<?x8xi32>, !tier.table<slots = 32, pages = "keys"> -> !tier.plan<slots = 32, pages = "keys">
      return %table1 : !tier.table<slots = 32, pages = "keys">
    }
    ```
  }];
  let arguments = (ins Tier_Records:$records, Tier_Table:$table, I64Attr:$limit);
  let results = (outs Tier_Table:$next_table, Tier_Plan:$plan);
  let assemblyFormat = [{
    $records `in` $table `limit` $limit attr-dict `:` type($records) `,` qualified(type($table)) `->` qualified(type($plan))
  }];
}

def Tier_SlotsOp : Tier_Op<"slots", [Pure]> {
  let summary = "take the slots of a plan's records";
  let description = [{
    The slot of each record that was resolved, −1 where there was none.

    Constraints:
    - (slots_c1) the plan is not that of a `tier.speculate`, and the result has the type of the records.

    ```mlir
    func.func @read(%plan: !tier.plan<slots = 32, pages = "keys">) -> tensor<?x8xi32> {
      %slots = tier.slots %plan : !tier.plan<slots = 32, pages = "keys"> -> tensor<?x8xi32>
      return %slots : tensor<?x8xi32>
    }
    ```
  }];
  let arguments = (ins Tier_Plan:$plan);
  let results = (outs Tier_Records:$slots);
  let assemblyFormat = "$plan attr-dict `:` qualified(type($plan)) `->` type($slots)";
}

def Tier_SplitOp : Tier_Op<"split", [Pure]> {
  let summary = "part a plan's slots into hits and misses";
  let description = [{
    The slots of the records that were there before (`hits`) and of those that must come (`misses`), −1 elsewhere.

    Constraints:
    - (split_c1) the plan is not that of a `tier.speculate`, and the results have the type of the records.

    ```mlir
    func.func @parts(%plan: !tier.plan<slots = 32, pages = "keys">) -> (tensor<?x8xi32>, tensor<?x8xi32>) {
      %hits, %misses = tier.split %plan : !tier.plan<slots = 32, pages = "keys"> -> tensor<?x8xi32>, tensor<?x8xi32>
      return %hits, %misses : tensor<?x8xi32>, tensor<?x8xi32>
    }
    ```
  }];
  let arguments = (ins Tier_Plan:$plan);
  let results = (outs Tier_Records:$hits, Tier_Records:$misses);
  let assemblyFormat = "$plan attr-dict `:` qualified(type($plan)) `->` type($hits) `,` type($misses)";
}

//===----------------------------------------------------------------------===//
// Hot sets
//===----------------------------------------------------------------------===//

def Tier_GatherOp : Tier_Op<"gather"> {
  let summary = "start bringing a plan's missing rows into a hot set";
  let description = [{
    Reads the missing rows from `home`. Rows that the step writes itself are those of `stage` instead; they are read when the hot set is, so the gather
    may start before they are written. Without a stage there are none.

    Constraints:
    - (gather_c1) home, hot set and stage hold the same value, in the tier that the hot set names.
    - (gather_c2) hot set and plan have the same slots.
    - (gather_c3) rows of home and hot set have the same stride and alignment.
    - (gather_c4) the result is the hot set, pending.

    ```mlir
    func.func @bring(%home: !tier.at<"ddr", !strata.cache<key 16xf32, page = 64>>, %hot0: !tier.hot_set<"ddr", !strata.cache<key 16xf32, page = 64>, slots = 32>, %plan: !tier.plan<slots = 32, pages = "keys">) -> !tier.hot_set<"ddr", !strata.cache<key 16xf32, page = 64>, slots = 32> {
      %pending = tier.gather %home into %hot0 by %plan on "gather"
          : !tier.at<"ddr", !strata.cache<key 16xf32, page = 64>>, !tier.hot_set<"ddr", !strata.cache<key 16xf32, page = 64>, slots = 32>, !tier.plan<slots = 32, pages = "keys"> -> !tier.pending<!tier.hot_set<"ddr", !strata.cache<key 16xf32, page = 64>, slots = 32>>
      %hot1 = tier.wait %pending : !tier.pending<!tier.hot_set<"ddr", !strata.cache<key 16xf32, page = 64>, slots = 32>> -> !tier.hot_set<"ddr", !strata.cache<key 16xf32, page = 64>, slots = 32>
      return %hot1 : !tier.hot_set<"ddr", !strata.cache<key 16xf32, page = 64>, slots = 32>
    }
    ```
  }];
  let arguments = (ins Tier_At:$home, Tier_HotSet:$hot_set, Tier_Plan:$plan, Optional<AnyType>:$stage, StrAttr:$engine);
  let results = (outs Tier_Pending:$pending);
  let assemblyFormat = [{
    $home `into` $hot_set `by` $plan (`stage` $stage^)? `on` $engine attr-dict `:`
    qualified(type($home)) `,` qualified(type($hot_set)) `,` qualified(type($plan)) (`,` type($stage)^)? `->` qualified(type($pending))
  }];
}

def Tier_WaitOp : Tier_Op<"wait"> {
  let summary = "wait for a transfer";
  let description = [{
    The value, when it is there.

    Constraints:
    - (wait_c1) the result is what was pending.

    ```mlir
    func.func @there(%p: !tier.pending<tensor<4x8xf32>>) -> tensor<4x8xf32> {
      %w = tier.wait %p : !tier.pending<tensor<4x8xf32>> -> tensor<4x8xf32>
      return %w : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins Tier_Pending:$pending);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$pending attr-dict `:` qualified(type($pending)) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$pending), [{
    build($_builder, $_state, ::mlir::cast<PendingType>(pending.getType()).getValue(), pending);
  }]>];
}

def Tier_ViewOp : Tier_Op<"view", [Pure]> {
  let summary = "read a hot set";
  let description = [{
    The hot set as a value whose record numbers are slots; read only.

    Constraints:
    - (view_c1) the result is what the hot set holds rows of.
    - (view_c2) hot set and plan have the same slots.

    ```mlir
    func.func @view(%hot: !tier.hot_set<"ddr", !strata.cache<key 16xf32, page = 64>, slots = 32>, %plan: !tier.plan<slots = 32, pages = "keys">) -> !strata.cache<key 16xf32, page = 64> {
      %rows = tier.view %hot of %plan : !tier.hot_set<"ddr", !strata.cache<key 16xf32, page = 64>, slots = 32>, !tier.plan<slots = 32, pages = "keys"> -> !strata.cache<key 16xf32, page = 64>
      return %rows : !strata.cache<key 16xf32, page = 64>
    }
    ```
  }];
  let arguments = (ins Tier_HotSet:$hot_set, Tier_Plan:$plan);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$hot_set `of` $plan attr-dict `:` qualified(type($hot_set)) `,` qualified(type($plan)) `->` type($result)";
}

def Tier_PresentOp : Tier_Op<"present", [Pure]> {
  let summary = "read what is there while the rest is on its way";
  let description = [{
    Like `tier.view`, of a hot set into which rows are being gathered by the same plan: only the plan's hits may be read.

    Constraints:
    - (present_c1) the result is what the hot set holds rows of.
    - (present_c2) hot set and plan have the same slots.

    ```mlir
    func.func @present(%hot: !tier.hot_set<"ddr", !strata.cache<key 16xf32, page = 64>, slots = 32>, %plan: !tier.plan<slots = 32, pages = "keys">) -> !strata.cache<key 16xf32, page = 64> {
      %rows = tier.present %hot of %plan : !tier.hot_set<"ddr", !strata.cache<key 16xf32, page = 64>, slots = 32>, !tier.plan<slots = 32, pages = "keys"> -> !strata.cache<key 16xf32, page = 64>
      return %rows : !strata.cache<key 16xf32, page = 64>
    }
    ```
  }];
  let arguments = (ins Tier_HotSet:$hot_set, Tier_Plan:$plan);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$hot_set `of` $plan attr-dict `:` qualified(type($hot_set)) `,` qualified(type($plan)) `->` type($result)";
}

//===----------------------------------------------------------------------===//
// Homes, stages and slots
//===----------------------------------------------------------------------===//

def Tier_HomeOp : Tier_Op<"home", [Pure]> {
  let summary = "say that a value lies in a far tier";
  let description = [{
    The value at its home, where it lies from the start.

    Constraints:
    - (home_c1) the result is the value in some tier.

    ```mlir
    func.func @lie(%weight: tensor<4x8xf32>) -> !tier.at<"ddr", tensor<4x8xf32>> {
      %home = tier.home %weight : tensor<4x8xf32> -> !tier.at<"ddr", tensor<4x8xf32>>
      return %home : !tier.at<"ddr", tensor<4x8xf32>>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value);
  let results = (outs Tier_At:$home);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` qualified(type($home))";
}

// Rooms are allocations, not Pure: two alike must not become one.
def Tier_StageOp : Tier_Op<"stage", [MemoryEffects<[MemAlloc]>]> {
  let summary = "take room for the rows that a step adds";
  let description = [{
    Rows of the near tier that the step's own records are written to before they go home: row n is token n's.

    Constraints:
    - (stage_c1) the result is what lies at home, a row store.

    ```mlir
    func.func @room(%home: !tier.at<"ddr", !strata.cache<key 16xf32, page = 64>>) -> !strata.cache<key 16xf32, page = 64> {
      %stage = tier.stage of %home : !tier.at<"ddr", !strata.cache<key 16xf32, page = 64>> -> !strata.cache<key 16xf32, page = 64>
      return %stage : !strata.cache<key 16xf32, page = 64>
    }
    ```
  }];
  let arguments = (ins Tier_At:$home);
  let results = (outs AnyType:$stage);
  let assemblyFormat = "`of` $home attr-dict `:` qualified(type($home)) `->` type($stage)";
}

def Tier_WriteBackOp : Tier_Op<"write_back"> {
  let summary = "start writing a step's own rows home";
  let description = [{
    Copies the rows `own` of `source` to the same rows at home; with `in_order` the source is a stage, whose row n is the n-th of `own`.

    Constraints:
    - (write_back_c1) the source is what lies at home.
    - (write_back_c2) the result is the home, pending.

    ```mlir
    func.func @keep(%stage: !strata.cache<key 16xf32, page = 64>, %home0: !tier.at<"ddr", !strata.cache<key 16xf32, page = 64>>, %own: tensor<?xi32>) -> !tier.at<"ddr", !strata.cache<key 16xf32, page = 64>> {
      %pending = tier.write_back %stage to %home0 at %own on "copy" in_order
          : !strata.cache<key 16xf32, page = 64>, !tier.at<"ddr", !strata.cache<key 16xf32, page = 64>>, tensor<?xi32> -> !tier.pending<!tier.at<"ddr", !strata.cache<key 16xf32, page = 64>>>
      %home1 = tier.wait %pending : !tier.pending<!tier.at<"ddr", !strata.cache<key 16xf32, page = 64>>> -> !tier.at<"ddr", !strata.cache<key 16xf32, page = 64>>
      return %home1 : !tier.at<"ddr", !strata.cache<key 16xf32, page = 64>>
    }
    ```
  }];
  let arguments = (ins AnyType:$source, Tier_At:$home, Tier_RecordList:$own, StrAttr:$engine, UnitAttr:$in_order);
  let results = (outs Tier_Pending:$pending);
  let assemblyFormat = [{
    $source `to` $home `at` $own `on` $engine (`in_order` $in_order^)? attr-dict `:`
    type($source) `,` qualified(type($home)) `,` type($own) `->` qualified(type($pending))
  }];
}

def Tier_SlotOp : Tier_Op<"slot", [MemoryEffects<[MemAlloc]>]> {
  let summary = "take a piece of the near tier";
  let description = [{
    Room for values that use it one after the other.

    ```mlir
    func.func @room() {
      %slot = tier.slot : !tier.slot<bytes = 4096>
      return
    }
    ```
  }];
  let results = (outs Tier_Slot:$slot);
  let assemblyFormat = "attr-dict `:` qualified(type($slot))";
  let hasVerifier = 0;
}

def Tier_ReloadOp : Tier_Op<"reload"> {
  let summary = "start copying a far value into a slot";
  let description = [{
    The whole value, or of a paged one the pages that the step's sequences use.

    Constraints:
    - (reload_c1) the result is what lies at home, pending.
    - (reload_c2) the slot has room for a page of a row store. (How many bytes a tensor has depends on how its home stores it.)

    ```mlir
    func.func @use(%home: !tier.at<"ddr", tensor<4x8xf32>>, %slot0: !tier.slot<bytes = 128>, %x: tensor<4x8xf32>) -> (tensor<4x8xf32>, !tier.slot<bytes = 128>) {
      %pending = tier.reload %home into %slot0 on "copy"
          : !tier.at<"ddr", tensor<4x8xf32>>, !tier.slot<bytes = 128> -> !tier.pending<tensor<4x8xf32>>
      %value = tier.wait %pending : !tier.pending<tensor<4x8xf32>> -> tensor<4x8xf32>
      %y = arith.mulf %x, %value : tensor<4x8xf32>
      %slot1 = tier.release %value : tensor<4x8xf32> -> !tier.slot<bytes = 128>
      return %y, %slot1 : tensor<4x8xf32>, !tier.slot<bytes = 128>
    }
    ```
  }];
  let arguments = (ins Tier_At:$home, Tier_Slot:$slot, StrAttr:$engine);
  let results = (outs Tier_Pending:$pending);
  let assemblyFormat = [{
    $home `into` $slot `on` $engine attr-dict `:` qualified(type($home)) `,` qualified(type($slot)) `->` qualified(type($pending))
  }];
}

def Tier_ReleaseOp : Tier_Op<"release"> {
  let summary = "give back the slot of a value";
  let description = [{
    Nothing reads or writes the value any more; its slot is free. That the value lies in a slot of this size, `tier-verify` checks.

    ```mlir
    func.func @done(%value: tensor<4x8xf32>) -> !tier.slot<bytes = 128> {
      %slot = tier.release %value : tensor<4x8xf32> -> !tier.slot<bytes = 128>
      return %slot : !tier.slot<bytes = 128>
    }
    ```
  }];
  let arguments = (ins AnyType:$value);
  let results = (outs Tier_Slot:$slot);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` qualified(type($slot))";
  let hasVerifier = 0;
}

def Tier_StreamOp : Tier_Op<"stream"> {
  let summary = "let a far value come in blocks while it is read";
  let description = [{
    The value as one op reads it from front to back: blocks of `rows` rows come through two buffers, one while the other is read. The buffers are lent and not
    used up: after the reader they serve the next. That one op alone reads the result, `tier-verify` checks.

    Constraints:
    - (stream_c1) the result is what lies at home, a row store.
    - (stream_c2) blocks have rows, and one fits into each buffer.

    ```mlir
    func.func @scan(%home: !tier.at<"ddr", !strata.cache<key 16xf32, page = 64>>, %a: !tier.slot<bytes = 8192>, %b: !tier.slot<bytes = 8192>) -> !strata.cache<key 16xf32, page = 64> {
      %keys = tier.stream %home blocks of 128 rows through %a, %b on "copy"
          : !tier.at<"ddr", !strata.cache<key 16xf32, page = 64>>, !tier.slot<bytes = 8192>, !tier.slot<bytes = 8192> -> !strata.cache<key 16xf32, page = 64>
      return %keys : !strata.cache<key 16xf32, page = 64>
    }
    ```
  }];
  let arguments = (ins Tier_At:$home, Tier_Slot:$first, Tier_Slot:$second, I64Attr:$rows, StrAttr:$engine);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $home `blocks` `of` $rows `rows` `through` $first `,` $second `on` $engine attr-dict `:`
    qualified(type($home)) `,` qualified(type($first)) `,` qualified(type($second)) `->` type($result)
  }];
}

def Tier_OffloadOp : Tier_Op<"offload"> {
  let summary = "start copying a whole value home";
  let description = [{
    The home is written as a whole; the value may be read meanwhile.

    Constraints:
    - (offload_c1) the value is what lies at home.
    - (offload_c2) the result is the home, pending.

    ```mlir
    func.func @save(%activation: tensor<?x8xf32>, %home0: !tier.at<"ddr", tensor<?x8xf32>>) -> !tier.at<"ddr", tensor<?x8xf32>> {
      %pending = tier.offload %activation to %home0 on "copy"
          : tensor<?x8xf32>, !tier.at<"ddr", tensor<?x8xf32>> -> !tier.pending<!tier.at<"ddr", tensor<?x8xf32>>>
      %home1 = tier.wait %pending : !tier.pending<!tier.at<"ddr", tensor<?x8xf32>>> -> !tier.at<"ddr", tensor<?x8xf32>>
      return %home1 : !tier.at<"ddr", tensor<?x8xf32>>
    }
    ```
  }];
  let arguments = (ins AnyType:$value, Tier_At:$home, StrAttr:$engine);
  let results = (outs Tier_Pending:$pending);
  let assemblyFormat = [{
    $value `to` $home `on` $engine attr-dict `:` type($value) `,` qualified(type($home)) `->` qualified(type($pending))
  }];
}

#endif // STRATA_DIALECTS_TIER_TIEROPS_TD
