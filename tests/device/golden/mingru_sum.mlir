module @mingru_sum attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%v0: tensor<1x2x3x3xf32>, %v1: tensor<1x2x3xf32>, %v2: tensor<1x4x3xf32>, %v3: tensor<1x4xf32>) -> (tensor<4xf32>) {
    %v4 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<4xf32>} : () -> tensor<4xf32>
    %v5 = "stablehlo.multiply"(%v0, %v0) : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
    %v6 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v7 = "stablehlo.reduce"(%v5, %v6) ({
      ^bb0(%v8: tensor<f32>, %v9: tensor<f32>):
      %v10 = "stablehlo.add"(%v8, %v9) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v10) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1, 2, 3>} : (tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<f32>
    %v11 = "stablehlo.reshape"(%v7) : (tensor<f32>) -> tensor<1xf32>
    %v12 = "stablehlo.slice"(%v4) {start_indices = array<i64: 0>, limit_indices = array<i64: 1>, strides = array<i64: 1>} : (tensor<4xf32>) -> tensor<1xf32>
    %v13 = "stablehlo.add"(%v12, %v11) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %v14 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %v15 = "stablehlo.dynamic_update_slice"(%v4, %v13, %v14) : (tensor<4xf32>, tensor<1xf32>, tensor<i32>) -> tensor<4xf32>
    %v16 = "stablehlo.multiply"(%v1, %v1) : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
    %v17 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v18 = "stablehlo.reduce"(%v16, %v17) ({
      ^bb0(%v19: tensor<f32>, %v20: tensor<f32>):
      %v21 = "stablehlo.add"(%v19, %v20) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v21) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1, 2>} : (tensor<1x2x3xf32>, tensor<f32>) -> tensor<f32>
    %v22 = "stablehlo.reshape"(%v18) : (tensor<f32>) -> tensor<1xf32>
    %v23 = "stablehlo.slice"(%v15) {start_indices = array<i64: 1>, limit_indices = array<i64: 2>, strides = array<i64: 1>} : (tensor<4xf32>) -> tensor<1xf32>
    %v24 = "stablehlo.add"(%v23, %v22) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %v25 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
    %v26 = "stablehlo.dynamic_update_slice"(%v15, %v24, %v25) : (tensor<4xf32>, tensor<1xf32>, tensor<i32>) -> tensor<4xf32>
    %v27 = "stablehlo.multiply"(%v2, %v2) : (tensor<1x4x3xf32>, tensor<1x4x3xf32>) -> tensor<1x4x3xf32>
    %v28 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v29 = "stablehlo.reduce"(%v27, %v28) ({
      ^bb0(%v30: tensor<f32>, %v31: tensor<f32>):
      %v32 = "stablehlo.add"(%v30, %v31) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v32) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1, 2>} : (tensor<1x4x3xf32>, tensor<f32>) -> tensor<f32>
    %v33 = "stablehlo.reshape"(%v29) : (tensor<f32>) -> tensor<1xf32>
    %v34 = "stablehlo.slice"(%v26) {start_indices = array<i64: 2>, limit_indices = array<i64: 3>, strides = array<i64: 1>} : (tensor<4xf32>) -> tensor<1xf32>
    %v35 = "stablehlo.add"(%v34, %v33) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %v36 = "stablehlo.constant"() {value = dense<2> : tensor<i32>} : () -> tensor<i32>
    %v37 = "stablehlo.dynamic_update_slice"(%v26, %v35, %v36) : (tensor<4xf32>, tensor<1xf32>, tensor<i32>) -> tensor<4xf32>
    %v38 = "stablehlo.multiply"(%v3, %v3) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
    %v39 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %v40 = "stablehlo.reduce"(%v38, %v39) ({
      ^bb0(%v41: tensor<f32>, %v42: tensor<f32>):
      %v43 = "stablehlo.add"(%v41, %v42) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v43) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1>} : (tensor<1x4xf32>, tensor<f32>) -> tensor<f32>
    %v44 = "stablehlo.reshape"(%v40) : (tensor<f32>) -> tensor<1xf32>
    %v45 = "stablehlo.slice"(%v37) {start_indices = array<i64: 3>, limit_indices = array<i64: 4>, strides = array<i64: 1>} : (tensor<4xf32>) -> tensor<1xf32>
    %v46 = "stablehlo.add"(%v45, %v44) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %v47 = "stablehlo.constant"() {value = dense<3> : tensor<i32>} : () -> tensor<i32>
    %v48 = "stablehlo.dynamic_update_slice"(%v37, %v46, %v47) : (tensor<4xf32>, tensor<1xf32>, tensor<i32>) -> tensor<4xf32>
    "func.return"(%v48) : (tensor<4xf32>) -> ()
  }
}
