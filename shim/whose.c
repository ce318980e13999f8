/* SPDX-License-Identifier: MIT */
/*
 * Reads backwards from a return address, and forwards from the function that was called.
 *
 * All bytes read here were executed a moment ago, if they are understood right; but the last bytes
 * of an instruction do not identify it for certain. So every guess is checked before it is
 * followed: a direct call stays in its object, a function lies in an object's code, and memory that
 * a register points to is read only after the kernel has confirmed that it is mapped.
 */
#define _GNU_SOURCE
#include "whose.h"

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/base/sandbox.h"

_Thread_local uintptr_t shim_entered[16] __attribute__((tls_model("initial-exec")));

#ifdef __x86_64__

enum { PAGE = 4096, LONGEST_CALL = 8, HOPS = 16 };
enum { RAX = 0, BELOW = 1, RBX = 3, RSP = 4, RBP = 5, R10 = 10, R11 = 11 }; /* up to R15 */
enum { NOTED = 1 << RAX | 1 << RBX | 1 << RSP | 1 << RBP | 0x3f << R10 };

/* The linker's names for the begin and end of this library. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static bool is_ours(uintptr_t address)
{
    return address - (uintptr_t)__ehdr_start < (uintptr_t)_end - (uintptr_t)__ehdr_start;
}

/* --- Memory -------------------------------------------------------------------------------- */

/* A sanitizer would report reads of another function's stack. */
__attribute__((no_sanitize("address", "thread"))) static uintptr_t word_at(uintptr_t address)
{
    uintptr_t word;
    memcpy(&word, (const void *)address, sizeof word);
    return word;
}

static int32_t offset_at(uintptr_t address)
{
    int32_t offset;
    memcpy(&offset, (const void *)address, sizeof offset);
    return offset;
}

/* The kernel reads the set before it rejects the operation. */
static bool is_readable(uintptr_t address)
{
    enum { NOTHING = -1, SET_BYTES = 8 };
    if (address % sizeof(uintptr_t) || xg_sandbox_closed())
        return false;
    int saved_errno = errno;
    bool readable =
        syscall(SYS_rt_sigprocmask, NOTHING, address, NULL, SET_BYTES) != 0 && errno == EINVAL;
    errno = saved_errno;
    return readable;
}

/* Whether a call can have read its target from this address. A page that was mapped once counts as
 * mapped, also in a closed process, which cannot ask the kernel. */
static bool was_readable(uintptr_t address)
{
    enum { PAGES = 64 };
    static _Atomic uintptr_t pages[PAGES];
    uintptr_t page = address / PAGE;
    _Atomic uintptr_t *known = &pages[page % PAGES];
    if (address % sizeof(uintptr_t))
        return false;
    if (page && atomic_load_explicit(known, memory_order_relaxed) == page)
        return true;
    bool readable = is_readable(address);
    if (readable)
        atomic_store_explicit(known, page, memory_order_relaxed);
    return readable;
}

/* Headers lie in the first page of an object. */
static bool read_header(const struct shim_module *module, ElfW(Ehdr) * out)
{
    if (!module->begin)
        return false;
    memcpy(out, (const void *)module->begin, sizeof *out);
    return !memcmp(out->e_ident, ELFMAG, SELFMAG) && out->e_phentsize == sizeof(ElfW(Phdr)) &&
           out->e_phoff + out->e_phnum * sizeof(ElfW(Phdr)) <= PAGE;
}

/* Whether the address lies in the code of an object. */
static bool is_code(uintptr_t address)
{
    struct shim_module module;
    ElfW(Ehdr) head;
    shim_module_find((const void *)address, &module);
    if (!read_header(&module, &head))
        return false;
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)(module.begin + head.e_phoff);
    uintptr_t base = head.e_type == ET_EXEC ? 0 : module.begin;
    for (int i = 0; i < head.e_phnum; i++)
        if (headers[i].p_type == PT_LOAD && headers[i].p_flags & PF_X &&
            address - (base + headers[i].p_vaddr) < headers[i].p_filesz)
            return true;
    return false;
}

/* --- Backwards: what was called ------------------------------------------------------------ */

/* The last bytes of a call, as far as they lie in the page of the return address. */
struct bytes {
    uint8_t at[LONGEST_CALL];
};

static uint8_t back(const struct bytes *bytes, int count)
{
    return bytes->at[LONGEST_CALL - count];
}

