# The CUDA extension: images of its kernels, and the headers that NVRTC compiles. The host code is plain C and is built
# elsewhere.
ROWS_cuda = device=cuda
NEEDS_cuda = gpu
OBJECTS_cuda = $B/extensions/cuda/images.o

# GPU kernels: each *.cu file becomes an image for the GPUs of GPU_CODES that it supports, and PTX for all later ones.
# They take minutes to compile, so they are built only on machines with a GPU, for packages, or with CUDA=1, once for
# all kinds of build. Without them the library reports an error when a GPU is requested. GPU_OLDEST: the capability that
# a file needs; persistent kernels need clusters (sm_90).
CUDA      ?= $(if $(wildcard /dev/nvidiactl)$(filter deb,$(MAKECMDGOALS)),1)
NVCC      ?= $(if $(CUDA),$(or $(shell command -v nvcc 2>/dev/null),$(if $(filter command% environment%,$(origin CUDA)),\
    $(error CUDA=1: there is no nvcc here; install the CUDA toolkit, or leave CUDA=1 out))))
GPU_CODES ?= $(if $(NVCC),$(patsubst 90,90a,$(filter 80 90 100,$(patsubst sm_%,%,$(shell $(NVCC) --list-gpu-code 2>/dev/null)))))
GPU_OLDEST = $(if $(findstring /persistent_,$1),90,80)
gencode    = -gencode=arch=compute_$1,code=$2_$1
# CUDA 13 drivers, which the images of that toolkit need anyway, support a compression that saves a fifth; older ones do
# not.
compress   = $(if $(shell $(NVCC) --version 2>/dev/null | grep -E 'release (1[3-9]|[2-9][0-9])\.'),--compress-mode=size)
NVCCFLAGS  = -std=c++17 -O3 -lineinfo -Xfatbin -compress-all $(compress) -Iinclude -Isrc -I. $(call gencode,$(call GPU_OLDEST,$@),compute) \
    $(foreach i,$(if $(filter 90,$(call GPU_OLDEST,$@)),$(filter-out 80,$(GPU_CODES)),$(GPU_CODES)),$(call gencode,$i,sm))
IMAGES     = $(if $(and $(NVCC),$(filter cuda,$(EXTENSIONS))),$(patsubst extensions/cuda/kernels/%.cu,$(if $(filter build/%,$B),build,$B)/cuda/%.fatbin,$(wildcard extensions/cuda/kernels/*.cu)))

# The register and stack report of ptxas and the PTX stay next to the image: tests/device/check_cuda_code.py reads them.
%.fatbin:
	@mkdir -p $@.ptx && rm -f $@.ptx/*
	$(NVCC) $(NVCCFLAGS) $(NVCCFLAGS_$(basename $(@F))) -Xptxas -v --keep --keep-dir $@.ptx -MMD -MP -MF $@.d \
	    -fatbin extensions/cuda/kernels/$(basename $(@F)).cu -o $@ 2>$@.log || { cat $@.log; exit 1; }
	@! grep -i warning $@.log >&2
	@find $@.ptx -type f ! -name '*.ptx' -delete
$(foreach i,$(IMAGES),$(eval $i: extensions/cuda/kernels/$(basename $(notdir $i)).cu $(if $(wildcard $i.log),,without_its_log)))
-include $(IMAGES:%=%.d)

# The images as data, and the version of their toolkit. The list of images is a file, so that a change of CUDA= is
# noticed.
$B/cuda/list: always
	@mkdir -p $(@D)
	@echo '$(IMAGES)' | cmp -s - $@ || echo '$(IMAGES)' >$@
$B/extensions/cuda/images.S: $(IMAGES) tools/cuda_images.sh $B/cuda/list
	@mkdir -p $(@D)
	tools/cuda_images.sh '$(NVCC)' $(foreach i,$(IMAGES),$i:$(call GPU_OLDEST,$i)) >$@
$B/extensions/cuda/images.o: $B/extensions/cuda/images.S
	$(CC) -c $< -o $@

# The headers of the persistent kernels, which NVRTC compiles for one launch: each begins with \001 and its name.
PERSISTENT_HEADERS = $(wildcard extensions/cuda/kernels/persistent*.cuh src/nn/cells/*.h src/nn/cells/step/*.h) extensions/cuda/kernels/gpu.cuh \
    extensions/cuda/kernels/persistent_args.h extensions/cuda/tiling.h extensions/cuda/kernels/cycles.h $(wildcard src/nn/vector/v_cuda.h src/nn/vector/v_derived.h src/nn/vector/v_math.h)
$B/text/persistent.inc: $(PERSISTENT_HEADERS)
	@mkdir -p $(@D)
	{ $(foreach h,$(PERSISTENT_HEADERS),printf '"\\001%s",\n' $(h:src/%=%); $(AS_STRINGS) $h;) } >$@
FLAGS_persistent_fixed = -I$B/text
$B/extensions/cuda/persistent_fixed.o: $B/text/persistent.inc
