module @rnn_forward attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%v0: tensor<1x3x3xf32>, %v1: tensor<1x3x3xf32>, %v2: tensor<1x3xf32>, %v3: tensor<1x3xf32>, %v4: tensor<4x3xf32>, %v5: tensor<4xf32>, %v6: tensor<5x2x3xf32>, %v7: tensor<2x3xf32>, %v8: tensor<5x2x4xf32>) -> (tensor<1xf32>, tensor<1xf32>, tensor<5x2x3xf32>, tensor<5x2x1x3xf32>, tensor<2x3xf32>, tensor<5x2x4xf32>) {
    %v9 = "stablehlo.reshape"(%v0) : (tensor<1x3x3xf32>) -> tensor<3x3xf32>
    %v10 = "stablehlo.dot_general"(%v6, %v9) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<5x2x3xf32>, tensor<3x3xf32>) -> tensor<5x2x3xf32>
    %v11 = "stablehlo.reshape"(%v2) : (tensor<1x3xf32>) -> tensor<3xf32>
    %v12 = "stablehlo.broadcast_in_dim"(%v11) {broadcast_dimensions = array<i64: 2>} : (tensor<3xf32>) -> tensor<5x2x3xf32>
    %v13 = "stablehlo.add"(%v10, %v12) : (tensor<5x2x3xf32>, tensor<5x2x3xf32>) -> tensor<5x2x3xf32>
    %v14 = "stablehlo.reshape"(%v13) : (tensor<5x2x3xf32>) -> tensor<5x2x1x3xf32>
    %v15 = "stablehlo.reshape"(%v1) : (tensor<1x3x3xf32>) -> tensor<3x3xf32>
    %v16 = "stablehlo.reshape"(%v3) : (tensor<1x3xf32>) -> tensor<3xf32>
    %v17 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x3xf32>} : () -> tensor<5x2x3xf32>
    %v18 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v19:6 = "stablehlo.while"(%v18, %v14, %v7, %v15, %v16, %v17) ({
      ^bb0(%v20: tensor<i32>, %v21: tensor<5x2x1x3xf32>, %v22: tensor<2x3xf32>, %v23: tensor<3x3xf32>, %v24: tensor<3xf32>, %v25: tensor<5x2x3xf32>):
      %v26 = "stablehlo.constant"() {value = dense<5> : tensor<i32>} : () -> tensor<i32>
      %v27 = "stablehlo.compare"(%v20, %v26) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%v27) : (tensor<i1>) -> ()
    }, {
      ^bb0(%v28: tensor<i32>, %v29: tensor<5x2x1x3xf32>, %v30: tensor<2x3xf32>, %v31: tensor<3x3xf32>, %v32: tensor<3xf32>, %v33: tensor<5x2x3xf32>):
      %v34 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v35 = "stablehlo.dynamic_slice"(%v29, %v28, %v34, %v34, %v34) {slice_sizes = array<i64: 1, 2, 1, 3>} : (tensor<5x2x1x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x1x3xf32>
      %v36 = "stablehlo.reshape"(%v35) : (tensor<1x2x1x3xf32>) -> tensor<2x1x3xf32>
      %v37 = "stablehlo.reshape"(%v36) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v38 = "stablehlo.dot_general"(%v30, %v31) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
      %v39 = "stablehlo.broadcast_in_dim"(%v32) {broadcast_dimensions = array<i64: 1>} : (tensor<3xf32>) -> tensor<2x3xf32>
      %v40 = "stablehlo.add"(%v38, %v39) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v41 = "stablehlo.reshape"(%v40) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v42 = "stablehlo.reshape"(%v41) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v43 = "stablehlo.add"(%v37, %v42) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v44 = "stablehlo.tanh"(%v43) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %v45 = "stablehlo.reshape"(%v44) : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
      %v46 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v47 = "stablehlo.dynamic_update_slice"(%v33, %v45, %v28, %v46, %v46) : (tensor<5x2x3xf32>, tensor<1x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x3xf32>
      %v48 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<2x1x3xf32>} : () -> tensor<2x1x3xf32>
      %v49 = "stablehlo.reshape"(%v48) : (tensor<2x1x3xf32>) -> tensor<1x2x1x3xf32>
      %v50 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v51 = "stablehlo.dynamic_update_slice"(%v29, %v49, %v28, %v50, %v50, %v50) : (tensor<5x2x1x3xf32>, tensor<1x2x1x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x1x3xf32>
      %v52 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
      %v53 = "stablehlo.add"(%v28, %v52) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%v53, %v51, %v44, %v31, %v32, %v47) : (tensor<i32>, tensor<5x2x1x3xf32>, tensor<2x3xf32>, tensor<3x3xf32>, tensor<3xf32>, tensor<5x2x3xf32>) -> ()
    }) : (tensor<i32>, tensor<5x2x1x3xf32>, tensor<2x3xf32>, tensor<3x3xf32>, tensor<3xf32>, tensor<5x2x3xf32>) -> (tensor<i32>, tensor<5x2x1x3xf32>, tensor<2x3xf32>, tensor<3x3xf32>, tensor<3xf32>, tensor<5x2x3xf32>)
    %v54 = "stablehlo.dot_general"(%v19#5, %v4) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<5x2x3xf32>, tensor<4x3xf32>) -> tensor<5x2x4xf32>
    %v55 = "stablehlo.broadcast_in_dim"(%v5) {broadcast_dimensions = array<i64: 2>} : (tensor<4xf32>) -> tensor<5x2x4xf32>
    %v56 = "stablehlo.add"(%v54, %v55) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v57 = "stablehlo.constant"() {value = dense<1> : tensor<5x2xi1>} : () -> tensor<5x2xi1>
    %v58 = "stablehlo.subtract"(%v56, %v8) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v59 = "stablehlo.multiply"(%v58, %v58) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v60 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v61 = "stablehlo.reduce"(%v59, %v60) ({
      ^bb0(%v62: tensor<f32>, %v63: tensor<f32>):
      %v64 = "stablehlo.add"(%v62, %v63) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v64) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 2>} : (tensor<5x2x4xf32>, tensor<f32>) -> tensor<5x2xf32>
    %v65 = "stablehlo.constant"() {value = dense<2.500000000e-01> : tensor<5x2xf32>} : () -> tensor<5x2xf32>
    %v66 = "stablehlo.constant"() {value = dense<5.000000000e-01> : tensor<5x2x4xf32>} : () -> tensor<5x2x4xf32>
    %v67 = "stablehlo.multiply"(%v61, %v65) : (tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
    %v68 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2xf32>} : () -> tensor<5x2xf32>
    %v69 = "stablehlo.select"(%v57, %v67, %v68) : (tensor<5x2xi1>, tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
    %v70 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v71 = "stablehlo.reduce"(%v69, %v70) ({
      ^bb0(%v72: tensor<f32>, %v73: tensor<f32>):
      %v74 = "stablehlo.add"(%v72, %v73) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v74) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1>} : (tensor<5x2xf32>, tensor<f32>) -> tensor<f32>
    %v75 = "stablehlo.reshape"(%v71) : (tensor<f32>) -> tensor<1xf32>
    %v76 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<1xf32>} : () -> tensor<1xf32>
    %v77 = "stablehlo.add"(%v76, %v75) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %v78 = "stablehlo.convert"(%v57) : (tensor<5x2xi1>) -> tensor<5x2xf32>
    %v79 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v80 = "stablehlo.reduce"(%v78, %v79) ({
      ^bb0(%v81: tensor<f32>, %v82: tensor<f32>):
      %v83 = "stablehlo.add"(%v81, %v82) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v83) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1>} : (tensor<5x2xf32>, tensor<f32>) -> tensor<f32>
    %v84 = "stablehlo.reshape"(%v80) : (tensor<f32>) -> tensor<1xf32>
    %v85 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<1xf32>} : () -> tensor<1xf32>
    %v86 = "stablehlo.add"(%v85, %v84) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %v87 = "stablehlo.multiply"(%v58, %v66) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    "func.return"(%v77, %v86, %v19#5, %v19#1, %v19#2, %v87) : (tensor<1xf32>, tensor<1xf32>, tensor<5x2x3xf32>, tensor<5x2x1x3xf32>, tensor<2x3xf32>, tensor<5x2x4xf32>) -> ()
  }
}
