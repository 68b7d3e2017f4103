/* mem.c - memory registered by descriptor: memRegister, memDeRegister

   A registration belongs to one context and has one shape and type. The same memory may be
   registered again with another shape or context; an equal registration is refused. ION and
   DMA_BUF begin at offset 0 of the descriptor, CUSTOM (HTP's shared buffer) at an offset of its
   own. The descriptor is mapped here, so it may be closed after the call; registrations of one file
   share a mapping, so that execute sees when tensors overlap.
   Knows nothing of: graphs */
#include "ref.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static ref_mem *registrations;           /* all, newest first */

static q_code shape_read(ref_call *call, const q_mem_descriptor *from, ref_mem *mem)
{
    mem->dtype = from->dtype;
    mem->rank = from->shape.rank;
    mem->bytes = ref_type_bytes(from->dtype);
    if (mem->bytes == 0)
        return ref_fail(call, Q_MEM_ARGUMENT, "data type 0x%04x is not known",
                        (unsigned)from->dtype);
    if (mem->rank == 0 || mem->rank > REF_RANK || from->shape.dims == NULL)
        return ref_fail(call, Q_MEM_SHAPE, "a shape of rank %u, expected 1 to %d",
                        (unsigned)mem->rank, (int)REF_RANK);
    memcpy(mem->dims, from->shape.dims, mem->rank * sizeof(uint32_t));
    for (uint32_t i = 0; i < mem->rank; ++i) {
        if (mem->dims[i] == 0 || mem->bytes > ((uint64_t)1 << 40) / mem->dims[i])
            return ref_fail(call, Q_MEM_SHAPE, "dimension %u is %u", (unsigned)i,
                            (unsigned)mem->dims[i]);
        mem->bytes *= mem->dims[i];
    }
    return Q_OK;
}

static q_code place_read(ref_call *call, const q_mem_descriptor *from, int *fd, uint64_t *offset)
{
    *offset = 0;
    switch (from->type) {
    case Q_MEM_TYPE_ION:
        *fd = from->u.ion_fd;
        return Q_OK;
    case Q_MEM_TYPE_DMA_BUF:
        *fd = from->u.dma.fd;
        return Q_OK;
    case Q_MEM_TYPE_CUSTOM:
        if (from->u.custom == NULL || from->u.custom->type != Q_HTP_MEM_SHARED_BUFFER)
            return ref_fail(call, Q_MEM_TYPE,
                            "custom memory of type %u, expected 1 (a shared buffer)",
                            from->u.custom != NULL ? (unsigned)from->u.custom->type : 0u);
        *fd = from->u.custom->shared.fd;
        *offset = from->u.custom->shared.offset;
        return Q_OK;
    default:
        return ref_fail(call, Q_MEM_TYPE,
                        "memory of type %u, expected 1 (ION), 2 (CUSTOM) or 3 (DMA_BUF)",
                        (unsigned)from->type);
    }
}

