/* The same as shared.c in C++17, with qnnrt.hpp: shared_cpp FOLDER [BACKEND_LIBRARY] */
#include <cstdio>

#include "qnnrt.hpp"

int main(int argc, char **argv)
{
    if (argc < 2) {
        std::fprintf(stderr, "usage: shared_cpp FOLDER [BACKEND_LIBRARY]\n");
        return 2;
    }
    try {
        qnnrt_desc desc = {};
        desc.backend_desc.path = argc > 2 ? argv[2] : nullptr;
        qnnrt_cpp::model model(argv[1], desc);
        qnnrt_cpp::run run = model.prepare();
        run.exec();
        for (const qnnrt_slot &slot : run.slots()) {
            if (slot.role == QNNRT_ROLE_OUTPUT)
                std::printf("%s: %g ...\n", slot.address,
                            static_cast<double>(run.read<float, 1>(slot.address)[0]));
        }
    } catch (const qnnrt_cpp::error &e) {
        std::fprintf(stderr, "%s\nhint: %s\n", e.what(), e.hint());
        return 1;
    }
    return 0;
}
