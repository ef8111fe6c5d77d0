// RUN: strata-opt %s --split-input-file --verify-diagnostics

func.func @records_of_no_page(%rows: tensor<?x8xi32>, %batch: !strata.batch) {
  // expected-error@+1 {{(records_c1) expected pages of at least 1 record but got 0}}
  %records = strata.records %rows[%batch] {page_size = 0} : tensor<?x8xi32>
  return
}

// -----

func.func @own_records_of_no_page(%batch: !strata.batch) {
  // expected-error@+1 {{(own_records_c1) expected pages of at least 1 record but got -1}}
  %own = strata.own_records[%batch] {page_size = -1} : tensor<?xi32>
  return
}
