module @rnn_forward attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%v0: tensor<1x3x3xf32>, %v1: tensor<1x3x3xf32>, %v2: tensor<1x3xf32>, %v3: tensor<1x3xf32>, %v4: tensor<4x3xf32>, %v5: tensor<4xf32>, %v6: tensor<5x2x3xf32>, %v7: tensor<2x3xf32>, %v8: tensor<5x2x4xf32>) -> (tensor<1xf32>, tensor<1xf32>, tensor<5x2x3xf32>, tensor<5x2x1x3xf32>, tensor<2x3xf32>, tensor<5x2x4xf32>) {
    %v9 = "stablehlo.reshape"(%v0) : (tensor<1x3x3xf32>) -> tensor<3x3xf32>
    %v10 = "stablehlo.dot_general"(%v6, %v9) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<5x2x3xf32>, tensor<3x3xf32>) -> tensor<5x2x3xf32>
    %v11 = "stablehlo.reshape"(%v2) : (tensor<1x3xf32>) -> tensor<3xf32>
    %v12 = "stablehlo.broadcast_in_dim"(%v11) {broadcast_dimensions = array<i64: 2>} : (tensor<3xf32>) -> tensor<5x2x3xf32>
    %v13 = "stablehlo.add"(%v10, %v12) : (tensor<5x2x3xf32>, tensor<5x2x3xf32>) -> tensor<5x2x3xf32>
    %v14 = "stablehlo.reshape"(%v13) : (tensor<5x2x3xf32>) -> tensor<5x2x1x3xf32>
    %v15 = "stablehlo.reshape"(%v1) : (tensor<1x3x3xf32>) -> tensor<3x3xf32>
    %v16 = "stablehlo.transpose"(%v15) {permutation = array<i64: 1, 0>} : (tensor<3x3xf32>) -> tensor<3x3xf32>
    %v17 = "stablehlo.reshape"(%v3) : (tensor<1x3xf32>) -> tensor<3xf32>
    %v18 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x3xf32>} : () -> tensor<5x2x3xf32>
    %v19 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v20:6 = "stablehlo.while"(%v19, %v14, %v7, %v16, %v17, %v18) ({
      ^bb0(%v21: tensor<i32>, %v22: tensor<5x2x1x3xf32>, %v23: tensor<2x3xf32>, %v24: tensor<3x3xf32>, %v25: tensor<3xf32>, %v26: tensor<5x2x3xf32>):
      %v27 = "stablehlo.constant"() {value = dense<5> : tensor<i32>} : () -> tensor<i32>
      %v28 = "stablehlo.compare"(%v21, %v27) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%v28) : (tensor<i1>) -> ()
    }, {
      ^bb0(%v29: tensor<i32>, %v30: tensor<5x2x1x3xf32>, %v31: tensor<2x3xf32>, %v32: tensor<3x3xf32>, %v33: tensor<3xf32>, %v34: tensor<5x2x3xf32>):
      %v35 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v36 = "stablehlo.dynamic_slice"(%v30, %v29, %v35, %v35, %v35) {slice_sizes = array<i64: 1, 2, 1, 3>} : (tensor<5x2x1x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x1x3xf32>
      %v37 = "stablehlo.reshape"(%v36) : (tensor<1x2x1x3xf32>) -> tensor<2x1x3xf32>
      %v38 = "stablehlo.reshape"(%v37) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v39 = "stablehlo.dot_general"(%v31, %v32) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
      %v40 = "stablehlo.broadcast_in_dim"(%v33) {broadcast_dimensions = array<i64: 1>} : (tensor<3xf32>) -> tensor<2x3xf32>
      %v41 = "stablehlo.add"(%v39, %v40) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v42 = "stablehlo.reshape"(%v41) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v43 = "stablehlo.reshape"(%v42) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v44 = "stablehlo.add"(%v38, %v43) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v45 = "stablehlo.tanh"(%v44) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %v46 = "stablehlo.reshape"(%v45) : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
      %v47 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v48 = "stablehlo.dynamic_update_slice"(%v34, %v46, %v29, %v47, %v47) : (tensor<5x2x3xf32>, tensor<1x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x3xf32>
      %v49 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<2x1x3xf32>} : () -> tensor<2x1x3xf32>
      %v50 = "stablehlo.reshape"(%v49) : (tensor<2x1x3xf32>) -> tensor<1x2x1x3xf32>
      %v51 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v52 = "stablehlo.dynamic_update_slice"(%v30, %v50, %v29, %v51, %v51, %v51) : (tensor<5x2x1x3xf32>, tensor<1x2x1x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x1x3xf32>
      %v53 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
      %v54 = "stablehlo.add"(%v29, %v53) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%v54, %v52, %v45, %v32, %v33, %v48) : (tensor<i32>, tensor<5x2x1x3xf32>, tensor<2x3xf32>, tensor<3x3xf32>, tensor<3xf32>, tensor<5x2x3xf32>) -> ()
    }) : (tensor<i32>, tensor<5x2x1x3xf32>, tensor<2x3xf32>, tensor<3x3xf32>, tensor<3xf32>, tensor<5x2x3xf32>) -> (tensor<i32>, tensor<5x2x1x3xf32>, tensor<2x3xf32>, tensor<3x3xf32>, tensor<3xf32>, tensor<5x2x3xf32>)
    %v55 = "stablehlo.dot_general"(%v20#5, %v4) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<5x2x3xf32>, tensor<4x3xf32>) -> tensor<5x2x4xf32>
    %v56 = "stablehlo.broadcast_in_dim"(%v5) {broadcast_dimensions = array<i64: 2>} : (tensor<4xf32>) -> tensor<5x2x4xf32>
    %v57 = "stablehlo.add"(%v55, %v56) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v58 = "stablehlo.constant"() {value = dense<1> : tensor<5x2xi1>} : () -> tensor<5x2xi1>
    %v59 = "stablehlo.reshape"(%v57) : (tensor<5x2x4xf32>) -> tensor<5x2x4x1xf32>
    %v60 = "stablehlo.reshape"(%v59) : (tensor<5x2x4x1xf32>) -> tensor<5x2x4xf32>
    %v61 = "stablehlo.subtract"(%v60, %v8) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v62 = "stablehlo.multiply"(%v61, %v61) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v63 = "stablehlo.constant"() {value = dense<2.000000000e+00> : tensor<5x2x4xf32>} : () -> tensor<5x2x4xf32>
    %v64 = "stablehlo.multiply"(%v63, %v61) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v65 = "stablehlo.compare"(%v8, %v8) {comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xi1>
    %v66 = "stablehlo.convert"(%v65) : (tensor<5x2x4xi1>) -> tensor<5x2x4xf32>
    %v67 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x4xf32>} : () -> tensor<5x2x4xf32>
    %v68 = "stablehlo.select"(%v65, %v62, %v67) : (tensor<5x2x4xi1>, tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v69 = "stablehlo.constant"() {value = dense<2.500000000e-01> : tensor<5x2xf32>} : () -> tensor<5x2xf32>
    %v70 = "stablehlo.constant"() {value = dense<4.000000000e+00> : tensor<5x2xf32>} : () -> tensor<5x2xf32>
    %v71 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v72 = "stablehlo.reduce"(%v68, %v71) ({
      ^bb0(%v73: tensor<f32>, %v74: tensor<f32>):
      %v75 = "stablehlo.add"(%v73, %v74) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v75) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 2>} : (tensor<5x2x4xf32>, tensor<f32>) -> tensor<5x2xf32>
    %v76 = "stablehlo.multiply"(%v72, %v69) : (tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
    %v77 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v78 = "stablehlo.reduce"(%v66, %v77) ({
      ^bb0(%v79: tensor<f32>, %v80: tensor<f32>):
      %v81 = "stablehlo.add"(%v79, %v80) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v81) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 2>} : (tensor<5x2x4xf32>, tensor<f32>) -> tensor<5x2xf32>
    %v82 = "stablehlo.divide"(%v78, %v70) : (tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
    %v83 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2xf32>} : () -> tensor<5x2xf32>
    %v84 = "stablehlo.select"(%v58, %v76, %v83) : (tensor<5x2xi1>, tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
    %v85 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v86 = "stablehlo.reduce"(%v84, %v85) ({
      ^bb0(%v87: tensor<f32>, %v88: tensor<f32>):
      %v89 = "stablehlo.add"(%v87, %v88) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v89) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1>} : (tensor<5x2xf32>, tensor<f32>) -> tensor<f32>
    %v90 = "stablehlo.reshape"(%v86) : (tensor<f32>) -> tensor<1xf32>
    %v91 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<1xf32>} : () -> tensor<1xf32>
    %v92 = "stablehlo.add"(%v91, %v90) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %v93 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2xf32>} : () -> tensor<5x2xf32>
    %v94 = "stablehlo.select"(%v58, %v82, %v93) : (tensor<5x2xi1>, tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
    %v95 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v96 = "stablehlo.reduce"(%v94, %v95) ({
      ^bb0(%v97: tensor<f32>, %v98: tensor<f32>):
      %v99 = "stablehlo.add"(%v97, %v98) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v99) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1>} : (tensor<5x2xf32>, tensor<f32>) -> tensor<f32>
    %v100 = "stablehlo.reshape"(%v96) : (tensor<f32>) -> tensor<1xf32>
    %v101 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<1xf32>} : () -> tensor<1xf32>
    %v102 = "stablehlo.add"(%v101, %v100) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %v103 = "stablehlo.constant"() {value = dense<2.500000000e-01> : tensor<5x2x4xf32>} : () -> tensor<5x2x4xf32>
    %v104 = "stablehlo.multiply"(%v64, %v103) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v105 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x4xf32>} : () -> tensor<5x2x4xf32>
    %v106 = "stablehlo.select"(%v65, %v104, %v105) : (tensor<5x2x4xi1>, tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v107 = "stablehlo.reshape"(%v106) : (tensor<5x2x4xf32>) -> tensor<5x2x4x1xf32>
    %v108 = "stablehlo.reshape"(%v107) : (tensor<5x2x4x1xf32>) -> tensor<5x2x4xf32>
    "func.return"(%v92, %v102, %v20#5, %v20#1, %v20#2, %v108) : (tensor<1xf32>, tensor<1xf32>, tensor<5x2x3xf32>, tensor<5x2x1x3xf32>, tensor<2x3xf32>, tensor<5x2x4xf32>) -> ()
  }
}
