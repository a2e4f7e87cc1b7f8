# The extension gpu: what all GPUs share. It adds no row of its own.
