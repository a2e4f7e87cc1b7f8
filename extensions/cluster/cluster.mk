# The extension cluster: ranks on several machines, lists of devices, policies, the planner, unroll launch.
ROWS_cluster = transport=mpi world=any list_of_devices=any planner=any exchange=any sync=any compress=any command=launch