/* An address outside all objects is code made at run time, or an invented return address. */
static struct bytes read_back(uintptr_t returns, bool in_object)
{
    struct bytes bytes = {{0}};
    size_t count = returns % PAGE < LONGEST_CALL ? returns % PAGE : LONGEST_CALL;
    if (!in_object && count && !was_readable((returns - 1) & ~(uintptr_t)7))
        return bytes;
    memcpy(bytes.at + LONGEST_CALL - count, (const void *)(returns - count), count);
    return bytes;
}

static uintptr_t checked(uintptr_t address)
{
    return is_ours(address) || is_code(address) ? address : 0;
}

/* call *%register. The byte before it may be its prefix, or belong to the previous instruction. */
static uintptr_t through_register(const struct bytes *bytes)
{
    if (back(bytes, 2) != 0xff || (back(bytes, 1) & 0xf8) != 0xd0)
        return 0;
    int number = back(bytes, 1) & 7;
    uintptr_t called = back(bytes, 3) == 0x41 ? checked(shim_entered[8 + number]) : 0;
    return called ? called : checked(shim_entered[number]);
}

/* call *memory, whose operand begins `count` bytes before the end, with these prefix bits. */
static uintptr_t through_operand(const struct bytes *bytes, int count, int prefix)
{
    int mode = back(bytes, count) >> 6, base = back(bytes, count) & 7, scale = 0;
    uintptr_t address = 0;
    if (base == RSP) { /* another byte follows with base and index */
        uint8_t more = back(bytes, --count);
        int index = (more >> 3 & 7) | (prefix & 2) << 2;
        base = more & 7;
        scale = more >> 6;
        if (index != RSP) {
            if (!(NOTED >> index & 1))
                return 0;
            address = shim_entered[index] << scale;
        }
    }
    base |= (prefix & 1) << 3;
    if ((mode == 0 && (base & 7) == RBP) || !(NOTED >> base & 1))
        return 0;
    address += shim_entered[base];
    if (mode == 1)
        address += (uintptr_t)(int8_t)back(bytes, 1);
    if (mode == 2) {
        int32_t offset;
        memcpy(&offset, bytes->at + LONGEST_CALL - 4, sizeof offset);
        address += (uintptr_t)(intptr_t)offset;
    }
    return was_readable(address) ? checked(word_at(address)) : 0;
}

/* call *memory: the opcode is 2 to 7 bytes before the end; the operand's first byte tells. */
static uintptr_t through_memory(const struct bytes *bytes)
{
    static const int offset_bytes[] = {0, 1, 4};
    for (int count = 1; count <= 6; count++) {
        uint8_t operand = back(bytes, count), before = back(bytes, count + 2);
        int mode = operand >> 6;
        if (back(bytes, count + 1) != 0xff || (operand & 0x38) != 0x10 || mode == 3 ||
            count != 1 + ((operand & 7) == RSP) + offset_bytes[mode])
            continue;
        uintptr_t called = (before & 0xf0) == 0x40 ? through_operand(bytes, count, before & 15) : 0;
        return called ? called : through_operand(bytes, count, 0);
    }
    return 0;
}

/* The function that the call before the return address called; 0: unknown. */
static uintptr_t called_before(uintptr_t returns, const struct shim_module *module)
{
    const struct bytes bytes = read_back(returns, module->begin);
    uintptr_t operand = returns + (uintptr_t)(intptr_t)offset_at((uintptr_t)bytes.at + 4);
    if (back(&bytes, 5) == 0xe8 && shim_module_contains(module, operand))
        return operand;
    if (back(&bytes, 6) == 0xff && back(&bytes, 5) == 0x15 && shim_module_contains(module, operand))
        return word_at(operand);
    uintptr_t called = through_register(&bytes);
    return called ? called : through_memory(&bytes);
}

/* --- Forwards: where it jumps -------------------------------------------------------------- */

static bool begins(uintptr_t at, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (((const char *)at)[i] != bytes[i])
            return false;
    return true;
}

/* The end of a function of libblastrampoline, up to its last instruction, jmp *%r11, which has
 * loaded %r11 from memory before. 0: the code is another one. */
static uintptr_t trampoline_end(uintptr_t at)
{
    if (begins(at, "\xf3\x0f\x1e\xfa", 4)) /* endbr64 */
        at += 4;
    if (begins(at, "\x49\xc7\xc2", 3)) /* mov $number,%r10 */
        at += 7;
    return begins(at, "\x4c\x8b\x1d", 3) && begins(at + 7, "\x41\xff\xe3", 3) ? at + 7 : 0;
}

/* The target of code that only jumps: directly or, like an entry of a procedure linkage table,
 * through an address in memory. 0: the code does something else. */
