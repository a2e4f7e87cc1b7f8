/* A profiler that receives ranges (extensions/cuda/nvtx.h) as NVIDIA's do, and writes them to the file FAKE_PROFILER:
 * "begin NAME", "end". FAKE_PROFILER_MOOD: "refuses" rejects the interface, "deaf" receives no ranges. Kernels are not
 * profiled. Its constants are NVTX's, not ours. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace
{
std::FILE *file;

int begin(const char *text) { return std::fprintf(file, "begin %s\n", text); }

int end() { return std::fputs("end\n", file); }

/* Like the real profilers, requests all modules and leaves those it does not use unchanged. */
struct callbacks {
    size_t bytes;
    int (*find)(int module, void (****table)(void), unsigned *count);
};

bool is_mood(const char *mood)
{
    const char *set = std::getenv("FAKE_PROFILER_MOOD");
    return set && !std::strcmp(set, mood);
}
} // namespace

/* Checks the library's tables as a profiler does, and stores its functions in their slots. */
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(const void *(*table)(uint32_t))
{
    const uint32_t *version = static_cast<const uint32_t *>(table(3));
    const callbacks *calls = static_cast<const callbacks *>(table(1));
    const char *path = std::getenv("FAKE_PROFILER");
    void (***slots)(void);
    unsigned count;
    if (is_mood("refuses") || !version || version[2] != 3 || !calls || table(0) || table(2) || !path)
        return 0;
    for (int module = 1; module <= 6; module++)
        if (!calls->find(module, &slots, &count) || count < 7 || slots[0] || slots[count])
            return 0;
    if (calls->find(0, &slots, &count) || calls->find(7, &slots, &count) || !calls->find(1, &slots, &count) ||
        count < 16)
        return 0;
    if (is_mood("deaf"))
        return 1;
    file = std::fopen(path, "w");
    if (!file)
        return 0;
    std::setvbuf(file, nullptr, _IOLBF, 0);
    *slots[9] = reinterpret_cast<void (*)(void)>(begin);
    *slots[11] = reinterpret_cast<void (*)(void)>(end);
    return 1;
}
