module @gru_both_forward attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%v0: tensor<3x3x3xf32>, %v1: tensor<3x3x3xf32>, %v2: tensor<3x3xf32>, %v3: tensor<3x3xf32>, %v4: tensor<3x3x3xf32>, %v5: tensor<3x3x3xf32>, %v6: tensor<3x3xf32>, %v7: tensor<3x3xf32>, %v8: tensor<4x6xf32>, %v9: tensor<4xf32>, %v10: tensor<2xi32>, %v11: tensor<5x2x3xf32>, %v12: tensor<2x3xf32>, %v13: tensor<2x3xf32>, %v14: tensor<5x2x4xf32>) -> (tensor<1xf32>, tensor<1xf32>, tensor<5x2x6xf32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<5x2x4xf32>) {
    %v15 = "stablehlo.reshape"(%v0) : (tensor<3x3x3xf32>) -> tensor<9x3xf32>
    %v16 = "stablehlo.dot_general"(%v11, %v15) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<5x2x3xf32>, tensor<9x3xf32>) -> tensor<5x2x9xf32>
    %v17 = "stablehlo.reshape"(%v2) : (tensor<3x3xf32>) -> tensor<9xf32>
    %v18 = "stablehlo.broadcast_in_dim"(%v17) {broadcast_dimensions = array<i64: 2>} : (tensor<9xf32>) -> tensor<5x2x9xf32>
    %v19 = "stablehlo.add"(%v16, %v18) : (tensor<5x2x9xf32>, tensor<5x2x9xf32>) -> tensor<5x2x9xf32>
    %v20 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<5x2xi32>
    %v21 = "stablehlo.constant"() {value = dense<0> : tensor<5x2xi32>} : () -> tensor<5x2xi32>
    %v22 = "stablehlo.add"(%v20, %v21) : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi32>
    %v23 = "stablehlo.broadcast_in_dim"(%v10) {broadcast_dimensions = array<i64: 1>} : (tensor<2xi32>) -> tensor<5x2xi32>
    %v24 = "stablehlo.compare"(%v22, %v23) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi1>
    %v25 = "stablehlo.broadcast_in_dim"(%v24) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<5x2xi1>) -> tensor<5x2x9xi1>
    %v26 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x9xf32>} : () -> tensor<5x2x9xf32>
    %v27 = "stablehlo.select"(%v25, %v19, %v26) : (tensor<5x2x9xi1>, tensor<5x2x9xf32>, tensor<5x2x9xf32>) -> tensor<5x2x9xf32>
    %v28 = "stablehlo.reshape"(%v27) : (tensor<5x2x9xf32>) -> tensor<5x2x3x3xf32>
    %v29 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x4x3xf32>} : () -> tensor<5x2x4x3xf32>
    %v30 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v31 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v32 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v33 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v34 = "stablehlo.dynamic_update_slice"(%v29, %v28, %v30, %v31, %v32, %v33) : (tensor<5x2x4x3xf32>, tensor<5x2x3x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x4x3xf32>
    %v35 = "stablehlo.reshape"(%v1) : (tensor<3x3x3xf32>) -> tensor<9x3xf32>
    %v36 = "stablehlo.reshape"(%v3) : (tensor<3x3xf32>) -> tensor<9xf32>
    %v37 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x3xf32>} : () -> tensor<5x2x3xf32>
    %v38 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v39:7 = "stablehlo.while"(%v38, %v34, %v12, %v35, %v36, %v10, %v37) ({
      ^bb0(%v40: tensor<i32>, %v41: tensor<5x2x4x3xf32>, %v42: tensor<2x3xf32>, %v43: tensor<9x3xf32>, %v44: tensor<9xf32>, %v45: tensor<2xi32>, %v46: tensor<5x2x3xf32>):
      %v47 = "stablehlo.constant"() {value = dense<5> : tensor<i32>} : () -> tensor<i32>
      %v48 = "stablehlo.compare"(%v40, %v47) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%v48) : (tensor<i1>) -> ()
    }, {
      ^bb0(%v49: tensor<i32>, %v50: tensor<5x2x4x3xf32>, %v51: tensor<2x3xf32>, %v52: tensor<9x3xf32>, %v53: tensor<9xf32>, %v54: tensor<2xi32>, %v55: tensor<5x2x3xf32>):
      %v56 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v57 = "stablehlo.add"(%v49, %v56) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %v58 = "stablehlo.broadcast_in_dim"(%v57) {broadcast_dimensions = array<i64>} : (tensor<i32>) -> tensor<2xi32>
      %v59 = "stablehlo.compare"(%v58, %v54) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
      %v60 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v61 = "stablehlo.dynamic_slice"(%v50, %v49, %v60, %v60, %v60) {slice_sizes = array<i64: 1, 2, 4, 3>} : (tensor<5x2x4x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x4x3xf32>
      %v62 = "stablehlo.reshape"(%v61) : (tensor<1x2x4x3xf32>) -> tensor<2x4x3xf32>
      %v63 = "stablehlo.slice"(%v62) {start_indices = array<i64: 0, 0, 0>, limit_indices = array<i64: 2, 1, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
      %v64 = "stablehlo.reshape"(%v63) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v65 = "stablehlo.slice"(%v62) {start_indices = array<i64: 0, 1, 0>, limit_indices = array<i64: 2, 2, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
      %v66 = "stablehlo.reshape"(%v65) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v67 = "stablehlo.slice"(%v62) {start_indices = array<i64: 0, 2, 0>, limit_indices = array<i64: 2, 3, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
      %v68 = "stablehlo.reshape"(%v67) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v69 = "stablehlo.dot_general"(%v51, %v52) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x3xf32>, tensor<9x3xf32>) -> tensor<2x9xf32>
      %v70 = "stablehlo.broadcast_in_dim"(%v53) {broadcast_dimensions = array<i64: 1>} : (tensor<9xf32>) -> tensor<2x9xf32>
      %v71 = "stablehlo.add"(%v69, %v70) : (tensor<2x9xf32>, tensor<2x9xf32>) -> tensor<2x9xf32>
      %v72 = "stablehlo.reshape"(%v71) : (tensor<2x9xf32>) -> tensor<2x3x3xf32>
      %v73 = "stablehlo.slice"(%v72) {start_indices = array<i64: 0, 0, 0>, limit_indices = array<i64: 2, 1, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x3x3xf32>) -> tensor<2x1x3xf32>
      %v74 = "stablehlo.reshape"(%v73) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v75 = "stablehlo.add"(%v64, %v74) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v76 = "stablehlo.slice"(%v72) {start_indices = array<i64: 0, 1, 0>, limit_indices = array<i64: 2, 2, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x3x3xf32>) -> tensor<2x1x3xf32>
      %v77 = "stablehlo.reshape"(%v76) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v78 = "stablehlo.add"(%v66, %v77) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v79 = "stablehlo.slice"(%v72) {start_indices = array<i64: 0, 2, 0>, limit_indices = array<i64: 2, 3, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x3x3xf32>) -> tensor<2x1x3xf32>
      %v80 = "stablehlo.reshape"(%v79) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v81 = "stablehlo.logistic"(%v75) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %v82 = "stablehlo.logistic"(%v78) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %v83 = "stablehlo.multiply"(%v81, %v80) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v84 = "stablehlo.add"(%v83, %v68) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v85 = "stablehlo.tanh"(%v84) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %v86 = "stablehlo.subtract"(%v51, %v85) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v87 = "stablehlo.multiply"(%v82, %v86) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v88 = "stablehlo.add"(%v87, %v85) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v89 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
      %v90 = "stablehlo.broadcast_in_dim"(%v59) {broadcast_dimensions = array<i64: 0>} : (tensor<2xi1>) -> tensor<2x3xi1>
      %v91 = "stablehlo.select"(%v90, %v88, %v89) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v92 = "stablehlo.reshape"(%v91) : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
      %v93 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v94 = "stablehlo.dynamic_update_slice"(%v55, %v92, %v49, %v93, %v93) : (tensor<5x2x3xf32>, tensor<1x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x3xf32>
      %v95 = "stablehlo.reshape"(%v81) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v96 = "stablehlo.reshape"(%v82) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v97 = "stablehlo.concatenate"(%v95, %v96) {dimension = 1 : i64} : (tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x2x3xf32>
      %v98 = "stablehlo.reshape"(%v85) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v99 = "stablehlo.concatenate"(%v97, %v98) {dimension = 1 : i64} : (tensor<2x2x3xf32>, tensor<2x1x3xf32>) -> tensor<2x3x3xf32>
      %v100 = "stablehlo.reshape"(%v80) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v101 = "stablehlo.concatenate"(%v99, %v100) {dimension = 1 : i64} : (tensor<2x3x3xf32>, tensor<2x1x3xf32>) -> tensor<2x4x3xf32>
      %v102 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<2x4x3xf32>} : () -> tensor<2x4x3xf32>
      %v103 = "stablehlo.broadcast_in_dim"(%v59) {broadcast_dimensions = array<i64: 0>} : (tensor<2xi1>) -> tensor<2x4x3xi1>
      %v104 = "stablehlo.select"(%v103, %v101, %v102) : (tensor<2x4x3xi1>, tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
      %v105 = "stablehlo.reshape"(%v104) : (tensor<2x4x3xf32>) -> tensor<1x2x4x3xf32>
      %v106 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v107 = "stablehlo.dynamic_update_slice"(%v50, %v105, %v49, %v106, %v106, %v106) : (tensor<5x2x4x3xf32>, tensor<1x2x4x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x4x3xf32>
      %v108 = "stablehlo.broadcast_in_dim"(%v59) {broadcast_dimensions = array<i64: 0>} : (tensor<2xi1>) -> tensor<2x3xi1>
      %v109 = "stablehlo.select"(%v108, %v88, %v51) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v110 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
      %v111 = "stablehlo.add"(%v49, %v110) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%v111, %v107, %v109, %v52, %v53, %v54, %v94) : (tensor<i32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<9x3xf32>, tensor<9xf32>, tensor<2xi32>, tensor<5x2x3xf32>) -> ()
    }) : (tensor<i32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<9x3xf32>, tensor<9xf32>, tensor<2xi32>, tensor<5x2x3xf32>) -> (tensor<i32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<9x3xf32>, tensor<9xf32>, tensor<2xi32>, tensor<5x2x3xf32>)
    %v112 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x6xf32>} : () -> tensor<5x2x6xf32>
    %v113 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v114 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v115 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v116 = "stablehlo.dynamic_update_slice"(%v112, %v39#6, %v113, %v114, %v115) : (tensor<5x2x6xf32>, tensor<5x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x6xf32>
    %v117 = "stablehlo.reshape"(%v4) : (tensor<3x3x3xf32>) -> tensor<9x3xf32>
    %v118 = "stablehlo.dot_general"(%v11, %v117) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<5x2x3xf32>, tensor<9x3xf32>) -> tensor<5x2x9xf32>
    %v119 = "stablehlo.reshape"(%v6) : (tensor<3x3xf32>) -> tensor<9xf32>
    %v120 = "stablehlo.broadcast_in_dim"(%v119) {broadcast_dimensions = array<i64: 2>} : (tensor<9xf32>) -> tensor<5x2x9xf32>
    %v121 = "stablehlo.add"(%v118, %v120) : (tensor<5x2x9xf32>, tensor<5x2x9xf32>) -> tensor<5x2x9xf32>
    %v122 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<5x2xi32>
    %v123 = "stablehlo.constant"() {value = dense<0> : tensor<5x2xi32>} : () -> tensor<5x2xi32>
    %v124 = "stablehlo.add"(%v122, %v123) : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi32>
    %v125 = "stablehlo.broadcast_in_dim"(%v10) {broadcast_dimensions = array<i64: 1>} : (tensor<2xi32>) -> tensor<5x2xi32>
    %v126 = "stablehlo.compare"(%v124, %v125) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi1>
    %v127 = "stablehlo.broadcast_in_dim"(%v126) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<5x2xi1>) -> tensor<5x2x9xi1>
    %v128 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x9xf32>} : () -> tensor<5x2x9xf32>
    %v129 = "stablehlo.select"(%v127, %v121, %v128) : (tensor<5x2x9xi1>, tensor<5x2x9xf32>, tensor<5x2x9xf32>) -> tensor<5x2x9xf32>
    %v130 = "stablehlo.reshape"(%v129) : (tensor<5x2x9xf32>) -> tensor<5x2x3x3xf32>
    %v131 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x4x3xf32>} : () -> tensor<5x2x4x3xf32>
    %v132 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v133 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v134 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v135 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v136 = "stablehlo.dynamic_update_slice"(%v131, %v130, %v132, %v133, %v134, %v135) : (tensor<5x2x4x3xf32>, tensor<5x2x3x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x4x3xf32>
    %v137 = "stablehlo.reshape"(%v5) : (tensor<3x3x3xf32>) -> tensor<9x3xf32>
    %v138 = "stablehlo.reshape"(%v7) : (tensor<3x3xf32>) -> tensor<9xf32>
    %v139 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x3xf32>} : () -> tensor<5x2x3xf32>
    %v140 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v141:7 = "stablehlo.while"(%v140, %v136, %v13, %v137, %v138, %v10, %v139) ({
      ^bb0(%v142: tensor<i32>, %v143: tensor<5x2x4x3xf32>, %v144: tensor<2x3xf32>, %v145: tensor<9x3xf32>, %v146: tensor<9xf32>, %v147: tensor<2xi32>, %v148: tensor<5x2x3xf32>):
      %v149 = "stablehlo.constant"() {value = dense<5> : tensor<i32>} : () -> tensor<i32>
      %v150 = "stablehlo.compare"(%v142, %v149) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%v150) : (tensor<i1>) -> ()
    }, {
      ^bb0(%v151: tensor<i32>, %v152: tensor<5x2x4x3xf32>, %v153: tensor<2x3xf32>, %v154: tensor<9x3xf32>, %v155: tensor<9xf32>, %v156: tensor<2xi32>, %v157: tensor<5x2x3xf32>):
      %v158 = "stablehlo.constant"() {value = dense<4> : tensor<i32>} : () -> tensor<i32>
      %v159 = "stablehlo.subtract"(%v158, %v151) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %v160 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v161 = "stablehlo.add"(%v159, %v160) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %v162 = "stablehlo.broadcast_in_dim"(%v161) {broadcast_dimensions = array<i64>} : (tensor<i32>) -> tensor<2xi32>
      %v163 = "stablehlo.compare"(%v162, %v156) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
      %v164 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v165 = "stablehlo.dynamic_slice"(%v152, %v159, %v164, %v164, %v164) {slice_sizes = array<i64: 1, 2, 4, 3>} : (tensor<5x2x4x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x4x3xf32>
      %v166 = "stablehlo.reshape"(%v165) : (tensor<1x2x4x3xf32>) -> tensor<2x4x3xf32>
      %v167 = "stablehlo.slice"(%v166) {start_indices = array<i64: 0, 0, 0>, limit_indices = array<i64: 2, 1, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
      %v168 = "stablehlo.reshape"(%v167) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v169 = "stablehlo.slice"(%v166) {start_indices = array<i64: 0, 1, 0>, limit_indices = array<i64: 2, 2, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
      %v170 = "stablehlo.reshape"(%v169) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v171 = "stablehlo.slice"(%v166) {start_indices = array<i64: 0, 2, 0>, limit_indices = array<i64: 2, 3, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
      %v172 = "stablehlo.reshape"(%v171) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v173 = "stablehlo.dot_general"(%v153, %v154) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x3xf32>, tensor<9x3xf32>) -> tensor<2x9xf32>
      %v174 = "stablehlo.broadcast_in_dim"(%v155) {broadcast_dimensions = array<i64: 1>} : (tensor<9xf32>) -> tensor<2x9xf32>
      %v175 = "stablehlo.add"(%v173, %v174) : (tensor<2x9xf32>, tensor<2x9xf32>) -> tensor<2x9xf32>
      %v176 = "stablehlo.reshape"(%v175) : (tensor<2x9xf32>) -> tensor<2x3x3xf32>
      %v177 = "stablehlo.slice"(%v176) {start_indices = array<i64: 0, 0, 0>, limit_indices = array<i64: 2, 1, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x3x3xf32>) -> tensor<2x1x3xf32>
      %v178 = "stablehlo.reshape"(%v177) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v179 = "stablehlo.add"(%v168, %v178) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v180 = "stablehlo.slice"(%v176) {start_indices = array<i64: 0, 1, 0>, limit_indices = array<i64: 2, 2, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x3x3xf32>) -> tensor<2x1x3xf32>
      %v181 = "stablehlo.reshape"(%v180) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v182 = "stablehlo.add"(%v170, %v181) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v183 = "stablehlo.slice"(%v176) {start_indices = array<i64: 0, 2, 0>, limit_indices = array<i64: 2, 3, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x3x3xf32>) -> tensor<2x1x3xf32>
      %v184 = "stablehlo.reshape"(%v183) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v185 = "stablehlo.logistic"(%v179) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %v186 = "stablehlo.logistic"(%v182) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %v187 = "stablehlo.multiply"(%v185, %v184) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v188 = "stablehlo.add"(%v187, %v172) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v189 = "stablehlo.tanh"(%v188) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %v190 = "stablehlo.subtract"(%v153, %v189) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v191 = "stablehlo.multiply"(%v186, %v190) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v192 = "stablehlo.add"(%v191, %v189) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v193 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
      %v194 = "stablehlo.broadcast_in_dim"(%v163) {broadcast_dimensions = array<i64: 0>} : (tensor<2xi1>) -> tensor<2x3xi1>
      %v195 = "stablehlo.select"(%v194, %v192, %v193) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v196 = "stablehlo.reshape"(%v195) : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
      %v197 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v198 = "stablehlo.dynamic_update_slice"(%v157, %v196, %v159, %v197, %v197) : (tensor<5x2x3xf32>, tensor<1x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x3xf32>
      %v199 = "stablehlo.reshape"(%v185) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v200 = "stablehlo.reshape"(%v186) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v201 = "stablehlo.concatenate"(%v199, %v200) {dimension = 1 : i64} : (tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x2x3xf32>
      %v202 = "stablehlo.reshape"(%v189) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v203 = "stablehlo.concatenate"(%v201, %v202) {dimension = 1 : i64} : (tensor<2x2x3xf32>, tensor<2x1x3xf32>) -> tensor<2x3x3xf32>
      %v204 = "stablehlo.reshape"(%v184) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v205 = "stablehlo.concatenate"(%v203, %v204) {dimension = 1 : i64} : (tensor<2x3x3xf32>, tensor<2x1x3xf32>) -> tensor<2x4x3xf32>
      %v206 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<2x4x3xf32>} : () -> tensor<2x4x3xf32>
      %v207 = "stablehlo.broadcast_in_dim"(%v163) {broadcast_dimensions = array<i64: 0>} : (tensor<2xi1>) -> tensor<2x4x3xi1>
      %v208 = "stablehlo.select"(%v207, %v205, %v206) : (tensor<2x4x3xi1>, tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
      %v209 = "stablehlo.reshape"(%v208) : (tensor<2x4x3xf32>) -> tensor<1x2x4x3xf32>
      %v210 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v211 = "stablehlo.dynamic_update_slice"(%v152, %v209, %v159, %v210, %v210, %v210) : (tensor<5x2x4x3xf32>, tensor<1x2x4x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x4x3xf32>
      %v212 = "stablehlo.broadcast_in_dim"(%v163) {broadcast_dimensions = array<i64: 0>} : (tensor<2xi1>) -> tensor<2x3xi1>
      %v213 = "stablehlo.select"(%v212, %v192, %v153) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v214 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
      %v215 = "stablehlo.add"(%v151, %v214) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%v215, %v211, %v213, %v154, %v155, %v156, %v198) : (tensor<i32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<9x3xf32>, tensor<9xf32>, tensor<2xi32>, tensor<5x2x3xf32>) -> ()
    }) : (tensor<i32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<9x3xf32>, tensor<9xf32>, tensor<2xi32>, tensor<5x2x3xf32>) -> (tensor<i32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<9x3xf32>, tensor<9xf32>, tensor<2xi32>, tensor<5x2x3xf32>)
    %v216 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v217 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v218 = "stablehlo.constant"() {value = dense<3> : tensor<i32>} : () -> tensor<i32>
    %v219 = "stablehlo.dynamic_update_slice"(%v116, %v141#6, %v216, %v217, %v218) : (tensor<5x2x6xf32>, tensor<5x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x6xf32>
    %v220 = "stablehlo.dot_general"(%v219, %v8) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<5x2x6xf32>, tensor<4x6xf32>) -> tensor<5x2x4xf32>
    %v221 = "stablehlo.broadcast_in_dim"(%v9) {broadcast_dimensions = array<i64: 2>} : (tensor<4xf32>) -> tensor<5x2x4xf32>
    %v222 = "stablehlo.add"(%v220, %v221) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v223 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<5x2xi32>
    %v224 = "stablehlo.constant"() {value = dense<0> : tensor<5x2xi32>} : () -> tensor<5x2xi32>
    %v225 = "stablehlo.add"(%v223, %v224) : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi32>
    %v226 = "stablehlo.broadcast_in_dim"(%v10) {broadcast_dimensions = array<i64: 1>} : (tensor<2xi32>) -> tensor<5x2xi32>
    %v227 = "stablehlo.compare"(%v225, %v226) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi1>
    %v228 = "stablehlo.broadcast_in_dim"(%v227) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<5x2xi1>) -> tensor<5x2x4xi1>
    %v229 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x4xf32>} : () -> tensor<5x2x4xf32>
    %v230 = "stablehlo.select"(%v228, %v222, %v229) : (tensor<5x2x4xi1>, tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v231 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<5x2xi32>
    %v232 = "stablehlo.constant"() {value = dense<0> : tensor<5x2xi32>} : () -> tensor<5x2xi32>
    %v233 = "stablehlo.add"(%v231, %v232) : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi32>
    %v234 = "stablehlo.broadcast_in_dim"(%v10) {broadcast_dimensions = array<i64: 1>} : (tensor<2xi32>) -> tensor<5x2xi32>
    %v235 = "stablehlo.compare"(%v233, %v234) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi1>
    %v236 = "stablehlo.subtract"(%v230, %v14) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v237 = "stablehlo.multiply"(%v236, %v236) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v238 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v239 = "stablehlo.reduce"(%v237, %v238) ({
      ^bb0(%v240: tensor<f32>, %v241: tensor<f32>):
      %v242 = "stablehlo.add"(%v240, %v241) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v242) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 2>} : (tensor<5x2x4xf32>, tensor<f32>) -> tensor<5x2xf32>
    %v243 = "stablehlo.constant"() {value = dense<2.500000000e-01> : tensor<5x2xf32>} : () -> tensor<5x2xf32>
    %v244 = "stablehlo.constant"() {value = dense<5.000000000e-01> : tensor<5x2x4xf32>} : () -> tensor<5x2x4xf32>
    %v245 = "stablehlo.multiply"(%v239, %v243) : (tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
    %v246 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2xf32>} : () -> tensor<5x2xf32>
    %v247 = "stablehlo.select"(%v235, %v245, %v246) : (tensor<5x2xi1>, tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
    %v248 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v249 = "stablehlo.reduce"(%v247, %v248) ({
      ^bb0(%v250: tensor<f32>, %v251: tensor<f32>):
      %v252 = "stablehlo.add"(%v250, %v251) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v252) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1>} : (tensor<5x2xf32>, tensor<f32>) -> tensor<f32>
    %v253 = "stablehlo.reshape"(%v249) : (tensor<f32>) -> tensor<1xf32>
    %v254 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<1xf32>} : () -> tensor<1xf32>
    %v255 = "stablehlo.add"(%v254, %v253) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %v256 = "stablehlo.convert"(%v235) : (tensor<5x2xi1>) -> tensor<5x2xf32>
    %v257 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v258 = "stablehlo.reduce"(%v256, %v257) ({
      ^bb0(%v259: tensor<f32>, %v260: tensor<f32>):
      %v261 = "stablehlo.add"(%v259, %v260) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v261) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1>} : (tensor<5x2xf32>, tensor<f32>) -> tensor<f32>
    %v262 = "stablehlo.reshape"(%v258) : (tensor<f32>) -> tensor<1xf32>
    %v263 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<1xf32>} : () -> tensor<1xf32>
    %v264 = "stablehlo.add"(%v263, %v262) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %v265 = "stablehlo.multiply"(%v236, %v244) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v266 = "stablehlo.broadcast_in_dim"(%v235) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<5x2xi1>) -> tensor<5x2x4xi1>
    %v267 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x4xf32>} : () -> tensor<5x2x4xf32>
    %v268 = "stablehlo.select"(%v266, %v265, %v267) : (tensor<5x2x4xi1>, tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    "func.return"(%v255, %v264, %v219, %v39#1, %v39#2, %v141#1, %v141#2, %v268) : (tensor<1xf32>, tensor<1xf32>, tensor<5x2x6xf32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<5x2x4xf32>) -> ()
  }
}
