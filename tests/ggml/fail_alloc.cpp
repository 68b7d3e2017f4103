// Preloaded into a program: allocation FAIL_ALLOC of libggml-qnnrt.so fails, and with FAIL_ALLOC_ALL=1 all after it, too.
//
// Only calls from inside the library count, also those of operator new; everything else gets its memory. At exit the
// number of calls goes to stderr: FAIL_ALLOC=0 counts.
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

uintptr_t first, last;                           // the library's code
long calls, wanted = -1, all;

int find_code(dl_phdr_info *info, size_t, void *)
{
    if (!std::strstr(info->dlpi_name, "/libggml-qnnrt.so"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X)) {
            first = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            last = first + info->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

bool fails(void *caller)
{
    uintptr_t at = reinterpret_cast<uintptr_t>(caller);
    if (!last)
        dl_iterate_phdr(find_code, nullptr);
    if (at < first || at >= last)
        return false;
    if (wanted < 0) {
        const char *text = std::getenv("FAIL_ALLOC");
        wanted = text ? std::atol(text) : 0;
        all = std::getenv("FAIL_ALLOC_ALL") != nullptr;
    }
    ++calls;
    return wanted > 0 && (calls == wanted || (all && calls > wanted));
}

struct at_exit {
    ~at_exit()
    {
        char text[64];
        int length = std::snprintf(text, sizeof text, "allocations %ld\n", calls);
        if (write(2, text, static_cast<size_t>(length)) < 0)
            _exit(97);
    }
} said;

void *make(size_t bytes, void *caller)
{
    void *made = fails(caller) ? nullptr : memalign(16, bytes ? bytes : 1);
    if (!made)
        throw std::bad_alloc();
    return made;
}

}  // namespace

extern "C" void *__libc_malloc(size_t);
extern "C" void *__libc_calloc(size_t, size_t);
extern "C" void *__libc_realloc(void *, size_t);

extern "C" void *malloc(size_t bytes) { return fails(__builtin_return_address(0)) ? nullptr : __libc_malloc(bytes); }

extern "C" void *calloc(size_t count, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? nullptr : __libc_calloc(count, bytes);
}

extern "C" void *realloc(void *old, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? nullptr : __libc_realloc(old, bytes);
}

extern "C" int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    *out = fails(__builtin_return_address(0)) ? nullptr : memalign(alignment, bytes);
    return *out ? 0 : ENOMEM;
}

extern "C" void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? nullptr : memalign(alignment, bytes);
}

void *operator new(size_t bytes) { return make(bytes, __builtin_return_address(0)); }
void *operator new[](size_t bytes) { return make(bytes, __builtin_return_address(0)); }
void *operator new(size_t bytes, const std::nothrow_t &) noexcept
{
    return fails(__builtin_return_address(0)) ? nullptr : __libc_malloc(bytes);
}
void operator delete(void *old) noexcept { free(old); }
void operator delete[](void *old) noexcept { free(old); }
void operator delete(void *old, size_t) noexcept { free(old); }
void operator delete[](void *old, size_t) noexcept { free(old); }
