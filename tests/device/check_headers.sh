#!/bin/sh
# Compares the constants and structs of extensions/cuda/driver.h with NVIDIA's cuda.h, cublasLt.h and nccl.h, if they
# are installed (CUDA toolkit, PyPI packages). Only compiles; runs none of their code. Usage: check_headers.sh
# test: kinds=plain
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
passed=0 failed=0 skipped=0
site=$("${PEERS_PYTHON:-python3}" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2>/dev/null)
folders="/usr/local/cuda/include /usr/include $(ls -d "$site"/nvidia/*/include "$site"/nvidia/cu*/include 2>/dev/null)"
flags=$(for folder in $folders; do printf ' -isystem %s' "$folder"; done)

# OURS THEIRS, one pair per line, for each header. Members of structs as SIZE(struct) and AT(struct, member).
cuda() {
    cat <<'LIST'
CU_INVALID_VALUE CUDA_ERROR_INVALID_VALUE
CU_OUT_OF_MEMORY CUDA_ERROR_OUT_OF_MEMORY
CU_NO_DEVICE CUDA_ERROR_NO_DEVICE
CU_INVALID_DEVICE CUDA_ERROR_INVALID_DEVICE
CU_INVALID_IMAGE CUDA_ERROR_INVALID_IMAGE
CU_NO_BINARY_FOR_GPU CUDA_ERROR_NO_BINARY_FOR_GPU
CU_ECC_ERROR CUDA_ERROR_ECC_UNCORRECTABLE
CU_INVALID_PTX CUDA_ERROR_INVALID_PTX
CU_UNSUPPORTED_PTX CUDA_ERROR_UNSUPPORTED_PTX_VERSION
CU_INVALID_HANDLE CUDA_ERROR_INVALID_HANDLE
CU_NOT_FOUND CUDA_ERROR_NOT_FOUND
CU_NOT_READY CUDA_ERROR_NOT_READY
CU_ILLEGAL_ADDRESS CUDA_ERROR_ILLEGAL_ADDRESS
CU_LAUNCH_OUT_OF_RESOURCES CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
CU_LAUNCH_FAILED CUDA_ERROR_LAUNCH_FAILED
CU_NOT_SUPPORTED CUDA_ERROR_NOT_SUPPORTED
CU_CAPTURE_INVALIDATED CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
CU_INVALID_CLUSTER_SIZE CUDA_ERROR_INVALID_CLUSTER_SIZE
CU_WARP_SIZE CU_DEVICE_ATTRIBUTE_WARP_SIZE
CU_MULTIPROCESSORS CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
CU_L2_BYTES CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
CU_THREADS_PER_MULTIPROCESSOR CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR
CU_CAPABILITY_MAJOR CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
CU_CAPABILITY_MINOR CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
CU_SHARED_PER_MULTIPROCESSOR CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
CU_REGISTERS_PER_MULTIPROCESSOR CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR
CU_COOPERATIVE CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH
CU_SHARED_PER_BLOCK_OPTIN CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
CU_CLUSTERS CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH
CU_MAX_THREADS_PER_BLOCK CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
CU_STATIC_SHARED CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
CU_LOCAL_BYTES CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES
CU_REGISTERS CU_FUNC_ATTRIBUTE_NUM_REGS
CU_MAX_DYNAMIC_SHARED CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
CU_NON_PORTABLE_CLUSTER_SIZE CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
CU_STREAM_NON_BLOCKING CU_STREAM_NON_BLOCKING
CU_EVENT_NO_TIMING CU_EVENT_DISABLE_TIMING
CU_EVENT_RECORD_EXTERNAL CU_EVENT_RECORD_EXTERNAL
CU_CAPTURE_RELAXED CU_STREAM_CAPTURE_MODE_RELAXED
CU_HOST_MAPPED CU_MEMHOSTALLOC_DEVICEMAP
CU_LAUNCH_COOPERATIVE CU_LAUNCH_ATTRIBUTE_COOPERATIVE
CU_LAUNCH_CLUSTER CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
sizeof(cu_device) sizeof(CUdevice)
sizeof(cu_ptr) sizeof(CUdeviceptr)
SIZE(uuid) sizeof(CUuuid)
SIZE(launch_attribute) sizeof(CUlaunchAttribute)
AT(launch_attribute,value) offsetof(CUlaunchAttribute,value)
SIZE(launch) sizeof(CUlaunchConfig)
AT(launch,grid_z) offsetof(CUlaunchConfig,gridDimZ)
AT(launch,block_x) offsetof(CUlaunchConfig,blockDimX)
AT(launch,shared_bytes) offsetof(CUlaunchConfig,sharedMemBytes)
AT(launch,stream) offsetof(CUlaunchConfig,hStream)
AT(launch,attribute) offsetof(CUlaunchConfig,attrs)
AT(launch,attributes) offsetof(CUlaunchConfig,numAttrs)
LIST
}
cublasLt() {
    cat <<'LIST'
LT_32F CUBLAS_COMPUTE_32F
LT_32F_TF32 CUBLAS_COMPUTE_32F_FAST_TF32
LT_32F_PEDANTIC CUBLAS_COMPUTE_32F_PEDANTIC
LT_FLOAT CUDA_R_32F
LT_HALF CUDA_R_16F
LT_BFLOAT16 CUDA_R_16BF
LT_DESC_TRANSPOSE_A CUBLASLT_MATMUL_DESC_TRANSA
LT_DESC_TRANSPOSE_B CUBLASLT_MATMUL_DESC_TRANSB
LT_DESC_EPILOGUE CUBLASLT_MATMUL_DESC_EPILOGUE
LT_DESC_BIAS CUBLASLT_MATMUL_DESC_BIAS_POINTER
LT_DESC_BIAS_TYPE CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE
LT_LAYOUT_ORDER CUBLASLT_MATRIX_LAYOUT_ORDER
LT_LAYOUT_BATCH CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT
LT_LAYOUT_STRIDE CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET
LT_BY_COLUMNS CUBLASLT_ORDER_COL
LT_BY_ROWS CUBLASLT_ORDER_ROW
LT_EPILOGUE_NONE CUBLASLT_EPILOGUE_DEFAULT
LT_EPILOGUE_BIAS CUBLASLT_EPILOGUE_BIAS
LT_PREFERENCE_WORKSPACE CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
LT_PREFERENCE_ALIGN_A CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES
LT_PREFERENCE_ALIGN_B CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES
LT_PREFERENCE_ALIGN_C CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES
LT_PREFERENCE_ALIGN_D CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES
sizeof(struct!lt_algorithm) sizeof(cublasLtMatmulAlgo_t)
sizeof(struct!lt_found) sizeof(cublasLtMatmulHeuristicResult_t)
offsetof(struct!lt_found,workspace) offsetof(cublasLtMatmulHeuristicResult_t,workspaceSize)
offsetof(struct!lt_found,state) offsetof(cublasLtMatmulHeuristicResult_t,state)
LIST
}
nccl() {
    cat <<'LIST'
sizeof(struct!nccl_id) sizeof(ncclUniqueId)
NCCL_OK ncclSuccess
NCCL_SYSTEM_ERROR ncclSystemError
NCCL_INVALID_ARGUMENT ncclInvalidArgument
NCCL_INVALID_USAGE ncclInvalidUsage
NCCL_REMOTE_ERROR ncclRemoteError
NCCL_IN_PROGRESS ncclInProgress
NCCL_FLOAT32 ncclFloat32
NCCL_FLOAT64 ncclFloat64
NCCL_SUM ncclSum
offsetof(struct!nccl_config,magic) offsetof(ncclConfig_t,magic)
offsetof(struct!nccl_config,version) offsetof(ncclConfig_t,version)
offsetof(struct!nccl_config,blocking) offsetof(ncclConfig_t,blocking)
LIST
}
nvtx3_nvToolsExt() {
    cat <<'LIST'
NVTX_TABLE_CALLBACKS NVTX_ETID_CALLBACKS
NVTX_TABLE_VERSION NVTX_ETID_VERSIONINFO
NVTX_INTERFACE NVTX_VERSION
NVTX_CORE NVTX_CB_MODULE_CORE
NVTX_CUDA NVTX_CB_MODULE_CUDA
NVTX_OPENCL NVTX_CB_MODULE_OPENCL
NVTX_RUNTIME NVTX_CB_MODULE_CUDART
NVTX_DOMAINS NVTX_CB_MODULE_CORE2
NVTX_LOCKS NVTX_CB_MODULE_SYNC
NVTX_CORE_SLOTS NVTX_CBID_CORE_SIZE
NVTX_CUDA_SLOTS NVTX_CBID_CUDA_SIZE
NVTX_OPENCL_SLOTS NVTX_CBID_OPENCL_SIZE
NVTX_RUNTIME_SLOTS NVTX_CBID_CUDART_SIZE
NVTX_DOMAIN_SLOTS NVTX_CBID_CORE2_SIZE
NVTX_LOCK_SLOTS NVTX_CBID_SYNC_SIZE
NVTX_PUSH NVTX_CBID_CORE_RangePushA
NVTX_POP NVTX_CBID_CORE_RangePop
sizeof(struct!nvtx_callbacks) sizeof(NvtxExportTableCallbacks)
sizeof(struct!nvtx_version) sizeof(NvtxExportTableVersionInfo)
offsetof(struct!nvtx_version,set) offsetof(NvtxExportTableVersionInfo,SetInjectionNvtxVersion)
LIST
}

