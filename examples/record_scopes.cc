// Scopes and types in C++: a scope ends with its block, even if an exception leaves it. A class with its own
// operator new records its name as the type.

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

static hd_recorder *recorder;

// Derived classes are recorded: class Image : public Recorded<Image>, with a name.
template <class T> struct Recorded {
    static void *operator new(size_t size) {
        void *p = ::operator new(size);
        hd_record_alloc(recorder, p, size, T::name());   // after allocating
        return p;
    }
    static void operator delete(void *p) {
        hd_record_free(recorder, p);                      // before freeing
        ::operator delete(p);
    }
};

struct Image : Recorded<Image> {
    static const char *name() { return "Image"; }
    char pixels[4096];
};

struct Mesh : Recorded<Mesh> {
    static const char *name() { return "Mesh"; }
    char vertices[1000];
};

struct Level {
    std::vector<std::unique_ptr<Image>> images;
    std::vector<std::unique_ptr<Mesh>> meshes;
};

static void load_images(Level &level, int count) {
    HD_SCOPE("game", "LoadImages");
    for (int i = 0; i < count; i++) {
        HD_SCOPE("game", "Decode");
        std::unique_ptr<Image> image(new Image);
        if (i == 3) throw std::runtime_error("the fourth image is damaged"); // its memory and scopes are released
        level.images.push_back(std::move(image));
    }
}

static void load_level(Level &level) {
    HD_SCOPE("game", "LoadLevel");
    try {
        load_images(level, 10);
    } catch (const std::exception &e) {
        std::printf("%s\n", e.what());
    }
    level.meshes.push_back(std::unique_ptr<Mesh>(new Mesh)); // in LoadLevel, not in Decode
}

int main() {
    hd_error err;
    recorder = hd_recorder_create(nullptr, &err);
    hd_profile *profile = nullptr;
    int failed = 1;
    {
        Level level;
        load_level(level);
        if (!recorder || hd_recorder_snapshot(recorder, nullptr, &profile, &err)) return 1;
        hd_heap heap = {};
        heap.allocator = "game";
        heap.profile = profile;
        failed = hd_print_tree(&heap, nullptr, hd_out_file(stdout), &err) || std::fflush(stdout);
    }
    hd_profile_free(profile);
    hd_recorder_free(recorder);
    return failed;
}
