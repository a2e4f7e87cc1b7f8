# The extension simulation: ranks of a simulated cluster. Programs call it; it adds no row.
NEEDS_simulation = cluster
