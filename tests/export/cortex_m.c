/* An exported model on a bare Cortex-M: start-up code, all frames of run.h, the bits of the outputs and the ticks of
 * the steps by semihosting. No library but what the compiler calls. On a computer, with HOSTED defined, it prints the
 * same lines but the ticks. Compiled and run by test_cortex.sh. */
#include "run.h"
#include <stddef.h>

#ifdef HOSTED
#include <stdio.h>

static void write_text(const char *text)
{
    fputs(text, stdout);
}
#else
extern uint32_t data_begin, data_end, data_image, bss_begin, bss_end, stack_end;

/* ---- the debugger on the other side ---------------------------------------------------- */

static void ask(int what, const void *with)
{
    register int r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = with;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void write_text(const char *text)
{
    ask(0x04, text);                        /* SYS_WRITE0 */
}

#endif

static void write_hex(uint32_t value, const char *after)
{
    char text[9];
    for (int i = 0; i < 8; i++)
        text[i] = "0123456789abcdef"[value >> (28 - 4 * i) & 15];
    text[8] = 0;
    write_text(text);
    write_text(after);
}

/* ---- time ------------------------------------------------------------------------------ */

#ifdef HOSTED
static void start_ticks(void) {}
static uint32_t ticks_now(void) { return 0; }
#else
#define SYST_CSR (*(volatile uint32_t *)0xe000e010)
#define SYST_RVR (*(volatile uint32_t *)0xe000e014)
#define SYST_CVR (*(volatile uint32_t *)0xe000e018)

static void start_ticks(void)
{
    SYST_RVR = 0xffffff;
    SYST_CVR = 0;
    SYST_CSR = 5;                           /* the processor's clock, no interrupt */
}

static uint32_t ticks_now(void)             /* falling, 24 bits */
{
    return SYST_CVR;
}
#endif

/* ---- the run --------------------------------------------------------------------------- */

static MODEL model;
static float y[OUTPUTS];

static void run_frames(void)
{
    uint32_t ticks = 0;
    INIT(&model);
    start_ticks();
    for (int t = 0; t < FRAMES; t++) {
        uint32_t bits, before = ticks_now();
        STEP(&model, FRAME(t), y);
        ticks += (before - ticks_now()) & 0xffffff;
        for (int i = 0; i < OUTPUTS; i++) {
            __builtin_memcpy(&bits, &y[i], sizeof bits);
            write_hex(bits, "\n");
        }
    }
    write_text("ticks ");
    write_hex(ticks, "\n");
}

#ifdef HOSTED
int main(void)
{
    run_frames();
    return 0;
}
#else
__attribute__((noreturn)) void reset(void)
{
    for (uint32_t *to = &data_begin, *from = &data_image; to < &data_end;)
        *to++ = *from++;
    for (uint32_t *to = &bss_begin; to < &bss_end;)
        *to++ = 0;
#ifdef __ARM_FP
    *(volatile uint32_t *)0xe000ed88 |= 0xfu << 20;     /* the FPU is on */
    __asm__ volatile("dsb\n isb");
#endif
    run_frames();
    ask(0x18, (const void *)0x20026);       /* SYS_EXIT: ADP_Stopped_ApplicationExit */
    for (;;)
        ;
}

__attribute__((noreturn)) static void fault(void)
{
    write_text("fault\n");
    ask(0x18, (const void *)0x20023);       /* ADP_Stopped_RunTimeErrorUnknown */
    for (;;)
        ;
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {
    &stack_end, (const void *)reset, (const void *)fault, (const void *)fault,
};
#endif
