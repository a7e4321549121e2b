// Allocations deep inside inlined code: containers of containers, lambdas, recursive templates.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

template <int n> struct nested {
    static std::unique_ptr<std::vector<int>> make(int size) { return nested<n - 1>::make(size + n); }
};
template <> struct nested<0> {
    static std::unique_ptr<std::vector<int>> make(int size) {
        return std::make_unique<std::vector<int>>(static_cast<size_t>(size), size);
    }
};

template <class T> static T *volatile kept;

template <class T> static T *keep(T value) {
    T *t = new T(std::move(value));
    kept<T> = t;
    return t;
}

int main() {
    std::map<std::string, std::vector<std::string>> words;
    for (int i = 0; i < 200; i++) words["a rather long key, number " + std::to_string(i % 20)].push_back(std::to_string(i) + " and a text that needs memory");
    size_t total = 0;
    for (const auto &pair : words)
        for (const auto &word : pair.second) total += word.size();
    for (int i = 0; i < 10; i++) total += nested<3>::make(i)->size() + nested<5>::make(i)->size();
    std::vector<std::function<size_t()>> calls;
    for (int i = 0; i < 5; i++) calls.push_back([words, i] { return words.size() + static_cast<size_t>(i); });
    for (const auto &call : calls) total += call();
    total += static_cast<size_t>(*keep(1)) + keep(std::string(100, 'x'))->size();
    return total == 0;
}
