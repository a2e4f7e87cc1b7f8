/* Start-up code of a bare Cortex-M between reset and main(): vectors, memory, the FPU. With board.ld it runs on the
 * boards of QEMU, whose host accepts text and ends the run (semihosting). On a real board, use the vendor's start-up
 * code instead. */
#include "board.h"

extern uint32_t data_begin, data_end, data_image, bss_begin, bss_end, stack_end;
int main(void);
void reset(void);

enum { SYS_WRITE0 = 0x04, SYS_EXIT = 0x18, EXIT_DONE = 0x20026, EXIT_FAULT = 0x20023 };

static void ask(int what, const void *with)
{
    register int r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = with;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void board_write(const char *text)
{
    ask(SYS_WRITE0, text);
}

#define SYST_CSR (*(volatile uint32_t *)0xe000e010)
#define SYST_RVR (*(volatile uint32_t *)0xe000e014)
#define SYST_CVR (*(volatile uint32_t *)0xe000e018)
#define CPACR    (*(volatile uint32_t *)0xe000ed88)

uint32_t board_ticks(void)
{
    return SYST_CVR;
}

static void end(uintptr_t why)
{
    ask(SYS_EXIT, (const void *)why);
    for (;;)
        ;
}

void reset(void)
{
    for (uint32_t *to = &data_begin, *from = &data_image; to < &data_end;)
        *to++ = *from++;
    for (uint32_t *to = &bss_begin; to < &bss_end;)
        *to++ = 0;
#ifdef __ARM_FP
    CPACR |= 0xfu << 20;                    /* enables the FPU */
    __asm__ volatile("dsb\n isb");
#endif
    SYST_RVR = 0xffffff;
    SYST_CVR = 0;
    SYST_CSR = 5;                           /* starts the clock, without interrupts */
    main();
    end(EXIT_DONE);
}

static void fault(void)
{
    board_write("fault\n");
    end(EXIT_FAULT);
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {
    &stack_end, (const void *)reset, (const void *)fault, (const void *)fault,
};
