/* test_bits.c - the differences on 32 bits */
#include "../../qnnrt.h"
#include "test.h"

/* The vendor's interface exists for 64 bits only; on other machines a backend is refused before a
   library is loaded. */
TEST(backends_need_64_bits)
{
    qnnrt_backend_desc desc;
    qnnrt_backend *backend = NULL;
    qnnrt_error err;
    memset(&desc, 0, sizeof desc);
    desc.path = "build/no such library.so";
    CHECK_EQ(qnnrt_backend_open(&desc, &backend, &err), sizeof(void *) == 8 ? QNNRT_E_LIBRARY : QNNRT_E_UNSUPPORTED);
    CHECK(backend == NULL);
    CHECK_EQ(err.code, sizeof(void *) == 8 ? QNNRT_E_LIBRARY : QNNRT_E_UNSUPPORTED);
}

TEST_MAIN("bits") { RUN(backends_need_64_bits); }
