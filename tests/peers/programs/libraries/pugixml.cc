// Makes a document, queries it by XPath, changes it, writes it and reads it again.
#include <sstream>
#include <string>
#include "pugixml.hpp"

static void *allocate(size_t size) { return ::operator new(size); }
static void release(void *p) { ::operator delete(p); }

int main() {
    pugi::set_memory_management_functions(allocate, release);
    size_t size = 0;
    std::string text;
    for (int round = 0; round < 4; round++) {
        pugi::xml_document made, read;
        pugi::xml_node root = made.append_child("shop");
        for (int i = 0; i < 400; i++) {
            pugi::xml_node item = root.append_child(i % 3 ? "item" : "thing");
            item.append_attribute("id") = i;
            item.append_attribute("name") = ("name of " + std::to_string(i * 7919)).c_str();
            for (int k = 0; k < i % 5; k++) item.append_child("part").text() = std::string(static_cast<size_t>(20 * k), 'p').c_str();
        }
        std::ostringstream out;
        made.save(out);
        text = out.str();
        if (!read.load_string(text.c_str())) return 1;
        for (const char *query : {"//item[@id > 100 and count(part) = 2]", "/shop/thing[position() mod 7 = 1]/part | //item[last()]",
                                  "//*[contains(@name, '79') and not(part)]", "//part[string-length(.) > 30]/../@name"}) {
            pugi::xpath_variable_set variables;
            variables.set("n", 3.0);
            pugi::xpath_query compiled(query, &variables);
            pugi::xpath_node_set found = compiled.evaluate_node_set(read);
            found.sort();
            size += found.size() + compiled.evaluate_string(read).size();
        }
        while (pugi::xml_node item = read.child("shop").child("thing")) read.child("shop").remove_child(item);
        std::wstring wide = pugi::as_wide(text);
        size += pugi::as_utf8(wide).size();
        read.save_file("/dev/null");
    }
    return size < 1000;
}