# HEADER [WRONG]: prints our constants as assertions and compiles them with the header. WRONG is added to each.
compile() {
    list=$(echo "$1" | tr / _)
    { cat <<'C'
#include "extensions/cuda/driver.h"
#include "extensions/cuda/nvtx.h"
#include <stdio.h>
#define SIZE(s) sizeof(struct cu_##s)
#define AT(s, m) offsetof(struct cu_##s, m)
#define SAY(theirs, ours, wrong) \
    printf("_Static_assert((long long)(%s) == %lldLL, \"%s\");\n", theirs, (long long)(ours) + wrong, #ours);
int main(void)
{
C
      $list | tr '!' ' ' | sed -E "s/^(.*) ([^ ]+)\$/SAY(\"\2\", (\1), ${2:-0})/"; echo 'return 0; }'; } >"$work/ours.c"
    cc -std=c11 -D_GNU_SOURCE -Iinclude -Isrc -I. "$work/ours.c" -o "$work/ours" 2>"$work/log" || return 2
    { echo '#include <stddef.h>'; echo "#include <$1.h>"; "$work/ours"; } >"$work/theirs.c"
    cc -std=c11 $flags -fsyntax-only "$work/theirs.c" 2>"$work/log"
}
for header in cuda cublasLt nccl nvtx3/nvToolsExt; do
    if ! printf '#include <%s.h>\n' $header | cc -std=c11 $flags -fsyntax-only -x c - 2>/dev/null; then
        echo "skipped: $header.h is not here"; skipped=$((skipped + 1)); continue
    fi
    if compile $header; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $header.h:"; grep error "$work/log" | head -n 5; fi
    compile $header 1
    if test $? != 1; then failed=$((failed + 1)); echo "FAILED: other numbers than those of $header.h are not found"; else passed=$((passed + 1)); fi
done
echo "check_headers: $passed passed, $failed failed, $skipped skipped"
test "$failed" = 0
