module @lstm_backward attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%v0: tensor<1x4x3x3xf32> {tf.aliasing_output = 0 : i32}, %v1: tensor<4x3x3xf32>, %v2: tensor<1x4x3x3xf32> {tf.aliasing_output = 1 : i32}, %v3: tensor<1x4x3xf32> {tf.aliasing_output = 2 : i32}, %v4: tensor<1x4x3xf32> {tf.aliasing_output = 3 : i32}, %v5: tensor<4x3xf32>, %v6: tensor<1x4x3xf32> {tf.aliasing_output = 4 : i32}, %v7: tensor<1x4xf32> {tf.aliasing_output = 5 : i32}, %v8: tensor<2xi32>, %v9: tensor<5x2x3xf32>, %v10: tensor<5x2x3xf32>, %v11: tensor<5x2x4x3xf32>, %v12: tensor<5x2x1x3xf32>, %v13: tensor<2x3xf32>, %v14: tensor<1x2x3xf32>, %v15: tensor<5x2x4xf32>) -> (tensor<1x4x3x3xf32>, tensor<1x4x3x3xf32>, tensor<1x4x3xf32>, tensor<1x4x3xf32>, tensor<1x4x3xf32>, tensor<1x4xf32>, tensor<2x3xf32>, tensor<1x2x3xf32>) {
    %v16 = "stablehlo.dot_general"(%v15, %v5) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<5x2x4xf32>, tensor<4x3xf32>) -> tensor<5x2x3xf32>
    %v17 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<5x2xi32>
    %v18 = "stablehlo.constant"() {value = dense<0> : tensor<5x2xi32>} : () -> tensor<5x2xi32>
    %v19 = "stablehlo.add"(%v17, %v18) : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi32>
    %v20 = "stablehlo.broadcast_in_dim"(%v8) {broadcast_dimensions = array<i64: 1>} : (tensor<2xi32>) -> tensor<5x2xi32>
    %v21 = "stablehlo.compare"(%v19, %v20) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi1>
    %v22 = "stablehlo.broadcast_in_dim"(%v21) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<5x2xi1>) -> tensor<5x2x3xi1>
    %v23 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x3xf32>} : () -> tensor<5x2x3xf32>
    %v24 = "stablehlo.select"(%v22, %v16, %v23) : (tensor<5x2x3xi1>, tensor<5x2x3xf32>, tensor<5x2x3xf32>) -> tensor<5x2x3xf32>
    %v25 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<5x2xi32>
    %v26 = "stablehlo.constant"() {value = dense<0> : tensor<5x2xi32>} : () -> tensor<5x2xi32>
    %v27 = "stablehlo.add"(%v25, %v26) : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi32>
    %v28 = "stablehlo.broadcast_in_dim"(%v8) {broadcast_dimensions = array<i64: 1>} : (tensor<2xi32>) -> tensor<5x2xi32>
    %v29 = "stablehlo.compare"(%v27, %v28) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi1>
    %v30 = "stablehlo.broadcast_in_dim"(%v29) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<5x2xi1>) -> tensor<5x2x4xi1>
    %v31 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x4xf32>} : () -> tensor<5x2x4xf32>
    %v32 = "stablehlo.select"(%v30, %v15, %v31) : (tensor<5x2x4xi1>, tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v33 = "stablehlo.reshape"(%v32) : (tensor<5x2x4xf32>) -> tensor<10x4xf32>
    %v34 = "stablehlo.reshape"(%v10) : (tensor<5x2x3xf32>) -> tensor<10x3xf32>
    %v35 = "stablehlo.dot_general"(%v33, %v34) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<10x4xf32>, tensor<10x3xf32>) -> tensor<4x3xf32>
    %v36 = "stablehlo.reshape"(%v35) : (tensor<4x3xf32>) -> tensor<1x4x3xf32>
    %v37 = "stablehlo.add"(%v6, %v36) : (tensor<1x4x3xf32>, tensor<1x4x3xf32>) -> tensor<1x4x3xf32>
    %v38 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<5x2xi32>
    %v39 = "stablehlo.constant"() {value = dense<0> : tensor<5x2xi32>} : () -> tensor<5x2xi32>
    %v40 = "stablehlo.add"(%v38, %v39) : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi32>
    %v41 = "stablehlo.broadcast_in_dim"(%v8) {broadcast_dimensions = array<i64: 1>} : (tensor<2xi32>) -> tensor<5x2xi32>
    %v42 = "stablehlo.compare"(%v40, %v41) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi1>
    %v43 = "stablehlo.broadcast_in_dim"(%v42) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<5x2xi1>) -> tensor<5x2x4xi1>
    %v44 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x4xf32>} : () -> tensor<5x2x4xf32>
    %v45 = "stablehlo.select"(%v43, %v15, %v44) : (tensor<5x2x4xi1>, tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v46 = "stablehlo.reshape"(%v45) : (tensor<5x2x4xf32>) -> tensor<10x4xf32>
    %v47 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v48 = "stablehlo.reduce"(%v46, %v47) ({
      ^bb0(%v49: tensor<f32>, %v50: tensor<f32>):
      %v51 = "stablehlo.add"(%v49, %v50) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v51) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<10x4xf32>, tensor<f32>) -> tensor<4xf32>
    %v52 = "stablehlo.reshape"(%v48) : (tensor<4xf32>) -> tensor<1x4xf32>
    %v53 = "stablehlo.add"(%v7, %v52) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
    %v54 = "stablehlo.reshape"(%v13) : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
    %v55 = "stablehlo.slice"(%v10) {start_indices = array<i64: 0, 0, 0>, limit_indices = array<i64: 4, 2, 3>, strides = array<i64: 1, 1, 1>} : (tensor<5x2x3xf32>) -> tensor<4x2x3xf32>
    %v56 = "stablehlo.concatenate"(%v54, %v55) {dimension = 0 : i64} : (tensor<1x2x3xf32>, tensor<4x2x3xf32>) -> tensor<5x2x3xf32>
    %v57 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
    %v58 = "stablehlo.reshape"(%v14) : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
    %v59 = "stablehlo.reshape"(%v12) : (tensor<5x2x1x3xf32>) -> tensor<5x2x3xf32>
    %v60 = "stablehlo.reshape"(%v58) : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
    %v61 = "stablehlo.slice"(%v59) {start_indices = array<i64: 0, 0, 0>, limit_indices = array<i64: 4, 2, 3>, strides = array<i64: 1, 1, 1>} : (tensor<5x2x3xf32>) -> tensor<4x2x3xf32>
    %v62 = "stablehlo.concatenate"(%v60, %v61) {dimension = 0 : i64} : (tensor<1x2x3xf32>, tensor<4x2x3xf32>) -> tensor<5x2x3xf32>
    %v63 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
    %v64 = "stablehlo.reshape"(%v1) : (tensor<4x3x3xf32>) -> tensor<12x3xf32>
    %v65 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x4x3xf32>} : () -> tensor<5x2x4x3xf32>
    %v66 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v67:12 = "stablehlo.while"(%v66, %v11, %v10, %v12, %v24, %v56, %v57, %v62, %v63, %v64, %v8, %v65) ({
      ^bb0(%v68: tensor<i32>, %v69: tensor<5x2x4x3xf32>, %v70: tensor<5x2x3xf32>, %v71: tensor<5x2x1x3xf32>, %v72: tensor<5x2x3xf32>, %v73: tensor<5x2x3xf32>, %v74: tensor<2x3xf32>, %v75: tensor<5x2x3xf32>, %v76: tensor<2x3xf32>, %v77: tensor<12x3xf32>, %v78: tensor<2xi32>, %v79: tensor<5x2x4x3xf32>):
      %v80 = "stablehlo.constant"() {value = dense<5> : tensor<i32>} : () -> tensor<i32>
      %v81 = "stablehlo.compare"(%v68, %v80) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%v81) : (tensor<i1>) -> ()
    }, {
      ^bb0(%v82: tensor<i32>, %v83: tensor<5x2x4x3xf32>, %v84: tensor<5x2x3xf32>, %v85: tensor<5x2x1x3xf32>, %v86: tensor<5x2x3xf32>, %v87: tensor<5x2x3xf32>, %v88: tensor<2x3xf32>, %v89: tensor<5x2x3xf32>, %v90: tensor<2x3xf32>, %v91: tensor<12x3xf32>, %v92: tensor<2xi32>, %v93: tensor<5x2x4x3xf32>):
      %v94 = "stablehlo.constant"() {value = dense<4> : tensor<i32>} : () -> tensor<i32>
      %v95 = "stablehlo.subtract"(%v94, %v82) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %v96 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v97 = "stablehlo.add"(%v95, %v96) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %v98 = "stablehlo.broadcast_in_dim"(%v97) {broadcast_dimensions = array<i64>} : (tensor<i32>) -> tensor<2xi32>
      %v99 = "stablehlo.compare"(%v98, %v92) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
      %v100 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v101 = "stablehlo.dynamic_slice"(%v83, %v95, %v100, %v100, %v100) {slice_sizes = array<i64: 1, 2, 4, 3>} : (tensor<5x2x4x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x4x3xf32>
      %v102 = "stablehlo.reshape"(%v101) : (tensor<1x2x4x3xf32>) -> tensor<2x4x3xf32>
      %v103 = "stablehlo.slice"(%v102) {start_indices = array<i64: 0, 0, 0>, limit_indices = array<i64: 2, 1, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
      %v104 = "stablehlo.reshape"(%v103) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v105 = "stablehlo.slice"(%v102) {start_indices = array<i64: 0, 1, 0>, limit_indices = array<i64: 2, 2, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
      %v106 = "stablehlo.reshape"(%v105) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v107 = "stablehlo.slice"(%v102) {start_indices = array<i64: 0, 2, 0>, limit_indices = array<i64: 2, 3, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
      %v108 = "stablehlo.reshape"(%v107) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v109 = "stablehlo.slice"(%v102) {start_indices = array<i64: 0, 3, 0>, limit_indices = array<i64: 2, 4, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
      %v110 = "stablehlo.reshape"(%v109) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v111 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v112 = "stablehlo.dynamic_slice"(%v86, %v95, %v111, %v111) {slice_sizes = array<i64: 1, 2, 3>} : (tensor<5x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x3xf32>
      %v113 = "stablehlo.reshape"(%v112) : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
      %v114 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
      %v115 = "stablehlo.broadcast_in_dim"(%v99) {broadcast_dimensions = array<i64: 0>} : (tensor<2xi1>) -> tensor<2x3xi1>
      %v116 = "stablehlo.select"(%v115, %v113, %v114) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v117 = "stablehlo.add"(%v88, %v116) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v118 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v119 = "stablehlo.dynamic_slice"(%v85, %v95, %v118, %v118, %v118) {slice_sizes = array<i64: 1, 2, 1, 3>} : (tensor<5x2x1x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x1x3xf32>
      %v120 = "stablehlo.reshape"(%v119) : (tensor<1x2x1x3xf32>) -> tensor<2x1x3xf32>
      %v121 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v122 = "stablehlo.dynamic_slice"(%v87, %v95, %v121, %v121) {slice_sizes = array<i64: 1, 2, 3>} : (tensor<5x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x3xf32>
      %v123 = "stablehlo.reshape"(%v122) : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
      %v124 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v125 = "stablehlo.dynamic_slice"(%v84, %v95, %v124, %v124) {slice_sizes = array<i64: 1, 2, 3>} : (tensor<5x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x3xf32>
      %v126 = "stablehlo.reshape"(%v125) : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
      %v127 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v128 = "stablehlo.dynamic_slice"(%v89, %v95, %v127, %v127) {slice_sizes = array<i64: 1, 2, 3>} : (tensor<5x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x3xf32>
      %v129 = "stablehlo.reshape"(%v128) : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
      %v130 = "stablehlo.reshape"(%v120) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v131 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
      %v132 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
      %v133 = "stablehlo.tanh"(%v130) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %v134 = "stablehlo.constant"() {value = dense<1.000000000e+00> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
      %v135 = "stablehlo.subtract"(%v134, %v110) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v136 = "stablehlo.multiply"(%v110, %v135) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v137 = "stablehlo.multiply"(%v117, %v133) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v138 = "stablehlo.multiply"(%v137, %v136) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v139 = "stablehlo.multiply"(%v133, %v133) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v140 = "stablehlo.subtract"(%v134, %v139) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v141 = "stablehlo.multiply"(%v117, %v110) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v142 = "stablehlo.multiply"(%v141, %v140) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v143 = "stablehlo.add"(%v142, %v90) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v144 = "stablehlo.subtract"(%v134, %v104) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v145 = "stablehlo.multiply"(%v104, %v144) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v146 = "stablehlo.multiply"(%v143, %v108) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v147 = "stablehlo.multiply"(%v146, %v145) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v148 = "stablehlo.subtract"(%v134, %v106) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v149 = "stablehlo.multiply"(%v106, %v148) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v150 = "stablehlo.multiply"(%v143, %v129) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v151 = "stablehlo.multiply"(%v150, %v149) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v152 = "stablehlo.multiply"(%v108, %v108) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v153 = "stablehlo.subtract"(%v134, %v152) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v154 = "stablehlo.multiply"(%v143, %v104) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v155 = "stablehlo.multiply"(%v154, %v153) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v156 = "stablehlo.multiply"(%v143, %v106) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v157 = "stablehlo.add"(%v156, %v132) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v158 = "stablehlo.reshape"(%v147) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v159 = "stablehlo.reshape"(%v151) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v160 = "stablehlo.concatenate"(%v158, %v159) {dimension = 1 : i64} : (tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x2x3xf32>
      %v161 = "stablehlo.reshape"(%v155) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v162 = "stablehlo.concatenate"(%v160, %v161) {dimension = 1 : i64} : (tensor<2x2x3xf32>, tensor<2x1x3xf32>) -> tensor<2x3x3xf32>
      %v163 = "stablehlo.reshape"(%v138) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v164 = "stablehlo.concatenate"(%v162, %v163) {dimension = 1 : i64} : (tensor<2x3x3xf32>, tensor<2x1x3xf32>) -> tensor<2x4x3xf32>
      %v165 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<2x4x3xf32>} : () -> tensor<2x4x3xf32>
      %v166 = "stablehlo.broadcast_in_dim"(%v99) {broadcast_dimensions = array<i64: 0>} : (tensor<2xi1>) -> tensor<2x4x3xi1>
      %v167 = "stablehlo.select"(%v166, %v164, %v165) : (tensor<2x4x3xi1>, tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
      %v168 = "stablehlo.reshape"(%v167) : (tensor<2x4x3xf32>) -> tensor<1x2x4x3xf32>
      %v169 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v170 = "stablehlo.dynamic_update_slice"(%v93, %v168, %v95, %v169, %v169, %v169) : (tensor<5x2x4x3xf32>, tensor<1x2x4x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x4x3xf32>
      %v171 = "stablehlo.reshape"(%v147) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v172 = "stablehlo.reshape"(%v151) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v173 = "stablehlo.concatenate"(%v171, %v172) {dimension = 1 : i64} : (tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x2x3xf32>
      %v174 = "stablehlo.reshape"(%v155) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v175 = "stablehlo.concatenate"(%v173, %v174) {dimension = 1 : i64} : (tensor<2x2x3xf32>, tensor<2x1x3xf32>) -> tensor<2x3x3xf32>
      %v176 = "stablehlo.reshape"(%v138) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v177 = "stablehlo.concatenate"(%v175, %v176) {dimension = 1 : i64} : (tensor<2x3x3xf32>, tensor<2x1x3xf32>) -> tensor<2x4x3xf32>
      %v178 = "stablehlo.reshape"(%v177) : (tensor<2x4x3xf32>) -> tensor<2x12xf32>
      %v179 = "stablehlo.dot_general"(%v178, %v91) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x12xf32>, tensor<12x3xf32>) -> tensor<2x3xf32>
      %v180 = "stablehlo.add"(%v131, %v179) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v181 = "stablehlo.broadcast_in_dim"(%v99) {broadcast_dimensions = array<i64: 0>} : (tensor<2xi1>) -> tensor<2x3xi1>
      %v182 = "stablehlo.select"(%v181, %v180, %v88) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v183 = "stablehlo.broadcast_in_dim"(%v99) {broadcast_dimensions = array<i64: 0>} : (tensor<2xi1>) -> tensor<2x3xi1>
      %v184 = "stablehlo.select"(%v183, %v157, %v90) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v185 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
      %v186 = "stablehlo.add"(%v82, %v185) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%v186, %v83, %v84, %v85, %v86, %v87, %v182, %v89, %v184, %v91, %v92, %v170) : (tensor<i32>, tensor<5x2x4x3xf32>, tensor<5x2x3xf32>, tensor<5x2x1x3xf32>, tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<12x3xf32>, tensor<2xi32>, tensor<5x2x4x3xf32>) -> ()
    }) : (tensor<i32>, tensor<5x2x4x3xf32>, tensor<5x2x3xf32>, tensor<5x2x1x3xf32>, tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<12x3xf32>, tensor<2xi32>, tensor<5x2x4x3xf32>) -> (tensor<i32>, tensor<5x2x4x3xf32>, tensor<5x2x3xf32>, tensor<5x2x1x3xf32>, tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<12x3xf32>, tensor<2xi32>, tensor<5x2x4x3xf32>)
    %v187 = "stablehlo.reshape"(%v67#8) : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
    %v188 = "stablehlo.reshape"(%v67#11) : (tensor<5x2x4x3xf32>) -> tensor<5x2x12xf32>
    %v189 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<5x2xi32>
    %v190 = "stablehlo.constant"() {value = dense<0> : tensor<5x2xi32>} : () -> tensor<5x2xi32>
    %v191 = "stablehlo.add"(%v189, %v190) : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi32>
    %v192 = "stablehlo.broadcast_in_dim"(%v8) {broadcast_dimensions = array<i64: 1>} : (tensor<2xi32>) -> tensor<5x2xi32>
    %v193 = "stablehlo.compare"(%v191, %v192) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi1>
    %v194 = "stablehlo.broadcast_in_dim"(%v193) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<5x2xi1>) -> tensor<5x2x12xi1>
    %v195 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x12xf32>} : () -> tensor<5x2x12xf32>
    %v196 = "stablehlo.select"(%v194, %v188, %v195) : (tensor<5x2x12xi1>, tensor<5x2x12xf32>, tensor<5x2x12xf32>) -> tensor<5x2x12xf32>
    %v197 = "stablehlo.reshape"(%v13) : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
    %v198 = "stablehlo.slice"(%v10) {start_indices = array<i64: 0, 0, 0>, limit_indices = array<i64: 4, 2, 3>, strides = array<i64: 1, 1, 1>} : (tensor<5x2x3xf32>) -> tensor<4x2x3xf32>
    %v199 = "stablehlo.concatenate"(%v197, %v198) {dimension = 0 : i64} : (tensor<1x2x3xf32>, tensor<4x2x3xf32>) -> tensor<5x2x3xf32>
    %v200 = "stablehlo.reshape"(%v196) : (tensor<5x2x12xf32>) -> tensor<10x12xf32>
    %v201 = "stablehlo.reshape"(%v199) : (tensor<5x2x3xf32>) -> tensor<10x3xf32>
    %v202 = "stablehlo.dot_general"(%v200, %v201) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<10x12xf32>, tensor<10x3xf32>) -> tensor<12x3xf32>
    %v203 = "stablehlo.reshape"(%v202) : (tensor<12x3xf32>) -> tensor<1x4x3x3xf32>
    %v204 = "stablehlo.add"(%v2, %v203) : (tensor<1x4x3x3xf32>, tensor<1x4x3x3xf32>) -> tensor<1x4x3x3xf32>
    %v205 = "stablehlo.reshape"(%v67#11) : (tensor<5x2x4x3xf32>) -> tensor<5x2x12xf32>
    %v206 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<5x2xi32>
    %v207 = "stablehlo.constant"() {value = dense<0> : tensor<5x2xi32>} : () -> tensor<5x2xi32>
    %v208 = "stablehlo.add"(%v206, %v207) : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi32>
    %v209 = "stablehlo.broadcast_in_dim"(%v8) {broadcast_dimensions = array<i64: 1>} : (tensor<2xi32>) -> tensor<5x2xi32>
    %v210 = "stablehlo.compare"(%v208, %v209) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi1>
    %v211 = "stablehlo.broadcast_in_dim"(%v210) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<5x2xi1>) -> tensor<5x2x12xi1>
    %v212 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x12xf32>} : () -> tensor<5x2x12xf32>
    %v213 = "stablehlo.select"(%v211, %v205, %v212) : (tensor<5x2x12xi1>, tensor<5x2x12xf32>, tensor<5x2x12xf32>) -> tensor<5x2x12xf32>
    %v214 = "stablehlo.reshape"(%v213) : (tensor<5x2x12xf32>) -> tensor<10x12xf32>
    %v215 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v216 = "stablehlo.reduce"(%v214, %v215) ({
      ^bb0(%v217: tensor<f32>, %v218: tensor<f32>):
      %v219 = "stablehlo.add"(%v217, %v218) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v219) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<10x12xf32>, tensor<f32>) -> tensor<12xf32>
    %v220 = "stablehlo.reshape"(%v216) : (tensor<12xf32>) -> tensor<1x4x3xf32>
    %v221 = "stablehlo.add"(%v4, %v220) : (tensor<1x4x3xf32>, tensor<1x4x3xf32>) -> tensor<1x4x3xf32>
    %v222 = "stablehlo.add"(%v3, %v220) : (tensor<1x4x3xf32>, tensor<1x4x3xf32>) -> tensor<1x4x3xf32>
    %v223 = "stablehlo.reshape"(%v67#11) : (tensor<5x2x4x3xf32>) -> tensor<5x2x12xf32>
    %v224 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<5x2xi32>
    %v225 = "stablehlo.constant"() {value = dense<0> : tensor<5x2xi32>} : () -> tensor<5x2xi32>
    %v226 = "stablehlo.add"(%v224, %v225) : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi32>
    %v227 = "stablehlo.broadcast_in_dim"(%v8) {broadcast_dimensions = array<i64: 1>} : (tensor<2xi32>) -> tensor<5x2xi32>
    %v228 = "stablehlo.compare"(%v226, %v227) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi1>
    %v229 = "stablehlo.broadcast_in_dim"(%v228) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<5x2xi1>) -> tensor<5x2x12xi1>
    %v230 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x12xf32>} : () -> tensor<5x2x12xf32>
    %v231 = "stablehlo.select"(%v229, %v223, %v230) : (tensor<5x2x12xi1>, tensor<5x2x12xf32>, tensor<5x2x12xf32>) -> tensor<5x2x12xf32>
    %v232 = "stablehlo.reshape"(%v231) : (tensor<5x2x12xf32>) -> tensor<10x12xf32>
    %v233 = "stablehlo.reshape"(%v9) : (tensor<5x2x3xf32>) -> tensor<10x3xf32>
    %v234 = "stablehlo.dot_general"(%v232, %v233) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<10x12xf32>, tensor<10x3xf32>) -> tensor<12x3xf32>
    %v235 = "stablehlo.reshape"(%v234) : (tensor<12x3xf32>) -> tensor<1x4x3x3xf32>
    %v236 = "stablehlo.add"(%v0, %v235) : (tensor<1x4x3x3xf32>, tensor<1x4x3x3xf32>) -> tensor<1x4x3x3xf32>
    "func.return"(%v236, %v204, %v222, %v221, %v37, %v53, %v67#6, %v187) : (tensor<1x4x3x3xf32>, tensor<1x4x3x3xf32>, tensor<1x4x3xf32>, tensor<1x4x3xf32>, tensor<1x4x3xf32>, tensor<1x4xf32>, tensor<2x3xf32>, tensor<1x2x3xf32>) -> ()
  }
}
