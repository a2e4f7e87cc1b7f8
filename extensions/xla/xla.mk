# The extension xla: plans run through PJRT plugins, and exported as StableHLO.
ROWS_xla = device=xla device=tpu format=stablehlo