static uintptr_t jump_from(uintptr_t at)
{
    uintptr_t end = trampoline_end(at);
    if (end)
        return word_at(end + (uintptr_t)(intptr_t)offset_at(end - 4));
    if (begins(at, "\xf3\x0f\x1e\xfa", 4)) /* endbr64 */
        at += 4;
    if (begins(at, "\x41\xbb", 2)) /* mov $number,%r11d: in mold's linkage tables */
        at += 6;
    if (begins(at, "\xf2", 1)) /* bnd */
        at += 1;
    if (begins(at, "\xe9", 1))
        return at + 5 + (uintptr_t)(intptr_t)offset_at(at + 1);
    if (begins(at, "\xeb", 1))
        return at + 2 + (uintptr_t)(intptr_t)((const int8_t *)at)[1];
    if (begins(at, "\xff\x25", 2))
        return word_at(at + 6 + (uintptr_t)(intptr_t)offset_at(at + 2));
    return 0;
}

/* The place of the last jump, or the code at which the jumps ended. */
static uintptr_t follow(uintptr_t returns, const struct shim_module *module)
{
    uintptr_t owner = returns, at = called_before(returns, module);
    for (int hops = 0; at && hops < HOPS; hops++) {
        if (is_ours(at))
            return owner;
        uintptr_t next = jump_from(at);
        if (!next)
            return at;
        owner = at;
        at = next;
    }
    return owner;
}

/*
 * Handles lazy binding. The first entry of the linkage table pushes its object's link map, the
 * second word on the stack, and the dynamic linker jumps here through %r11 when it is done. The
 * pushed words still lie below the stack, because nothing has run since. The word is a link map if
 * the object's tables lie in an object with that map; returns 0 if it is none. A compiler's call
 * may use %r11 too (retpolines do). The word is then a remainder of earlier calls and may point to
 * freed memory.
 */
static uintptr_t bound_now(void)
{
    uintptr_t map = shim_entered[BELOW], tables = map + offsetof(struct link_map, l_ld);
    if (!is_ours(shim_entered[R11]) || !is_readable(tables))
        return 0;
    tables = word_at(tables);
    return map && shim_module_map((const void *)tables) == (const void *)map ? tables : 0;
}

static uint64_t bytes_at(uintptr_t address)
{
    uint64_t bytes;
    memcpy(&bytes, (const void *)address, sizeof bytes);
    return bytes;
}

/* Recognises without a loop the usual call by name, through the object's linkage table or through
 * the address that it keeps. False: the call needs the full analysis. */
static bool is_plain(uintptr_t returns, const struct shim_module *module)
{
    enum { ENDBR64 = 0xfa1e0ff3, CALL = 0xe8, CALL_KEPT = 0x15ff, JUMP_KEPT = 0x25ff };
    if (!module->begin || returns % PAGE < sizeof(uint64_t))
        return false;
    uint64_t bytes = bytes_at(returns - sizeof bytes);
    uintptr_t at = returns + (uintptr_t)((int64_t)bytes >> 32);
    if (!shim_module_contains(module, at))
        return false;
    if ((bytes >> 16 & 0xffff) == CALL_KEPT)
        return is_ours(word_at(at));
    if ((bytes >> 24 & 0xff) != CALL || at % PAGE > PAGE - 16)
        return false;
    bytes = bytes_at(at);
    if ((uint32_t)bytes == ENDBR64) {
        at += 4;
        bytes = bytes_at(at);
    }
    return (bytes & 0xffff) == JUMP_KEPT &&
           is_ours(word_at(at + 6 + (uintptr_t)(intptr_t)(int32_t)(bytes >> 16)));
}

const void *shim_whose(const void *returns, struct shim_module *module)
{
    shim_module_find(returns, module);
    if (is_plain((uintptr_t)returns, module))
        return returns;
    uintptr_t owner = follow((uintptr_t)returns, module); /* runs always, to note readable pages */
    bool trampoline = owner != (uintptr_t)returns && trampoline_end(owner);
    uintptr_t bound = trampoline ? 0 : bound_now(); /* a trampoline loads %r11 too */
    if (bound)
        owner = bound;
    if (!shim_module_contains(module, owner))
        shim_module_find((const void *)owner, module);
    return (const void *)owner;
}

const void *shim_whose_jump(const void *code)
{
    return (const void *)jump_from((uintptr_t)code);
}

#else

const void *shim_whose(const void *returns, struct shim_module *module)
{
    shim_module_find(returns, module);
    return returns;
}

const void *shim_whose_jump(const void *code)
{
    (void)code;
    return NULL;
}

#endif

bool shim_whose_is_inside(const char *frame, const void *caller, const char *outer_frame,
                          const void *outer_caller)
{
    return frame < outer_frame && !shim_module_holds(caller, outer_caller);
}
