module @rnn_forward attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%v0: tensor<1x3x3xf32>, %v1: tensor<1x3x3xf32>, %v2: tensor<1x3xf32>, %v3: tensor<1x3xf32>, %v4: tensor<4x3xf32>, %v5: tensor<4xf32>, %v6: tensor<1xf32> {tf.aliasing_output = 0 : i32}, %v7: tensor<1xf32> {tf.aliasing_output = 1 : i32}, %v8: tensor<5x2x3xf32>, %v9: tensor<2x3xf32>, %v10: tensor<5x2x4xf32>) -> (tensor<1xf32>, tensor<1xf32>, tensor<5x2x3xf32>, tensor<5x2x1x3xf32>, tensor<2x3xf32>, tensor<5x2x4xf32>) {
    %v11 = "stablehlo.reshape"(%v0) : (tensor<1x3x3xf32>) -> tensor<3x3xf32>
    %v12 = "stablehlo.dot_general"(%v8, %v11) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<5x2x3xf32>, tensor<3x3xf32>) -> tensor<5x2x3xf32>
    %v13 = "stablehlo.reshape"(%v2) : (tensor<1x3xf32>) -> tensor<3xf32>
    %v14 = "stablehlo.broadcast_in_dim"(%v13) {broadcast_dimensions = array<i64: 2>} : (tensor<3xf32>) -> tensor<5x2x3xf32>
    %v15 = "stablehlo.add"(%v12, %v14) : (tensor<5x2x3xf32>, tensor<5x2x3xf32>) -> tensor<5x2x3xf32>
    %v16 = "stablehlo.reshape"(%v15) : (tensor<5x2x3xf32>) -> tensor<5x2x1x3xf32>
    %v17 = "stablehlo.reshape"(%v1) : (tensor<1x3x3xf32>) -> tensor<3x3xf32>
    %v18 = "stablehlo.reshape"(%v3) : (tensor<1x3xf32>) -> tensor<3xf32>
    %v19 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2x3xf32>} : () -> tensor<5x2x3xf32>
    %v20 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v21:6 = "stablehlo.while"(%v20, %v16, %v9, %v17, %v18, %v19) ({
      ^bb0(%v22: tensor<i32>, %v23: tensor<5x2x1x3xf32>, %v24: tensor<2x3xf32>, %v25: tensor<3x3xf32>, %v26: tensor<3xf32>, %v27: tensor<5x2x3xf32>):
      %v28 = "stablehlo.constant"() {value = dense<5> : tensor<i32>} : () -> tensor<i32>
      %v29 = "stablehlo.compare"(%v22, %v28) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%v29) : (tensor<i1>) -> ()
    }, {
      ^bb0(%v30: tensor<i32>, %v31: tensor<5x2x1x3xf32>, %v32: tensor<2x3xf32>, %v33: tensor<3x3xf32>, %v34: tensor<3xf32>, %v35: tensor<5x2x3xf32>):
      %v36 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v37 = "stablehlo.dynamic_slice"(%v31, %v30, %v36, %v36, %v36) {slice_sizes = array<i64: 1, 2, 1, 3>} : (tensor<5x2x1x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x1x3xf32>
      %v38 = "stablehlo.reshape"(%v37) : (tensor<1x2x1x3xf32>) -> tensor<2x1x3xf32>
      %v39 = "stablehlo.reshape"(%v38) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v40 = "stablehlo.dot_general"(%v32, %v33) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
      %v41 = "stablehlo.broadcast_in_dim"(%v34) {broadcast_dimensions = array<i64: 1>} : (tensor<3xf32>) -> tensor<2x3xf32>
      %v42 = "stablehlo.add"(%v40, %v41) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v43 = "stablehlo.reshape"(%v42) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %v44 = "stablehlo.reshape"(%v43) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
      %v45 = "stablehlo.add"(%v39, %v44) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %v46 = "stablehlo.tanh"(%v45) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %v47 = "stablehlo.reshape"(%v46) : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
      %v48 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v49 = "stablehlo.dynamic_update_slice"(%v35, %v47, %v30, %v48, %v48) : (tensor<5x2x3xf32>, tensor<1x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x3xf32>
      %v50 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<2x1x3xf32>} : () -> tensor<2x1x3xf32>
      %v51 = "stablehlo.reshape"(%v50) : (tensor<2x1x3xf32>) -> tensor<1x2x1x3xf32>
      %v52 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %v53 = "stablehlo.dynamic_update_slice"(%v31, %v51, %v30, %v52, %v52, %v52) : (tensor<5x2x1x3xf32>, tensor<1x2x1x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x1x3xf32>
      %v54 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
      %v55 = "stablehlo.add"(%v30, %v54) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%v55, %v53, %v46, %v33, %v34, %v49) : (tensor<i32>, tensor<5x2x1x3xf32>, tensor<2x3xf32>, tensor<3x3xf32>, tensor<3xf32>, tensor<5x2x3xf32>) -> ()
    }) : (tensor<i32>, tensor<5x2x1x3xf32>, tensor<2x3xf32>, tensor<3x3xf32>, tensor<3xf32>, tensor<5x2x3xf32>) -> (tensor<i32>, tensor<5x2x1x3xf32>, tensor<2x3xf32>, tensor<3x3xf32>, tensor<3xf32>, tensor<5x2x3xf32>)
    %v56 = "stablehlo.dot_general"(%v21#5, %v4) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<5x2x3xf32>, tensor<4x3xf32>) -> tensor<5x2x4xf32>
    %v57 = "stablehlo.broadcast_in_dim"(%v5) {broadcast_dimensions = array<i64: 2>} : (tensor<4xf32>) -> tensor<5x2x4xf32>
    %v58 = "stablehlo.add"(%v56, %v57) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v59 = "stablehlo.constant"() {value = dense<1> : tensor<5x2xi1>} : () -> tensor<5x2xi1>
    %v60 = "stablehlo.subtract"(%v58, %v10) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v61 = "stablehlo.multiply"(%v60, %v60) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    %v62 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v63 = "stablehlo.reduce"(%v61, %v62) ({
      ^bb0(%v64: tensor<f32>, %v65: tensor<f32>):
      %v66 = "stablehlo.add"(%v64, %v65) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v66) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 2>} : (tensor<5x2x4xf32>, tensor<f32>) -> tensor<5x2xf32>
    %v67 = "stablehlo.constant"() {value = dense<2.500000000e-01> : tensor<5x2xf32>} : () -> tensor<5x2xf32>
    %v68 = "stablehlo.constant"() {value = dense<5.000000000e-01> : tensor<5x2x4xf32>} : () -> tensor<5x2x4xf32>
    %v69 = "stablehlo.multiply"(%v63, %v67) : (tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
    %v70 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<5x2xf32>} : () -> tensor<5x2xf32>
    %v71 = "stablehlo.select"(%v59, %v69, %v70) : (tensor<5x2xi1>, tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
    %v72 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v73 = "stablehlo.reduce"(%v71, %v72) ({
      ^bb0(%v74: tensor<f32>, %v75: tensor<f32>):
      %v76 = "stablehlo.add"(%v74, %v75) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v76) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1>} : (tensor<5x2xf32>, tensor<f32>) -> tensor<f32>
    %v77 = "stablehlo.reshape"(%v73) : (tensor<f32>) -> tensor<1xf32>
    %v78 = "stablehlo.add"(%v6, %v77) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %v79 = "stablehlo.convert"(%v59) : (tensor<5x2xi1>) -> tensor<5x2xf32>
    %v80 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v81 = "stablehlo.reduce"(%v79, %v80) ({
      ^bb0(%v82: tensor<f32>, %v83: tensor<f32>):
      %v84 = "stablehlo.add"(%v82, %v83) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v84) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1>} : (tensor<5x2xf32>, tensor<f32>) -> tensor<f32>
    %v85 = "stablehlo.reshape"(%v81) : (tensor<f32>) -> tensor<1xf32>
    %v86 = "stablehlo.add"(%v7, %v85) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %v87 = "stablehlo.multiply"(%v60, %v68) : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    "func.return"(%v78, %v86, %v21#5, %v21#1, %v21#2, %v87) : (tensor<1xf32>, tensor<1xf32>, tensor<5x2x3xf32>, tensor<5x2x1x3xf32>, tensor<2x3xf32>, tensor<5x2x4xf32>) -> ()
  }
}
