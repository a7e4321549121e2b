// Every operator new and delete: 4640085 bytes stay.
#include <new>

struct alignas(64) line { char c[64]; };
static void *volatile keep[8];

int main() {
    for (int i = 0; i < 100; i++) {
        delete new int;
        delete[] new char[99];
        delete[] new line[3];
        operator delete(operator new(9, std::nothrow), std::nothrow);
        operator delete[](operator new[](9, std::nothrow), std::nothrow);
        operator delete(operator new(64, std::align_val_t(64), std::nothrow), std::align_val_t(64),
                        std::nothrow);
    }
    keep[0] = new int;
    keep[1] = new char[1000001];
    keep[2] = new line;
    keep[3] = new line[10000];
    keep[4] = operator new(1000002, std::nothrow);
    keep[5] = operator new[](1000003, std::nothrow);
    keep[6] = operator new(1000004, std::align_val_t(128), std::nothrow);
    keep[7] = operator new[](7, std::align_val_t(128), std::nothrow);
    return 0;
}
