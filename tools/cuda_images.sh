#!/bin/sh
# Writes the kernels' images as data in assembler; see extensions/cuda/image.h.
# Usage: cuda_images.sh NVCC IMAGE:OLDEST..
toolkit=0
if test -n "$1"; then
    toolkit=$("$1" --version | sed -nE 's/.*release ([0-9]+)\.([0-9]+).*/\1 \2/p' | { read -r major minor; echo $((major * 1000 + minor * 10)); })
fi
shift
number=0
echo '.section .rodata'
for image in "$@"; do
    printf '.balign 64\nimage%d: .incbin "%s"\n' "$number" "${image%:*}"
    number=$((number + 1))
done
printf '.balign 8\n.globl cuda_images_toolkit\n.hidden cuda_images_toolkit\ncuda_images_toolkit: .int %d\n' "$toolkit"
echo '.section .data.rel.ro,"aw"'
printf '.balign 8\n.globl cuda_images\n.hidden cuda_images\ncuda_images:\n'
number=0
for image in "$@"; do
    echo ".quad image$number, ${image##*:}"
    number=$((number + 1))
done
echo '.quad 0, 0'
echo '.section .note.GNU-stack,"",%progbits'
