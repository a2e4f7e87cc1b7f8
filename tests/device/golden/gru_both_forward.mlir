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
    %v36 = "stablehlo.transpose"(%v35) {permutation = array<i64: 1, 0>} : (tensor<9x3xf32>) -> tensor<3x9xf32>
    %v37 = "stablehlo.reshape"(%v3) : (tensor<3x3xf32>) -> tensor<9xf32>
    %v38 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x3xf32>} : () -> tensor<5x2x3xf32>
    %v39 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v40:7 = "stablehlo.while"(%v39, %v34, %v12, %v36, %v37, %v10, %v38) ({
      ^bb0(%v41: tensor<i32>, %v42: tensor<5x2x4x3xf32>, %v43: tensor<2x3xf32>, %v44: tensor<3x9xf32>, %v45: tensor<9xf32>, %v46: tensor<2xi32>, %v47: tensor<5x2x3xf32>):
      %v48 = "stablehlo.constant"() {value = dense<5> : tensor<i32>} : () -> tensor<i32>
      %v49 = "stablehlo.compare"(%v41, %v48) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%v49) : (tensor<i1>) -> ()
    }, {
      ^bb0(%v50: tensor<i32>, %v51: tensor<5x2x4x3xf32>, %v52: tensor<2x3xf32>, %v53: tensor<3x9xf32>, %v54: tensor<9xf32>, %v55: tensor<2xi32>, %v56: tensor<5x2x3xf32>):
      %v57 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v58 = "stablehlo.add"(%v50, %v57) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %v59 = "stablehlo.broadcast_in_dim"(%v58) {broadcast_dimensions = array<i64>} : (tensor<i32>) -> tensor<2xi32>
      %v60 = "stablehlo.compare"(%v59, %v55) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
      %v61 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v62 = "stablehlo.dynamic_slice"(%v51, %v50, %v61, %v61, %v61) {slice_sizes = array<i64: 1, 2, 4, 3>} : (tensor<5x2x4x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x4x3xf32>
      %v63 = "stablehlo.reshape"(%v62) : (tensor<1x2x4x3xf32>) -> tensor<2x4x3xf32>
      %v64 = "stablehlo.slice"(%v63) {start_indices = array<i64: 0, 0, 0>, limit_indices = array<i64: 2, 1, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
      %v65 = "stablehlo.reshape"(%v64) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v66 = "stablehlo.slice"(%v63) {start_indices = array<i64: 0, 1, 0>, limit_indices = array<i64: 2, 2, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
      %v67 = "stablehlo.reshape"(%v66) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v68 = "stablehlo.slice"(%v63) {start_indices = array<i64: 0, 2, 0>, limit_indices = array<i64: 2, 3, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
      %v69 = "stablehlo.reshape"(%v68) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v70 = "stablehlo.dot_general"(%v52, %v53) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x3xf32>, tensor<3x9xf32>) -> tensor<2x9xf32>
      %v71 = "stablehlo.broadcast_in_dim"(%v54) {broadcast_dimensions = array<i64: 1>} : (tensor<9xf32>) -> tensor<2x9xf32>
      %v72 = "stablehlo.add"(%v70, %v71) : (tensor<2x9xf32>, tensor<2x9xf32>) -> tensor<2x9xf32>
      %v73 = "stablehlo.reshape"(%v72) : (tensor<2x9xf32>) -> tensor<2x3x3xf32>
      %v74 = "stablehlo.slice"(%v73) {start_indices = array<i64: 0, 0, 0>, limit_indices = array<i64: 2, 1, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x3x3xf32>) -> tensor<2x1x3xf32>
      %v75 = "stablehlo.reshape"(%v74) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v76 = "stablehlo.add"(%v65, %v75) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v77 = "stablehlo.slice"(%v73) {start_indices = array<i64: 0, 1, 0>, limit_indices = array<i64: 2, 2, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x3x3xf32>) -> tensor<2x1x3xf32>
      %v78 = "stablehlo.reshape"(%v77) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v79 = "stablehlo.add"(%v67, %v78) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v80 = "stablehlo.slice"(%v73) {start_indices = array<i64: 0, 2, 0>, limit_indices = array<i64: 2, 3, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x3x3xf32>) -> tensor<2x1x3xf32>
      %v81 = "stablehlo.reshape"(%v80) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v82 = "stablehlo.logistic"(%v76) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %v83 = "stablehlo.logistic"(%v79) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %v84 = "stablehlo.multiply"(%v82, %v81) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v85 = "stablehlo.add"(%v84, %v69) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v86 = "stablehlo.tanh"(%v85) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %v87 = "stablehlo.subtract"(%v52, %v86) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v88 = "stablehlo.multiply"(%v83, %v87) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v89 = "stablehlo.add"(%v88, %v86) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v90 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
      %v91 = "stablehlo.broadcast_in_dim"(%v60) {broadcast_dimensions = array<i64: 0>} : (tensor<2xi1>) -> tensor<2x3xi1>
      %v92 = "stablehlo.select"(%v91, %v89, %v90) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v93 = "stablehlo.reshape"(%v92) : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
      %v94 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v95 = "stablehlo.dynamic_update_slice"(%v56, %v93, %v50, %v94, %v94) : (tensor<5x2x3xf32>, tensor<1x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x3xf32>
      %v96 = "stablehlo.reshape"(%v82) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v97 = "stablehlo.reshape"(%v83) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v98 = "stablehlo.concatenate"(%v96, %v97) {dimension = 1 : i64} : (tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x2x3xf32>
      %v99 = "stablehlo.reshape"(%v86) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v100 = "stablehlo.concatenate"(%v98, %v99) {dimension = 1 : i64} : (tensor<2x2x3xf32>, tensor<2x1x3xf32>) -> tensor<2x3x3xf32>
      %v101 = "stablehlo.reshape"(%v81) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v102 = "stablehlo.concatenate"(%v100, %v101) {dimension = 1 : i64} : (tensor<2x3x3xf32>, tensor<2x1x3xf32>) -> tensor<2x4x3xf32>
      %v103 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<2x4x3xf32>} : () -> tensor<2x4x3xf32>
      %v104 = "stablehlo.broadcast_in_dim"(%v60) {broadcast_dimensions = array<i64: 0>} : (tensor<2xi1>) -> tensor<2x4x3xi1>
      %v105 = "stablehlo.select"(%v104, %v102, %v103) : (tensor<2x4x3xi1>, tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
      %v106 = "stablehlo.reshape"(%v105) : (tensor<2x4x3xf32>) -> tensor<1x2x4x3xf32>
      %v107 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v108 = "stablehlo.dynamic_update_slice"(%v51, %v106, %v50, %v107, %v107, %v107) : (tensor<5x2x4x3xf32>, tensor<1x2x4x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x4x3xf32>
      %v109 = "stablehlo.broadcast_in_dim"(%v60) {broadcast_dimensions = array<i64: 0>} : (tensor<2xi1>) -> tensor<2x3xi1>
      %v110 = "stablehlo.select"(%v109, %v89, %v52) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v111 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
      %v112 = "stablehlo.add"(%v50, %v111) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%v112, %v108, %v110, %v53, %v54, %v55, %v95) : (tensor<i32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<3x9xf32>, tensor<9xf32>, tensor<2xi32>, tensor<5x2x3xf32>) -> ()
    }) : (tensor<i32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<3x9xf32>, tensor<9xf32>, tensor<2xi32>, tensor<5x2x3xf32>) -> (tensor<i32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<3x9xf32>, tensor<9xf32>, tensor<2xi32>, tensor<5x2x3xf32>)
    %v113 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x6xf32>} : () -> tensor<5x2x6xf32>
    %v114 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v115 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v116 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v117 = "stablehlo.dynamic_update_slice"(%v113, %v40#6, %v114, %v115, %v116) : (tensor<5x2x6xf32>, tensor<5x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x6xf32>
    %v118 = "stablehlo.reshape"(%v4) : (tensor<3x3x3xf32>) -> tensor<9x3xf32>
    %v119 = "stablehlo.dot_general"(%v11, %v118) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<5x2x3xf32>, tensor<9x3xf32>) -> tensor<5x2x9xf32>
    %v120 = "stablehlo.reshape"(%v6) : (tensor<3x3xf32>) -> tensor<9xf32>
    %v121 = "stablehlo.broadcast_in_dim"(%v120) {broadcast_dimensions = array<i64: 2>} : (tensor<9xf32>) -> tensor<5x2x9xf32>
    %v122 = "stablehlo.add"(%v119, %v121) : (tensor<5x2x9xf32>, tensor<5x2x9xf32>) -> tensor<5x2x9xf32>
    %v123 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<5x2xi32>
    %v124 = "stablehlo.constant"() {value = dense<0> : tensor<5x2xi32>} : () -> tensor<5x2xi32>
    %v125 = "stablehlo.add"(%v123, %v124) : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi32>
    %v126 = "stablehlo.broadcast_in_dim"(%v10) {broadcast_dimensions = array<i64: 1>} : (tensor<2xi32>) -> tensor<5x2xi32>
    %v127 = "stablehlo.compare"(%v125, %v126) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi1>
    %v128 = "stablehlo.broadcast_in_dim"(%v127) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<5x2xi1>) -> tensor<5x2x9xi1>
    %v129 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x9xf32>} : () -> tensor<5x2x9xf32>
    %v130 = "stablehlo.select"(%v128, %v122, %v129) : (tensor<5x2x9xi1>, tensor<5x2x9xf32>, tensor<5x2x9xf32>) -> tensor<5x2x9xf32>
    %v131 = "stablehlo.reshape"(%v130) : (tensor<5x2x9xf32>) -> tensor<5x2x3x3xf32>
    %v132 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x4x3xf32>} : () -> tensor<5x2x4x3xf32>
    %v133 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v134 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v135 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v136 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v137 = "stablehlo.dynamic_update_slice"(%v132, %v131, %v133, %v134, %v135, %v136) : (tensor<5x2x4x3xf32>, tensor<5x2x3x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x4x3xf32>
    %v138 = "stablehlo.reshape"(%v5) : (tensor<3x3x3xf32>) -> tensor<9x3xf32>
    %v139 = "stablehlo.transpose"(%v138) {permutation = array<i64: 1, 0>} : (tensor<9x3xf32>) -> tensor<3x9xf32>
    %v140 = "stablehlo.reshape"(%v7) : (tensor<3x3xf32>) -> tensor<9xf32>
    %v141 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x3xf32>} : () -> tensor<5x2x3xf32>
    %v142 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v143:7 = "stablehlo.while"(%v142, %v137, %v13, %v139, %v140, %v10, %v141) ({
      ^bb0(%v144: tensor<i32>, %v145: tensor<5x2x4x3xf32>, %v146: tensor<2x3xf32>, %v147: tensor<3x9xf32>, %v148: tensor<9xf32>, %v149: tensor<2xi32>, %v150: tensor<5x2x3xf32>):
      %v151 = "stablehlo.constant"() {value = dense<5> : tensor<i32>} : () -> tensor<i32>
      %v152 = "stablehlo.compare"(%v144, %v151) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%v152) : (tensor<i1>) -> ()
    }, {
      ^bb0(%v153: tensor<i32>, %v154: tensor<5x2x4x3xf32>, %v155: tensor<2x3xf32>, %v156: tensor<3x9xf32>, %v157: tensor<9xf32>, %v158: tensor<2xi32>, %v159: tensor<5x2x3xf32>):
      %v160 = "stablehlo.constant"() {value = dense<4> : tensor<i32>} : () -> tensor<i32>
      %v161 = "stablehlo.subtract"(%v160, %v153) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %v162 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v163 = "stablehlo.add"(%v161, %v162) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %v164 = "stablehlo.broadcast_in_dim"(%v163) {broadcast_dimensions = array<i64>} : (tensor<i32>) -> tensor<2xi32>
      %v165 = "stablehlo.compare"(%v164, %v158) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
      %v166 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v167 = "stablehlo.dynamic_slice"(%v154, %v161, %v166, %v166, %v166) {slice_sizes = array<i64: 1, 2, 4, 3>} : (tensor<5x2x4x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x4x3xf32>
      %v168 = "stablehlo.reshape"(%v167) : (tensor<1x2x4x3xf32>) -> tensor<2x4x3xf32>
      %v169 = "stablehlo.slice"(%v168) {start_indices = array<i64: 0, 0, 0>, limit_indices = array<i64: 2, 1, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
      %v170 = "stablehlo.reshape"(%v169) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v171 = "stablehlo.slice"(%v168) {start_indices = array<i64: 0, 1, 0>, limit_indices = array<i64: 2, 2, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
      %v172 = "stablehlo.reshape"(%v171) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v173 = "stablehlo.slice"(%v168) {start_indices = array<i64: 0, 2, 0>, limit_indices = array<i64: 2, 3, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
      %v174 = "stablehlo.reshape"(%v173) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v175 = "stablehlo.dot_general"(%v155, %v156) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x3xf32>, tensor<3x9xf32>) -> tensor<2x9xf32>
      %v176 = "stablehlo.broadcast_in_dim"(%v157) {broadcast_dimensions = array<i64: 1>} : (tensor<9xf32>) -> tensor<2x9xf32>
      %v177 = "stablehlo.add"(%v175, %v176) : (tensor<2x9xf32>, tensor<2x9xf32>) -> tensor<2x9xf32>
      %v178 = "stablehlo.reshape"(%v177) : (tensor<2x9xf32>) -> tensor<2x3x3xf32>
      %v179 = "stablehlo.slice"(%v178) {start_indices = array<i64: 0, 0, 0>, limit_indices = array<i64: 2, 1, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x3x3xf32>) -> tensor<2x1x3xf32>
      %v180 = "stablehlo.reshape"(%v179) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v181 = "stablehlo.add"(%v170, %v180) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v182 = "stablehlo.slice"(%v178) {start_indices = array<i64: 0, 1, 0>, limit_indices = array<i64: 2, 2, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x3x3xf32>) -> tensor<2x1x3xf32>
      %v183 = "stablehlo.reshape"(%v182) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v184 = "stablehlo.add"(%v172, %v183) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v185 = "stablehlo.slice"(%v178) {start_indices = array<i64: 0, 2, 0>, limit_indices = array<i64: 2, 3, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x3x3xf32>) -> tensor<2x1x3xf32>
      %v186 = "stablehlo.reshape"(%v185) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v187 = "stablehlo.logistic"(%v181) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %v188 = "stablehlo.logistic"(%v184) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %v189 = "stablehlo.multiply"(%v187, %v186) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v190 = "stablehlo.add"(%v189, %v174) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v191 = "stablehlo.tanh"(%v190) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %v192 = "stablehlo.subtract"(%v155, %v191) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v193 = "stablehlo.multiply"(%v188, %v192) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v194 = "stablehlo.add"(%v193, %v191) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v195 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
      %v196 = "stablehlo.broadcast_in_dim"(%v165) {broadcast_dimensions = array<i64: 0>} : (tensor<2xi1>) -> tensor<2x3xi1>
      %v197 = "stablehlo.select"(%v196, %v194, %v195) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v198 = "stablehlo.reshape"(%v197) : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
      %v199 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v200 = "stablehlo.dynamic_update_slice"(%v159, %v198, %v161, %v199, %v199) : (tensor<5x2x3xf32>, tensor<1x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x3xf32>
      %v201 = "stablehlo.reshape"(%v187) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v202 = "stablehlo.reshape"(%v188) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v203 = "stablehlo.concatenate"(%v201, %v202) {dimension = 1 : i64} : (tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x2x3xf32>
      %v204 = "stablehlo.reshape"(%v191) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v205 = "stablehlo.concatenate"(%v203, %v204) {dimension = 1 : i64} : (tensor<2x2x3xf32>, tensor<2x1x3xf32>) -> tensor<2x3x3xf32>
      %v206 = "stablehlo.reshape"(%v186) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v207 = "stablehlo.concatenate"(%v205, %v206) {dimension = 1 : i64} : (tensor<2x3x3xf32>, tensor<2x1x3xf32>) -> tensor<2x4x3xf32>
      %v208 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<2x4x3xf32>} : () -> tensor<2x4x3xf32>
      %v209 = "stablehlo.broadcast_in_dim"(%v165) {broadcast_dimensions = array<i64: 0>} : (tensor<2xi1>) -> tensor<2x4x3xi1>
      %v210 = "stablehlo.select"(%v209, %v207, %v208) : (tensor<2x4x3xi1>, tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
      %v211 = "stablehlo.reshape"(%v210) : (tensor<2x4x3xf32>) -> tensor<1x2x4x3xf32>
      %v212 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v213 = "stablehlo.dynamic_update_slice"(%v154, %v211, %v161, %v212, %v212, %v212) : (tensor<5x2x4x3xf32>, tensor<1x2x4x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x4x3xf32>
      %v214 = "stablehlo.broadcast_in_dim"(%v165) {broadcast_dimensions = array<i64: 0>} : (tensor<2xi1>) -> tensor<2x3xi1>
      %v215 = "stablehlo.select"(%v214, %v194, %v155) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v216 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
      %v217 = "stablehlo.add"(%v153, %v216) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%v217, %v213, %v215, %v156, %v157, %v158, %v200) : (tensor<i32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<3x9xf32>, tensor<9xf32>, tensor<2xi32>, tensor<5x2x3xf32>) -> ()
    }) : (tensor<i32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<3x9xf32>, tensor<9xf32>, tensor<2xi32>, tensor<5x2x3xf32>) -> (tensor<i32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<3x9xf32>, tensor<9xf32>, tensor<2xi32>, tensor<5x2x3xf32>)
    %v218 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v219 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v220 = "stablehlo.constant"() {value = dense<3> : tensor<i32>} : () -> tensor<i32>
    %v221 = "stablehlo.dynamic_update_slice"(%v117, %v143#6, %v218, %v219, %v220) : (tensor<5x2x6xf32>, tensor<5x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x6xf32>
    %v222 = "stablehlo.dot_general"(%v221, %v8) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<5x2x6xf32>, tensor<4x6xf32>) -> tensor<5x2x4xf32>
    %v223 = "stablehlo.broadcast_in_dim"(%v9) {broadcast_dimensions = array<i64: 2>} : (tensor<4xf32>) -> tensor<5x2x4xf32>
    %v224 = "stablehlo.add"(%v222, %v223) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v225 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<5x2xi32>
    %v226 = "stablehlo.constant"() {value = dense<0> : tensor<5x2xi32>} : () -> tensor<5x2xi32>
    %v227 = "stablehlo.add"(%v225, %v226) : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi32>
    %v228 = "stablehlo.broadcast_in_dim"(%v10) {broadcast_dimensions = array<i64: 1>} : (tensor<2xi32>) -> tensor<5x2xi32>
    %v229 = "stablehlo.compare"(%v227, %v228) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi1>
    %v230 = "stablehlo.broadcast_in_dim"(%v229) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<5x2xi1>) -> tensor<5x2x4xi1>
    %v231 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x4xf32>} : () -> tensor<5x2x4xf32>
    %v232 = "stablehlo.select"(%v230, %v224, %v231) : (tensor<5x2x4xi1>, tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v233 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<5x2xi32>
    %v234 = "stablehlo.constant"() {value = dense<0> : tensor<5x2xi32>} : () -> tensor<5x2xi32>
    %v235 = "stablehlo.add"(%v233, %v234) : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi32>
    %v236 = "stablehlo.broadcast_in_dim"(%v10) {broadcast_dimensions = array<i64: 1>} : (tensor<2xi32>) -> tensor<5x2xi32>
    %v237 = "stablehlo.compare"(%v235, %v236) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi1>
    %v238 = "stablehlo.reshape"(%v232) : (tensor<5x2x4xf32>) -> tensor<5x2x4x1xf32>
    %v239 = "stablehlo.reshape"(%v238) : (tensor<5x2x4x1xf32>) -> tensor<5x2x4xf32>
    %v240 = "stablehlo.subtract"(%v239, %v14) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v241 = "stablehlo.multiply"(%v240, %v240) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v242 = "stablehlo.constant"() {value = dense<2.000000000e+00> : tensor<5x2x4xf32>} : () -> tensor<5x2x4xf32>
    %v243 = "stablehlo.multiply"(%v242, %v240) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v244 = "stablehlo.compare"(%v14, %v14) {comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xi1>
    %v245 = "stablehlo.convert"(%v244) : (tensor<5x2x4xi1>) -> tensor<5x2x4xf32>
    %v246 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x4xf32>} : () -> tensor<5x2x4xf32>
    %v247 = "stablehlo.select"(%v244, %v241, %v246) : (tensor<5x2x4xi1>, tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v248 = "stablehlo.constant"() {value = dense<2.500000000e-01> : tensor<5x2xf32>} : () -> tensor<5x2xf32>
    %v249 = "stablehlo.constant"() {value = dense<4.000000000e+00> : tensor<5x2xf32>} : () -> tensor<5x2xf32>
    %v250 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v251 = "stablehlo.reduce"(%v247, %v250) ({
      ^bb0(%v252: tensor<f32>, %v253: tensor<f32>):
      %v254 = "stablehlo.add"(%v252, %v253) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v254) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 2>} : (tensor<5x2x4xf32>, tensor<f32>) -> tensor<5x2xf32>
    %v255 = "stablehlo.multiply"(%v251, %v248) : (tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
    %v256 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v257 = "stablehlo.reduce"(%v245, %v256) ({
      ^bb0(%v258: tensor<f32>, %v259: tensor<f32>):
      %v260 = "stablehlo.add"(%v258, %v259) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v260) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 2>} : (tensor<5x2x4xf32>, tensor<f32>) -> tensor<5x2xf32>
    %v261 = "stablehlo.divide"(%v257, %v249) : (tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
    %v262 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2xf32>} : () -> tensor<5x2xf32>
    %v263 = "stablehlo.select"(%v237, %v255, %v262) : (tensor<5x2xi1>, tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
    %v264 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v265 = "stablehlo.reduce"(%v263, %v264) ({
      ^bb0(%v266: tensor<f32>, %v267: tensor<f32>):
      %v268 = "stablehlo.add"(%v266, %v267) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v268) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1>} : (tensor<5x2xf32>, tensor<f32>) -> tensor<f32>
    %v269 = "stablehlo.reshape"(%v265) : (tensor<f32>) -> tensor<1xf32>
    %v270 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<1xf32>} : () -> tensor<1xf32>
    %v271 = "stablehlo.add"(%v270, %v269) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %v272 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2xf32>} : () -> tensor<5x2xf32>
    %v273 = "stablehlo.select"(%v237, %v261, %v272) : (tensor<5x2xi1>, tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
    %v274 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v275 = "stablehlo.reduce"(%v273, %v274) ({
      ^bb0(%v276: tensor<f32>, %v277: tensor<f32>):
      %v278 = "stablehlo.add"(%v276, %v277) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v278) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1>} : (tensor<5x2xf32>, tensor<f32>) -> tensor<f32>
    %v279 = "stablehlo.reshape"(%v275) : (tensor<f32>) -> tensor<1xf32>
    %v280 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<1xf32>} : () -> tensor<1xf32>
    %v281 = "stablehlo.add"(%v280, %v279) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %v282 = "stablehlo.constant"() {value = dense<2.500000000e-01> : tensor<5x2x4xf32>} : () -> tensor<5x2x4xf32>
    %v283 = "stablehlo.multiply"(%v243, %v282) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v284 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x4xf32>} : () -> tensor<5x2x4xf32>
    %v285 = "stablehlo.select"(%v244, %v283, %v284) : (tensor<5x2x4xi1>, tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v286 = "stablehlo.reshape"(%v285) : (tensor<5x2x4xf32>) -> tensor<5x2x4x1xf32>
    %v287 = "stablehlo.reshape"(%v286) : (tensor<5x2x4x1xf32>) -> tensor<5x2x4xf32>
    %v288 = "stablehlo.broadcast_in_dim"(%v237) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<5x2xi1>) -> tensor<5x2x4xi1>
    %v289 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x4xf32>} : () -> tensor<5x2x4xf32>
    %v290 = "stablehlo.select"(%v288, %v287, %v289) : (tensor<5x2x4xi1>, tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    "func.return"(%v271, %v281, %v221, %v40#1, %v40#2, %v143#1, %v143#2, %v290) : (tensor<1xf32>, tensor<1xf32>, tensor<5x2x6xf32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<5x2x4xf32>) -> ()
  }
}