static q_code map(ref_call *call, ref_mem *mem, int fd)
{
    struct stat facts;
    ref_mem *other;
    void *memory;
    if (fstat(fd, &facts) != 0)
        return ref_fail(call, Q_MEM_ARGUMENT, "%d is not an open file descriptor", fd);
    mem->device = (uint64_t)facts.st_dev;
    mem->inode = (uint64_t)facts.st_ino;
    if (facts.st_size <= 0 || mem->offset > (uint64_t)facts.st_size
        || mem->bytes > (uint64_t)facts.st_size - mem->offset)
        return ref_fail(call, Q_MEM_SHAPE, "%llu bytes at offset %llu; the memory has %lld",
                        (unsigned long long)mem->bytes,
                        (unsigned long long)mem->offset, (long long)facts.st_size);
    if (mem->offset % ref_type_bytes(mem->dtype) != 0)
        return ref_fail(call, Q_MEM_ARGUMENT,
                        "offset %llu is not a multiple of the element size, %u bytes",
                        (unsigned long long)mem->offset, (unsigned)ref_type_bytes(mem->dtype));
    mem->map_bytes = (uint64_t)facts.st_size;
    for (other = registrations; other != NULL; other = other->next) {
        if (other->device != mem->device || other->inode != mem->inode)
            continue;
        if (other->map_bytes == mem->map_bytes)
            mem->map = other->map;
        if (other->context == mem->context && other->offset == mem->offset
            && other->dtype == mem->dtype && other->rank == mem->rank
            && memcmp(other->dims, mem->dims, sizeof(mem->dims)) == 0)
            return ref_fail(call, Q_MEM_REGISTERED, "this memory, offset, type and shape are"
                            " already registered with context %u: memory %u",
                            (unsigned)mem->context->head.number, (unsigned)other->head.number);
    }
    memory = mem->map != NULL ? mem->map
        : mmap(NULL, (size_t)mem->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return ref_fail(call, Q_MEM_MAPPING,
                        "descriptor %d cannot be mapped for reading and writing", fd);
    mem->map = memory;
    mem->data = mem->map + mem->offset;
    return Q_OK;
}

/* Unmap the memory when no other registration uses the mapping. */
static void unmap(const ref_mem *mem)
{
    const ref_mem *other = registrations;
    while (other != NULL && (other == mem || other->map != mem->map))
        other = other->next;
    if (other == NULL)
        munmap(mem->map, (size_t)mem->map_bytes);
}

static q_code register_one(ref_call *call, ref_context *context, const q_mem_descriptor *from,
                           q_handle *out)
{
    ref_mem *mem = ref_alloc(sizeof(*mem));
    int fd = -1;
    q_code code;
    if (mem == NULL)
        return ref_fail(call, Q_MEMORY, "no memory");
    mem->context = context;
    code = shape_read(call, from, mem);
    if (code == Q_OK)
        code = place_read(call, from, &fd, &mem->offset);
    if (code == Q_OK)
        code = map(call, mem, fd);
    if (code == Q_OK && !ref_ledger_add(call, &mem->head, REF_MEM, out)) {
        unmap(mem);
        code = ref_fail(call, Q_MEMORY, "no memory");
    }
    if (code != Q_OK) {
        ref_free(mem);
        return code;
    }
    mem->next = registrations;
    registrations = mem;
    return Q_OK;
}

void ref_mem_drop(ref_mem *mem)
{
    ref_mem **at = &registrations;
    unmap(mem);
    while (*at != mem)
        at = &(*at)->next;
    *at = mem->next;
    ref_ledger_drop(&mem->head);
}

q_code ref_mem_register(ref_call *call, q_handle handle, const q_mem_descriptor *descriptors,
                        uint32_t count, q_handle *out)
{
    ref_context *context = ref_ledger_get(call, REF_CONTEXT, handle, Q_CONTEXT_HANDLE);
    q_code code = Q_OK;
    uint32_t i = 0;
    if (context == NULL)
        return call->code;
    if (descriptors == NULL || count == 0 || out == NULL)
        return ref_fail(call, Q_MEM_ARGUMENT, "%u descriptors, %s", (unsigned)count,
                        out == NULL ? "the pointer for the handles is NULL"
                                    : "expected a list of at least one");
    for (; i < count && code == Q_OK; ++i)
        code = register_one(call, context, &descriptors[i], &out[i]);
    if (code == Q_OK)
        return Q_OK;
    while (--i > 0)                                   /* the last one failed: undo the others */
        ref_mem_drop(ref_ledger_get(call, REF_MEM, out[i - 1], Q_MEM_HANDLE));
    call->code = code;
    return code;
}

q_code ref_mem_deregister(ref_call *call, const q_handle *handles, uint32_t count)
{
    if (handles == NULL || count == 0)
        return ref_fail(call, Q_MEM_ARGUMENT, "no handles are given");
    for (uint32_t i = 0; i < count; ++i) {
        ref_mem *mem = ref_ledger_get_dead(call, REF_MEM, handles[i], Q_MEM_HANDLE);
        if (mem == NULL)
            return call->code;
        if (mem->context->executing > 0)
            return ref_fail(call, Q_NOT_PERMITTED, "context %u is executing in another thread",
                            (unsigned)mem->context->head.number);
        ref_mem_drop(mem);
    }
    return Q_OK;
}
