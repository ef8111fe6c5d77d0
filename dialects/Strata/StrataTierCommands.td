//===- StrataTierCommands.td - Commands that move data -----*- tablegen -*-===//
//
// What the ops of dialect tier become: see the commands of the same names in strata-rt/package.fbs. Engines, slot tables, hot sets and
// transfers are numbers; the module's attribute `strata.tiers` says what the numbers stand for.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_DIALECTS_STRATA_STRATATIERCOMMANDS_TD
#define STRATA_DIALECTS_STRATA_STRATATIERCOMMANDS_TD

include "strata/dialects/Strata/StrataCommands.td"

def Strata_NearRowsOp : Op<Strata_Dialect, "near_rows", [Pure]> {
  let summary = "name rows in near memory";
  let description = [{
    The stage of the cache that is argument `index` among the caches, whose record n is token n's; or hot set `index`, whose records are slots.

    ```mlir
    func.func @rows() {
      %stage = strata.near_rows stage 0 : !strata.cache<key 16xf32, page = 64>
      %hot = strata.near_rows hot_set 2 : !strata.cache<key 16xf32, page = 64>
      return
    }
    ```
  }];
  let arguments = (ins Strata_NearKindAttr:$kind, I64Attr:$index);
  let results = (outs Strata_Cache:$rows);
  let assemblyFormat = "$kind $index attr-dict `:` qualified(type($rows))";
}

def Strata_LaunchRecordsOp : Strata_CommandOp<"launch_records"> {
  let summary = "look up the records of positions";
  let description = [{
    `records` on buffers.

    ```mlir
    func.func @look_up() {
      %rows = strata.buffer rows <tokens = 1> slot 0 : memref<?x8xi32>
      %records = strata.buffer rows <tokens = 1> slot 1 : memref<?x8xi32>
      strata.launch_records %rows into %records {page_size = 64} : memref<?x8xi32> into memref<?x8xi32>
      return
    }
    ```
  }];
  let arguments = (ins Strata_I32View:$rows, Strata_I32View:$records, I64Attr:$page_size);
  let assemblyFormat = "$rows `into` $records attr-dict `:` type($rows) `into` type($records)";
}

def Strata_LaunchResolveOp : Strata_CommandOp<"launch_resolve", [AttrSizedOperandSegments]> {
  let summary = "find slots for records";
  let description = [{
    Gives records slots of slot table `table`, and writes slots, hits and misses; with `limit` it speculates, and writes nothing.

    Constraints:
    - (launch_resolve_c1) slots, hits and misses come together, or instead of them `limit`.

    ```mlir
    func.func @resolve() {
      %records = strata.buffer rows <tokens = 1> slot 0 : memref<?x8xi32>
      %slots = strata.buffer rows <tokens = 1> slot 1 : memref<?x8xi32>
      %hits = strata.buffer rows <tokens = 1> slot 2 : memref<?x8xi32>
      %misses = strata.buffer rows <tokens = 1> slot 3 : memref<?x8xi32>
      strata.launch_resolve %records into %slots, %hits, %misses {table = 0} : memref<?x8xi32> into memref<?x8xi32>, memref<?x8xi32>, memref<?x8xi32>
      strata.launch_resolve %records {limit = 4, table = 1} : memref<?x8xi32>
      return
    }
    ```
  }];
  let arguments = (ins Strata_I32View:$records, Optional<Strata_I32View>:$slots, Optional<Strata_I32View>:$hits,
                       Optional<Strata_I32View>:$misses, I64Attr:$table, OptionalAttr<I64Attr>:$limit);
  let assemblyFormat = [{
    $records (`into` $slots^ `,` $hits `,` $misses)? attr-dict `:` type($records)
    (`into` type($slots)^ `,` type($hits) `,` type($misses))?
  }];
  let hasVerifier = 1;
}

def Strata_LaunchGatherOp : Strata_CommandOp<"launch_gather"> {
  let summary = "start bringing missing records into a hot set";
  let description = [{
    ```mlir
    func.func @gather() {
      strata.launch_gather hot_set 2 engine 0 transfer 5
      return
    }
    ```
  }];
  let arguments = (ins I64Attr:$hot_set, I64Attr:$engine, I64Attr:$transfer);
  let assemblyFormat = "`hot_set` $hot_set `engine` $engine `transfer` $transfer attr-dict";
}

def Strata_LaunchWriteBackOp : Strata_CommandOp<"launch_write_back"> {
  let summary = "start writing a step's own records home";
  let description = [{
    ```mlir
    func.func @keep() {
      strata.launch_write_back cache 0 engine 1 transfer 6
      return
    }
    ```
  }];
  let arguments = (ins I64Attr:$cache, I64Attr:$engine, I64Attr:$transfer);
  let assemblyFormat = "`cache` $cache `engine` $engine `transfer` $transfer attr-dict";
}

def Strata_LaunchReloadOp : Strata_CommandOp<"launch_reload"> {
  let summary = "start copying a weight or a cache's pages to near memory";
  let description = [{
    A weight goes to the slot that its attribute `strata.weight_slot` names, pages of a cache to its staging pool.

    Constraints:
    - (launch_reload_c1) there is a weight or a cache, and not both.

    ```mlir
    func.func @reload() {
      %w = strata.weight "w" stored f32 {strata.weight_slot = 0} : tensor<32x64xf32>
      strata.launch_reload (%w) engine 0 transfer 7 : tensor<32x64xf32>
      strata.launch_reload engine 0 transfer 8 {cache = 3}
      return
    }
    ```
  }];
  let arguments = (ins Optional<Strata_WeightValue>:$weight, OptionalAttr<I64Attr>:$cache, I64Attr:$engine, I64Attr:$transfer);
  let assemblyFormat = "(`(` $weight^ `)`)? `engine` $engine `transfer` $transfer attr-dict (`:` type($weight)^)?";
  let hasVerifier = 1;
}

def Strata_LaunchWaitOp : Strata_CommandOp<"launch_wait"> {
  let summary = "wait for a transfer";
  let description = [{
    ```mlir
    func.func @wait() {
      strata.launch_wait transfer 7
      return
    }
    ```
  }];
  let arguments = (ins I64Attr:$transfer);
  let assemblyFormat = "`transfer` $transfer attr-dict";
}

#endif // STRATA_DIALECTS_STRATA_STRATATIERCOMMANDS_TD
