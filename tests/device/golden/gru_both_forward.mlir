module @gru_both_forward attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%v0: tensor<3x3x3xf32>, %v1: tensor<3x3x3xf32>, %v2: tensor<3x3xf32>, %v3: tensor<3x3xf32>, %v4: tensor<3x3x3xf32>, %v5: tensor<3x3x3xf32>, %v6: tensor<3x3xf32>, %v7: tensor<3x3xf32>, %v8: tensor<4x6xf32>, %v9: tensor<4xf32>, %v10: tensor<1xf32> {tf.aliasing_output = 0 : i32}, %v11: tensor<1xf32> {tf.aliasing_output = 1 : i32}, %v12: tensor<2xi32>, %v13: tensor<5x2x3xf32>, %v14: tensor<2x3xf32>, %v15: tensor<2x3xf32>, %v16: tensor<5x2x4xf32>) -> (tensor<1xf32>, tensor<1xf32>, tensor<5x2x6xf32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<5x2x4xf32>) {
    %v17 = "stablehlo.reshape"(%v0) : (tensor<3x3x3xf32>) -> tensor<9x3xf32>
    %v18 = "stablehlo.dot_general"(%v13, %v17) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<5x2x3xf32>, tensor<9x3xf32>) -> tensor<5x2x9xf32>
    %v19 = "stablehlo.reshape"(%v2) : (tensor<3x3xf32>) -> tensor<9xf32>
    %v20 = "stablehlo.broadcast_in_dim"(%v19) {broadcast_dimensions = array<i64: 2>} : (tensor<9xf32>) -> tensor<5x2x9xf32>
    %v21 = "stablehlo.add"(%v18, %v20) : (tensor<5x2x9xf32>, tensor<5x2x9xf32>) -> tensor<5x2x9xf32>
    %v22 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<5x2xi32>
    %v23 = "stablehlo.constant"() {value = dense<0> : tensor<5x2xi32>} : () -> tensor<5x2xi32>
    %v24 = "stablehlo.add"(%v22, %v23) : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi32>
    %v25 = "stablehlo.broadcast_in_dim"(%v12) {broadcast_dimensions = array<i64: 1>} : (tensor<2xi32>) -> tensor<5x2xi32>
    %v26 = "stablehlo.compare"(%v24, %v25) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi1>
    %v27 = "stablehlo.broadcast_in_dim"(%v26) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<5x2xi1>) -> tensor<5x2x9xi1>
    %v28 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x9xf32>} : () -> tensor<5x2x9xf32>
    %v29 = "stablehlo.select"(%v27, %v21, %v28) : (tensor<5x2x9xi1>, tensor<5x2x9xf32>, tensor<5x2x9xf32>) -> tensor<5x2x9xf32>
    %v30 = "stablehlo.reshape"(%v29) : (tensor<5x2x9xf32>) -> tensor<5x2x3x3xf32>
    %v31 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x4x3xf32>} : () -> tensor<5x2x4x3xf32>
    %v32 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v33 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v34 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v35 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v36 = "stablehlo.dynamic_update_slice"(%v31, %v30, %v32, %v33, %v34, %v35) : (tensor<5x2x4x3xf32>, tensor<5x2x3x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x4x3xf32>
    %v37 = "stablehlo.reshape"(%v1) : (tensor<3x3x3xf32>) -> tensor<9x3xf32>
    %v38 = "stablehlo.reshape"(%v3) : (tensor<3x3xf32>) -> tensor<9xf32>
    %v39 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x3xf32>} : () -> tensor<5x2x3xf32>
    %v40 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v41:7 = "stablehlo.while"(%v40, %v36, %v14, %v37, %v38, %v12, %v39) ({
      ^bb0(%v42: tensor<i32>, %v43: tensor<5x2x4x3xf32>, %v44: tensor<2x3xf32>, %v45: tensor<9x3xf32>, %v46: tensor<9xf32>, %v47: tensor<2xi32>, %v48: tensor<5x2x3xf32>):
      %v49 = "stablehlo.constant"() {value = dense<5> : tensor<i32>} : () -> tensor<i32>
      %v50 = "stablehlo.compare"(%v42, %v49) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%v50) : (tensor<i1>) -> ()
    }, {
      ^bb0(%v51: tensor<i32>, %v52: tensor<5x2x4x3xf32>, %v53: tensor<2x3xf32>, %v54: tensor<9x3xf32>, %v55: tensor<9xf32>, %v56: tensor<2xi32>, %v57: tensor<5x2x3xf32>):
      %v58 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v59 = "stablehlo.add"(%v51, %v58) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %v60 = "stablehlo.broadcast_in_dim"(%v59) {broadcast_dimensions = array<i64>} : (tensor<i32>) -> tensor<2xi32>
      %v61 = "stablehlo.compare"(%v60, %v56) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
      %v62 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v63 = "stablehlo.dynamic_slice"(%v52, %v51, %v62, %v62, %v62) {slice_sizes = array<i64: 1, 2, 4, 3>} : (tensor<5x2x4x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x4x3xf32>
      %v64 = "stablehlo.reshape"(%v63) : (tensor<1x2x4x3xf32>) -> tensor<2x4x3xf32>
      %v65 = "stablehlo.slice"(%v64) {start_indices = array<i64: 0, 0, 0>, limit_indices = array<i64: 2, 1, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
      %v66 = "stablehlo.reshape"(%v65) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v67 = "stablehlo.slice"(%v64) {start_indices = array<i64: 0, 1, 0>, limit_indices = array<i64: 2, 2, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
      %v68 = "stablehlo.reshape"(%v67) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v69 = "stablehlo.slice"(%v64) {start_indices = array<i64: 0, 2, 0>, limit_indices = array<i64: 2, 3, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
      %v70 = "stablehlo.reshape"(%v69) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v71 = "stablehlo.dot_general"(%v53, %v54) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x3xf32>, tensor<9x3xf32>) -> tensor<2x9xf32>
      %v72 = "stablehlo.broadcast_in_dim"(%v55) {broadcast_dimensions = array<i64: 1>} : (tensor<9xf32>) -> tensor<2x9xf32>
      %v73 = "stablehlo.add"(%v71, %v72) : (tensor<2x9xf32>, tensor<2x9xf32>) -> tensor<2x9xf32>
      %v74 = "stablehlo.reshape"(%v73) : (tensor<2x9xf32>) -> tensor<2x3x3xf32>
      %v75 = "stablehlo.slice"(%v74) {start_indices = array<i64: 0, 0, 0>, limit_indices = array<i64: 2, 1, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x3x3xf32>) -> tensor<2x1x3xf32>
      %v76 = "stablehlo.reshape"(%v75) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v77 = "stablehlo.add"(%v66, %v76) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v78 = "stablehlo.slice"(%v74) {start_indices = array<i64: 0, 1, 0>, limit_indices = array<i64: 2, 2, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x3x3xf32>) -> tensor<2x1x3xf32>
      %v79 = "stablehlo.reshape"(%v78) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v80 = "stablehlo.add"(%v68, %v79) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v81 = "stablehlo.slice"(%v74) {start_indices = array<i64: 0, 2, 0>, limit_indices = array<i64: 2, 3, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x3x3xf32>) -> tensor<2x1x3xf32>
      %v82 = "stablehlo.reshape"(%v81) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v83 = "stablehlo.logistic"(%v77) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %v84 = "stablehlo.logistic"(%v80) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %v85 = "stablehlo.multiply"(%v83, %v82) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v86 = "stablehlo.add"(%v85, %v70) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v87 = "stablehlo.tanh"(%v86) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %v88 = "stablehlo.subtract"(%v53, %v87) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v89 = "stablehlo.multiply"(%v84, %v88) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v90 = "stablehlo.add"(%v89, %v87) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v91 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
      %v92 = "stablehlo.broadcast_in_dim"(%v61) {broadcast_dimensions = array<i64: 0>} : (tensor<2xi1>) -> tensor<2x3xi1>
      %v93 = "stablehlo.select"(%v92, %v90, %v91) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v94 = "stablehlo.reshape"(%v93) : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
      %v95 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v96 = "stablehlo.dynamic_update_slice"(%v57, %v94, %v51, %v95, %v95) : (tensor<5x2x3xf32>, tensor<1x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x3xf32>
      %v97 = "stablehlo.reshape"(%v83) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v98 = "stablehlo.reshape"(%v84) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v99 = "stablehlo.concatenate"(%v97, %v98) {dimension = 1 : i64} : (tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x2x3xf32>
      %v100 = "stablehlo.reshape"(%v87) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v101 = "stablehlo.concatenate"(%v99, %v100) {dimension = 1 : i64} : (tensor<2x2x3xf32>, tensor<2x1x3xf32>) -> tensor<2x3x3xf32>
      %v102 = "stablehlo.reshape"(%v82) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v103 = "stablehlo.concatenate"(%v101, %v102) {dimension = 1 : i64} : (tensor<2x3x3xf32>, tensor<2x1x3xf32>) -> tensor<2x4x3xf32>
      %v104 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<2x4x3xf32>} : () -> tensor<2x4x3xf32>
      %v105 = "stablehlo.broadcast_in_dim"(%v61) {broadcast_dimensions = array<i64: 0>} : (tensor<2xi1>) -> tensor<2x4x3xi1>
      %v106 = "stablehlo.select"(%v105, %v103, %v104) : (tensor<2x4x3xi1>, tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
      %v107 = "stablehlo.reshape"(%v106) : (tensor<2x4x3xf32>) -> tensor<1x2x4x3xf32>
      %v108 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v109 = "stablehlo.dynamic_update_slice"(%v52, %v107, %v51, %v108, %v108, %v108) : (tensor<5x2x4x3xf32>, tensor<1x2x4x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x4x3xf32>
      %v110 = "stablehlo.broadcast_in_dim"(%v61) {broadcast_dimensions = array<i64: 0>} : (tensor<2xi1>) -> tensor<2x3xi1>
      %v111 = "stablehlo.select"(%v110, %v90, %v53) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v112 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
      %v113 = "stablehlo.add"(%v51, %v112) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%v113, %v109, %v111, %v54, %v55, %v56, %v96) : (tensor<i32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<9x3xf32>, tensor<9xf32>, tensor<2xi32>, tensor<5x2x3xf32>) -> ()
    }) : (tensor<i32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<9x3xf32>, tensor<9xf32>, tensor<2xi32>, tensor<5x2x3xf32>) -> (tensor<i32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<9x3xf32>, tensor<9xf32>, tensor<2xi32>, tensor<5x2x3xf32>)
    %v114 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x6xf32>} : () -> tensor<5x2x6xf32>
    %v115 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v116 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v117 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v118 = "stablehlo.dynamic_update_slice"(%v114, %v41#6, %v115, %v116, %v117) : (tensor<5x2x6xf32>, tensor<5x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x6xf32>
    %v119 = "stablehlo.reshape"(%v4) : (tensor<3x3x3xf32>) -> tensor<9x3xf32>
    %v120 = "stablehlo.dot_general"(%v13, %v119) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<5x2x3xf32>, tensor<9x3xf32>) -> tensor<5x2x9xf32>
    %v121 = "stablehlo.reshape"(%v6) : (tensor<3x3xf32>) -> tensor<9xf32>
    %v122 = "stablehlo.broadcast_in_dim"(%v121) {broadcast_dimensions = array<i64: 2>} : (tensor<9xf32>) -> tensor<5x2x9xf32>
    %v123 = "stablehlo.add"(%v120, %v122) : (tensor<5x2x9xf32>, tensor<5x2x9xf32>) -> tensor<5x2x9xf32>
    %v124 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<5x2xi32>
    %v125 = "stablehlo.constant"() {value = dense<0> : tensor<5x2xi32>} : () -> tensor<5x2xi32>
    %v126 = "stablehlo.add"(%v124, %v125) : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi32>
    %v127 = "stablehlo.broadcast_in_dim"(%v12) {broadcast_dimensions = array<i64: 1>} : (tensor<2xi32>) -> tensor<5x2xi32>
    %v128 = "stablehlo.compare"(%v126, %v127) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi1>
    %v129 = "stablehlo.broadcast_in_dim"(%v128) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<5x2xi1>) -> tensor<5x2x9xi1>
    %v130 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x9xf32>} : () -> tensor<5x2x9xf32>
    %v131 = "stablehlo.select"(%v129, %v123, %v130) : (tensor<5x2x9xi1>, tensor<5x2x9xf32>, tensor<5x2x9xf32>) -> tensor<5x2x9xf32>
    %v132 = "stablehlo.reshape"(%v131) : (tensor<5x2x9xf32>) -> tensor<5x2x3x3xf32>
    %v133 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x4x3xf32>} : () -> tensor<5x2x4x3xf32>
    %v134 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v135 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v136 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v137 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v138 = "stablehlo.dynamic_update_slice"(%v133, %v132, %v134, %v135, %v136, %v137) : (tensor<5x2x4x3xf32>, tensor<5x2x3x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x4x3xf32>
    %v139 = "stablehlo.reshape"(%v5) : (tensor<3x3x3xf32>) -> tensor<9x3xf32>
    %v140 = "stablehlo.reshape"(%v7) : (tensor<3x3xf32>) -> tensor<9xf32>
    %v141 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x3xf32>} : () -> tensor<5x2x3xf32>
    %v142 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v143:7 = "stablehlo.while"(%v142, %v138, %v15, %v139, %v140, %v12, %v141) ({
      ^bb0(%v144: tensor<i32>, %v145: tensor<5x2x4x3xf32>, %v146: tensor<2x3xf32>, %v147: tensor<9x3xf32>, %v148: tensor<9xf32>, %v149: tensor<2xi32>, %v150: tensor<5x2x3xf32>):
      %v151 = "stablehlo.constant"() {value = dense<5> : tensor<i32>} : () -> tensor<i32>
      %v152 = "stablehlo.compare"(%v144, %v151) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%v152) : (tensor<i1>) -> ()
    }, {
      ^bb0(%v153: tensor<i32>, %v154: tensor<5x2x4x3xf32>, %v155: tensor<2x3xf32>, %v156: tensor<9x3xf32>, %v157: tensor<9xf32>, %v158: tensor<2xi32>, %v159: tensor<5x2x3xf32>):
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
      %v175 = "stablehlo.dot_general"(%v155, %v156) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x3xf32>, tensor<9x3xf32>) -> tensor<2x9xf32>
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
      "stablehlo.return"(%v217, %v213, %v215, %v156, %v157, %v158, %v200) : (tensor<i32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<9x3xf32>, tensor<9xf32>, tensor<2xi32>, tensor<5x2x3xf32>) -> ()
    }) : (tensor<i32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<9x3xf32>, tensor<9xf32>, tensor<2xi32>, tensor<5x2x3xf32>) -> (tensor<i32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<9x3xf32>, tensor<9xf32>, tensor<2xi32>, tensor<5x2x3xf32>)
    %v218 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v219 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v220 = "stablehlo.constant"() {value = dense<3> : tensor<i32>} : () -> tensor<i32>
    %v221 = "stablehlo.dynamic_update_slice"(%v118, %v143#6, %v218, %v219, %v220) : (tensor<5x2x6xf32>, tensor<5x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x6xf32>
    %v222 = "stablehlo.dot_general"(%v221, %v8) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<5x2x6xf32>, tensor<4x6xf32>) -> tensor<5x2x4xf32>
    %v223 = "stablehlo.broadcast_in_dim"(%v9) {broadcast_dimensions = array<i64: 2>} : (tensor<4xf32>) -> tensor<5x2x4xf32>
    %v224 = "stablehlo.add"(%v222, %v223) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v225 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<5x2xi32>
    %v226 = "stablehlo.constant"() {value = dense<0> : tensor<5x2xi32>} : () -> tensor<5x2xi32>
    %v227 = "stablehlo.add"(%v225, %v226) : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi32>
    %v228 = "stablehlo.broadcast_in_dim"(%v12) {broadcast_dimensions = array<i64: 1>} : (tensor<2xi32>) -> tensor<5x2xi32>
    %v229 = "stablehlo.compare"(%v227, %v228) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi1>
    %v230 = "stablehlo.broadcast_in_dim"(%v229) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<5x2xi1>) -> tensor<5x2x4xi1>
    %v231 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x4xf32>} : () -> tensor<5x2x4xf32>
    %v232 = "stablehlo.select"(%v230, %v224, %v231) : (tensor<5x2x4xi1>, tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v233 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<5x2xi32>
    %v234 = "stablehlo.constant"() {value = dense<0> : tensor<5x2xi32>} : () -> tensor<5x2xi32>
    %v235 = "stablehlo.add"(%v233, %v234) : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi32>
    %v236 = "stablehlo.broadcast_in_dim"(%v12) {broadcast_dimensions = array<i64: 1>} : (tensor<2xi32>) -> tensor<5x2xi32>
    %v237 = "stablehlo.compare"(%v235, %v236) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi1>
    %v238 = "stablehlo.subtract"(%v232, %v16) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v239 = "stablehlo.multiply"(%v238, %v238) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v240 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v241 = "stablehlo.reduce"(%v239, %v240) ({
      ^bb0(%v242: tensor<f32>, %v243: tensor<f32>):
      %v244 = "stablehlo.add"(%v242, %v243) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v244) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 2>} : (tensor<5x2x4xf32>, tensor<f32>) -> tensor<5x2xf32>
    %v245 = "stablehlo.constant"() {value = dense<2.500000000e-01> : tensor<5x2xf32>} : () -> tensor<5x2xf32>
    %v246 = "stablehlo.constant"() {value = dense<5.000000000e-01> : tensor<5x2x4xf32>} : () -> tensor<5x2x4xf32>
    %v247 = "stablehlo.multiply"(%v241, %v245) : (tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
    %v248 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2xf32>} : () -> tensor<5x2xf32>
    %v249 = "stablehlo.select"(%v237, %v247, %v248) : (tensor<5x2xi1>, tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
    %v250 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v251 = "stablehlo.reduce"(%v249, %v250) ({
      ^bb0(%v252: tensor<f32>, %v253: tensor<f32>):
      %v254 = "stablehlo.add"(%v252, %v253) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v254) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1>} : (tensor<5x2xf32>, tensor<f32>) -> tensor<f32>
    %v255 = "stablehlo.reshape"(%v251) : (tensor<f32>) -> tensor<1xf32>
    %v256 = "stablehlo.add"(%v10, %v255) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %v257 = "stablehlo.convert"(%v237) : (tensor<5x2xi1>) -> tensor<5x2xf32>
    %v258 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v259 = "stablehlo.reduce"(%v257, %v258) ({
      ^bb0(%v260: tensor<f32>, %v261: tensor<f32>):
      %v262 = "stablehlo.add"(%v260, %v261) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v262) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1>} : (tensor<5x2xf32>, tensor<f32>) -> tensor<f32>
    %v263 = "stablehlo.reshape"(%v259) : (tensor<f32>) -> tensor<1xf32>
    %v264 = "stablehlo.add"(%v11, %v263) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %v265 = "stablehlo.multiply"(%v238, %v246) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v266 = "stablehlo.broadcast_in_dim"(%v237) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<5x2xi1>) -> tensor<5x2x4xi1>
    %v267 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x4xf32>} : () -> tensor<5x2x4xf32>
    %v268 = "stablehlo.select"(%v266, %v265, %v267) : (tensor<5x2x4xi1>, tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    "func.return"(%v256, %v264, %v221, %v41#1, %v41#2, %v143#1, %v143#2, %v268) : (tensor<1xf32>, tensor<1xf32>, tensor<5x2x6xf32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<5x2x4xf32>) -> ()
  }
}
