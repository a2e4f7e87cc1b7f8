module @gru_before_backward attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%v0: tensor<1x3x3x3xf32> {tf.aliasing_output = 0 : i32}, %v1: tensor<3x3x3xf32>, %v2: tensor<1x3x3x3xf32> {tf.aliasing_output = 1 : i32}, %v3: tensor<1x3x3xf32> {tf.aliasing_output = 2 : i32}, %v4: tensor<1x3x3xf32> {tf.aliasing_output = 3 : i32}, %v5: tensor<4x3xf32>, %v6: tensor<1x4x3xf32> {tf.aliasing_output = 4 : i32}, %v7: tensor<1x4xf32> {tf.aliasing_output = 5 : i32}, %v8: tensor<5x2x3xf32>, %v9: tensor<5x2x3xf32>, %v10: tensor<5x2x3x3xf32>, %v11: tensor<5x2x1x3xf32>, %v12: tensor<2x3xf32>, %v13: tensor<5x2x4xf32>) -> (tensor<1x3x3x3xf32>, tensor<1x3x3x3xf32>, tensor<1x3x3xf32>, tensor<1x3x3xf32>, tensor<1x4x3xf32>, tensor<1x4xf32>, tensor<2x3xf32>) {
    %v14 = "stablehlo.dot_general"(%v13, %v5) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<5x2x4xf32>, tensor<4x3xf32>) -> tensor<5x2x3xf32>
    %v15 = "stablehlo.reshape"(%v13) : (tensor<5x2x4xf32>) -> tensor<10x4xf32>
    %v16 = "stablehlo.reshape"(%v9) : (tensor<5x2x3xf32>) -> tensor<10x3xf32>
    %v17 = "stablehlo.dot_general"(%v15, %v16) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<10x4xf32>, tensor<10x3xf32>) -> tensor<4x3xf32>
    %v18 = "stablehlo.reshape"(%v17) : (tensor<4x3xf32>) -> tensor<1x4x3xf32>
    %v19 = "stablehlo.add"(%v6, %v18) : (tensor<1x4x3xf32>, tensor<1x4x3xf32>) -> tensor<1x4x3xf32>
    %v20 = "stablehlo.reshape"(%v13) : (tensor<5x2x4xf32>) -> tensor<10x4xf32>
    %v21 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v22 = "stablehlo.reduce"(%v20, %v21) ({
      ^bb0(%v23: tensor<f32>, %v24: tensor<f32>):
      %v25 = "stablehlo.add"(%v23, %v24) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v25) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<10x4xf32>, tensor<f32>) -> tensor<4xf32>
    %v26 = "stablehlo.reshape"(%v22) : (tensor<4xf32>) -> tensor<1x4xf32>
    %v27 = "stablehlo.add"(%v7, %v26) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
    %v28 = "stablehlo.reshape"(%v12) : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
    %v29 = "stablehlo.slice"(%v9) {start_indices = array<i64: 0, 0, 0>, limit_indices = array<i64: 4, 2, 3>, strides = array<i64: 1, 1, 1>} : (tensor<5x2x3xf32>) -> tensor<4x2x3xf32>
    %v30 = "stablehlo.concatenate"(%v28, %v29) {dimension = 0 : i64} : (tensor<1x2x3xf32>, tensor<4x2x3xf32>) -> tensor<5x2x3xf32>
    %v31 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
    %v32 = "stablehlo.slice"(%v1) {start_indices = array<i64: 0, 0, 0>, limit_indices = array<i64: 1, 3, 3>, strides = array<i64: 1, 1, 1>} : (tensor<3x3x3xf32>) -> tensor<1x3x3xf32>
    %v33 = "stablehlo.reshape"(%v32) : (tensor<1x3x3xf32>) -> tensor<3x3xf32>
    %v34 = "stablehlo.slice"(%v1) {start_indices = array<i64: 1, 0, 0>, limit_indices = array<i64: 2, 3, 3>, strides = array<i64: 1, 1, 1>} : (tensor<3x3x3xf32>) -> tensor<1x3x3xf32>
    %v35 = "stablehlo.reshape"(%v34) : (tensor<1x3x3xf32>) -> tensor<3x3xf32>
    %v36 = "stablehlo.slice"(%v1) {start_indices = array<i64: 2, 0, 0>, limit_indices = array<i64: 3, 3, 3>, strides = array<i64: 1, 1, 1>} : (tensor<3x3x3xf32>) -> tensor<1x3x3xf32>
    %v37 = "stablehlo.reshape"(%v36) : (tensor<1x3x3xf32>) -> tensor<3x3xf32>
    %v38 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x3x3xf32>} : () -> tensor<5x2x3x3xf32>
    %v39 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v40:10 = "stablehlo.while"(%v39, %v10, %v9, %v14, %v30, %v31, %v33, %v35, %v37, %v38) ({
      ^bb0(%v41: tensor<i32>, %v42: tensor<5x2x3x3xf32>, %v43: tensor<5x2x3xf32>, %v44: tensor<5x2x3xf32>, %v45: tensor<5x2x3xf32>, %v46: tensor<2x3xf32>, %v47: tensor<3x3xf32>, %v48: tensor<3x3xf32>, %v49: tensor<3x3xf32>, %v50: tensor<5x2x3x3xf32>):
      %v51 = "stablehlo.constant"() {value = dense<5> : tensor<i32>} : () -> tensor<i32>
      %v52 = "stablehlo.compare"(%v41, %v51) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%v52) : (tensor<i1>) -> ()
    }, {
      ^bb0(%v53: tensor<i32>, %v54: tensor<5x2x3x3xf32>, %v55: tensor<5x2x3xf32>, %v56: tensor<5x2x3xf32>, %v57: tensor<5x2x3xf32>, %v58: tensor<2x3xf32>, %v59: tensor<3x3xf32>, %v60: tensor<3x3xf32>, %v61: tensor<3x3xf32>, %v62: tensor<5x2x3x3xf32>):
      %v63 = "stablehlo.constant"() {value = dense<4> : tensor<i32>} : () -> tensor<i32>
      %v64 = "stablehlo.subtract"(%v63, %v53) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %v65 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v66 = "stablehlo.dynamic_slice"(%v54, %v64, %v65, %v65, %v65) {slice_sizes = array<i64: 1, 2, 3, 3>} : (tensor<5x2x3x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x3x3xf32>
      %v67 = "stablehlo.reshape"(%v66) : (tensor<1x2x3x3xf32>) -> tensor<2x3x3xf32>
      %v68 = "stablehlo.slice"(%v67) {start_indices = array<i64: 0, 0, 0>, limit_indices = array<i64: 2, 1, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x3x3xf32>) -> tensor<2x1x3xf32>
      %v69 = "stablehlo.reshape"(%v68) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v70 = "stablehlo.slice"(%v67) {start_indices = array<i64: 0, 1, 0>, limit_indices = array<i64: 2, 2, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x3x3xf32>) -> tensor<2x1x3xf32>
      %v71 = "stablehlo.reshape"(%v70) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v72 = "stablehlo.slice"(%v67) {start_indices = array<i64: 0, 2, 0>, limit_indices = array<i64: 2, 3, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x3x3xf32>) -> tensor<2x1x3xf32>
      %v73 = "stablehlo.reshape"(%v72) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v74 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v75 = "stablehlo.dynamic_slice"(%v56, %v64, %v74, %v74) {slice_sizes = array<i64: 1, 2, 3>} : (tensor<5x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x3xf32>
      %v76 = "stablehlo.reshape"(%v75) : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
      %v77 = "stablehlo.add"(%v58, %v76) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v78 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v79 = "stablehlo.dynamic_slice"(%v57, %v64, %v78, %v78) {slice_sizes = array<i64: 1, 2, 3>} : (tensor<5x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x3xf32>
      %v80 = "stablehlo.reshape"(%v79) : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
      %v81 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v82 = "stablehlo.dynamic_slice"(%v55, %v64, %v81, %v81) {slice_sizes = array<i64: 1, 2, 3>} : (tensor<5x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x3xf32>
      %v83 = "stablehlo.reshape"(%v82) : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
      %v84 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
      %v85 = "stablehlo.constant"() {value = dense<1.000000000e+00> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
      %v86 = "stablehlo.subtract"(%v85, %v71) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v87 = "stablehlo.multiply"(%v71, %v86) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v88 = "stablehlo.subtract"(%v80, %v73) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v89 = "stablehlo.multiply"(%v77, %v88) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v90 = "stablehlo.multiply"(%v89, %v87) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v91 = "stablehlo.multiply"(%v73, %v73) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v92 = "stablehlo.subtract"(%v85, %v91) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v93 = "stablehlo.multiply"(%v77, %v86) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v94 = "stablehlo.multiply"(%v93, %v92) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v95 = "stablehlo.multiply"(%v77, %v71) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v96 = "stablehlo.add"(%v95, %v84) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v97 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v98 = "stablehlo.dynamic_slice"(%v57, %v64, %v97, %v97) {slice_sizes = array<i64: 1, 2, 3>} : (tensor<5x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x3xf32>
      %v99 = "stablehlo.reshape"(%v98) : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
      %v100 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v101 = "stablehlo.dynamic_slice"(%v55, %v64, %v100, %v100) {slice_sizes = array<i64: 1, 2, 3>} : (tensor<5x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x3xf32>
      %v102 = "stablehlo.reshape"(%v101) : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
      %v103 = "stablehlo.reshape"(%v94) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v104 = "stablehlo.reshape"(%v103) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v105 = "stablehlo.dot_general"(%v104, %v61) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
      %v106 = "stablehlo.constant"() {value = dense<1.000000000e+00> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
      %v107 = "stablehlo.subtract"(%v106, %v69) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v108 = "stablehlo.multiply"(%v69, %v107) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v109 = "stablehlo.multiply"(%v105, %v99) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v110 = "stablehlo.multiply"(%v109, %v108) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v111 = "stablehlo.multiply"(%v105, %v69) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v112 = "stablehlo.add"(%v111, %v96) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v113 = "stablehlo.reshape"(%v110) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v114 = "stablehlo.reshape"(%v90) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v115 = "stablehlo.concatenate"(%v113, %v114) {dimension = 1 : i64} : (tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x2x3xf32>
      %v116 = "stablehlo.reshape"(%v94) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v117 = "stablehlo.concatenate"(%v115, %v116) {dimension = 1 : i64} : (tensor<2x2x3xf32>, tensor<2x1x3xf32>) -> tensor<2x3x3xf32>
      %v118 = "stablehlo.reshape"(%v117) : (tensor<2x3x3xf32>) -> tensor<1x2x3x3xf32>
      %v119 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v120 = "stablehlo.dynamic_update_slice"(%v62, %v118, %v64, %v119, %v119, %v119) : (tensor<5x2x3x3xf32>, tensor<1x2x3x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x3x3xf32>
      %v121 = "stablehlo.reshape"(%v110) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v122 = "stablehlo.reshape"(%v121) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v123 = "stablehlo.dot_general"(%v122, %v59) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
      %v124 = "stablehlo.reshape"(%v90) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v125 = "stablehlo.reshape"(%v124) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v126 = "stablehlo.dot_general"(%v125, %v60) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
      %v127 = "stablehlo.add"(%v123, %v126) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v128 = "stablehlo.add"(%v112, %v127) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v129 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
      %v130 = "stablehlo.add"(%v53, %v129) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%v130, %v54, %v55, %v56, %v57, %v128, %v59, %v60, %v61, %v120) : (tensor<i32>, tensor<5x2x3x3xf32>, tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<5x2x3x3xf32>) -> ()
    }) : (tensor<i32>, tensor<5x2x3x3xf32>, tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<5x2x3x3xf32>) -> (tensor<i32>, tensor<5x2x3x3xf32>, tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<5x2x3x3xf32>)
    %v131 = "stablehlo.slice"(%v40#9) {start_indices = array<i64: 0, 0, 0, 0>, limit_indices = array<i64: 5, 2, 2, 3>, strides = array<i64: 1, 1, 1, 1>} : (tensor<5x2x3x3xf32>) -> tensor<5x2x2x3xf32>
    %v132 = "stablehlo.reshape"(%v131) : (tensor<5x2x2x3xf32>) -> tensor<5x2x6xf32>
    %v133 = "stablehlo.reshape"(%v12) : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
    %v134 = "stablehlo.slice"(%v9) {start_indices = array<i64: 0, 0, 0>, limit_indices = array<i64: 4, 2, 3>, strides = array<i64: 1, 1, 1>} : (tensor<5x2x3xf32>) -> tensor<4x2x3xf32>
    %v135 = "stablehlo.concatenate"(%v133, %v134) {dimension = 0 : i64} : (tensor<1x2x3xf32>, tensor<4x2x3xf32>) -> tensor<5x2x3xf32>
    %v136 = "stablehlo.reshape"(%v132) : (tensor<5x2x6xf32>) -> tensor<10x6xf32>
    %v137 = "stablehlo.reshape"(%v135) : (tensor<5x2x3xf32>) -> tensor<10x3xf32>
    %v138 = "stablehlo.dot_general"(%v136, %v137) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<10x6xf32>, tensor<10x3xf32>) -> tensor<6x3xf32>
    %v139 = "stablehlo.reshape"(%v138) : (tensor<6x3xf32>) -> tensor<1x2x3x3xf32>
    %v140 = "stablehlo.slice"(%v2) {start_indices = array<i64: 0, 0, 0, 0>, limit_indices = array<i64: 1, 2, 3, 3>, strides = array<i64: 1, 1, 1, 1>} : (tensor<1x3x3x3xf32>) -> tensor<1x2x3x3xf32>
    %v141 = "stablehlo.add"(%v140, %v139) : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
    %v142 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v143 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v144 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v145 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v146 = "stablehlo.dynamic_update_slice"(%v2, %v141, %v142, %v143, %v144, %v145) : (tensor<1x3x3x3xf32>, tensor<1x2x3x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x3x3xf32>
    %v147 = "stablehlo.slice"(%v40#9) {start_indices = array<i64: 0, 0, 0, 0>, limit_indices = array<i64: 5, 2, 2, 3>, strides = array<i64: 1, 1, 1, 1>} : (tensor<5x2x3x3xf32>) -> tensor<5x2x2x3xf32>
    %v148 = "stablehlo.reshape"(%v147) : (tensor<5x2x2x3xf32>) -> tensor<5x2x6xf32>
    %v149 = "stablehlo.reshape"(%v148) : (tensor<5x2x6xf32>) -> tensor<10x6xf32>
    %v150 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v151 = "stablehlo.reduce"(%v149, %v150) ({
      ^bb0(%v152: tensor<f32>, %v153: tensor<f32>):
      %v154 = "stablehlo.add"(%v152, %v153) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v154) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<10x6xf32>, tensor<f32>) -> tensor<6xf32>
    %v155 = "stablehlo.reshape"(%v151) : (tensor<6xf32>) -> tensor<1x2x3xf32>
    %v156 = "stablehlo.slice"(%v4) {start_indices = array<i64: 0, 0, 0>, limit_indices = array<i64: 1, 2, 3>, strides = array<i64: 1, 1, 1>} : (tensor<1x3x3xf32>) -> tensor<1x2x3xf32>
    %v157 = "stablehlo.add"(%v156, %v155) : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
    %v158 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v159 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v160 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v161 = "stablehlo.dynamic_update_slice"(%v4, %v157, %v158, %v159, %v160) : (tensor<1x3x3xf32>, tensor<1x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x3xf32>
    %v162 = "stablehlo.slice"(%v3) {start_indices = array<i64: 0, 0, 0>, limit_indices = array<i64: 1, 2, 3>, strides = array<i64: 1, 1, 1>} : (tensor<1x3x3xf32>) -> tensor<1x2x3xf32>
    %v163 = "stablehlo.add"(%v162, %v155) : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
    %v164 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v165 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v166 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v167 = "stablehlo.dynamic_update_slice"(%v3, %v163, %v164, %v165, %v166) : (tensor<1x3x3xf32>, tensor<1x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x3xf32>
    %v168 = "stablehlo.slice"(%v40#9) {start_indices = array<i64: 0, 0, 2, 0>, limit_indices = array<i64: 5, 2, 3, 3>, strides = array<i64: 1, 1, 1, 1>} : (tensor<5x2x3x3xf32>) -> tensor<5x2x1x3xf32>
    %v169 = "stablehlo.reshape"(%v168) : (tensor<5x2x1x3xf32>) -> tensor<5x2x3xf32>
    %v170 = "stablehlo.reshape"(%v11) : (tensor<5x2x1x3xf32>) -> tensor<5x2x3xf32>
    %v171 = "stablehlo.reshape"(%v169) : (tensor<5x2x3xf32>) -> tensor<10x3xf32>
    %v172 = "stablehlo.reshape"(%v170) : (tensor<5x2x3xf32>) -> tensor<10x3xf32>
    %v173 = "stablehlo.dot_general"(%v171, %v172) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<10x3xf32>, tensor<10x3xf32>) -> tensor<3x3xf32>
    %v174 = "stablehlo.reshape"(%v173) : (tensor<3x3xf32>) -> tensor<1x1x3x3xf32>
    %v175 = "stablehlo.slice"(%v146) {start_indices = array<i64: 0, 2, 0, 0>, limit_indices = array<i64: 1, 3, 3, 3>, strides = array<i64: 1, 1, 1, 1>} : (tensor<1x3x3x3xf32>) -> tensor<1x1x3x3xf32>
    %v176 = "stablehlo.add"(%v175, %v174) : (tensor<1x1x3x3xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x3x3xf32>
    %v177 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v178 = "stablehlo.constant"() {value = dense<2> : tensor<i32>} : () -> tensor<i32>
    %v179 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v180 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v181 = "stablehlo.dynamic_update_slice"(%v146, %v176, %v177, %v178, %v179, %v180) : (tensor<1x3x3x3xf32>, tensor<1x1x3x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x3x3xf32>
    %v182 = "stablehlo.slice"(%v40#9) {start_indices = array<i64: 0, 0, 2, 0>, limit_indices = array<i64: 5, 2, 3, 3>, strides = array<i64: 1, 1, 1, 1>} : (tensor<5x2x3x3xf32>) -> tensor<5x2x1x3xf32>
    %v183 = "stablehlo.reshape"(%v182) : (tensor<5x2x1x3xf32>) -> tensor<5x2x3xf32>
    %v184 = "stablehlo.reshape"(%v183) : (tensor<5x2x3xf32>) -> tensor<10x3xf32>
    %v185 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v186 = "stablehlo.reduce"(%v184, %v185) ({
      ^bb0(%v187: tensor<f32>, %v188: tensor<f32>):
      %v189 = "stablehlo.add"(%v187, %v188) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v189) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<10x3xf32>, tensor<f32>) -> tensor<3xf32>
    %v190 = "stablehlo.reshape"(%v186) : (tensor<3xf32>) -> tensor<1x1x3xf32>
    %v191 = "stablehlo.slice"(%v161) {start_indices = array<i64: 0, 2, 0>, limit_indices = array<i64: 1, 3, 3>, strides = array<i64: 1, 1, 1>} : (tensor<1x3x3xf32>) -> tensor<1x1x3xf32>
    %v192 = "stablehlo.add"(%v191, %v190) : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
    %v193 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v194 = "stablehlo.constant"() {value = dense<2> : tensor<i32>} : () -> tensor<i32>
    %v195 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v196 = "stablehlo.dynamic_update_slice"(%v161, %v192, %v193, %v194, %v195) : (tensor<1x3x3xf32>, tensor<1x1x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x3xf32>
    %v197 = "stablehlo.slice"(%v167) {start_indices = array<i64: 0, 2, 0>, limit_indices = array<i64: 1, 3, 3>, strides = array<i64: 1, 1, 1>} : (tensor<1x3x3xf32>) -> tensor<1x1x3xf32>
    %v198 = "stablehlo.add"(%v197, %v190) : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
    %v199 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v200 = "stablehlo.constant"() {value = dense<2> : tensor<i32>} : () -> tensor<i32>
    %v201 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v202 = "stablehlo.dynamic_update_slice"(%v167, %v198, %v199, %v200, %v201) : (tensor<1x3x3xf32>, tensor<1x1x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x3xf32>
    %v203 = "stablehlo.reshape"(%v40#9) : (tensor<5x2x3x3xf32>) -> tensor<5x2x9xf32>
    %v204 = "stablehlo.reshape"(%v203) : (tensor<5x2x9xf32>) -> tensor<10x9xf32>
    %v205 = "stablehlo.reshape"(%v8) : (tensor<5x2x3xf32>) -> tensor<10x3xf32>
    %v206 = "stablehlo.dot_general"(%v204, %v205) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<10x9xf32>, tensor<10x3xf32>) -> tensor<9x3xf32>
    %v207 = "stablehlo.reshape"(%v206) : (tensor<9x3xf32>) -> tensor<1x3x3x3xf32>
    %v208 = "stablehlo.add"(%v0, %v207) : (tensor<1x3x3x3xf32>, tensor<1x3x3x3xf32>) -> tensor<1x3x3x3xf32>
    "func.return"(%v208, %v181, %v202, %v196, %v19, %v27, %v40#5) : (tensor<1x3x3x3xf32>, tensor<1x3x3x3xf32>, tensor<1x3x3xf32>, tensor<1x3x3xf32>, tensor<1x4x3xf32>, tensor<1x4xf32>, tensor<2x3xf32>) -> ()
  }
}
