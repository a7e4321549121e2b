// Reads, changes and writes documents.
#include <string>
#include "yaml-cpp/yaml.h"

int main() {
    std::string text = "defaults: &d {colour: red, size: [1, 2, 3]}\nitems:\n";
    for (int i = 0; i < 200; i++)
        text += "  - name: item " + std::to_string(i) + "\n    <<: *d\n    tags: [a, \"b c\", 'd']\n    text: |\n      first\n      second " +
                std::to_string(i * i) + "\n    nested: {x: " + std::to_string(i / 3.0) + ", y: ~, z: true}\n";
    size_t size = 0;
    for (int round = 0; round < 4; round++) {
        YAML::Node root = YAML::Load(text);
        double sum = 0;
        for (auto item : root["items"]) {
            sum += item["nested"]["x"].as<double>();
            if (item["name"].as<std::string>().size() % 2) item["more"].push_back(round);
            item.remove("text");
        }
        root["sum"] = sum;
        root["copy"] = YAML::Clone(root["items"][0]);
        YAML::Emitter out;
        out << YAML::BeginSeq << YAML::Flow << std::vector<int>(20, round) << root << YAML::EndSeq;
        size += out.size();
        try {
            YAML::Load("a: [1, 2\nb: }");
        } catch (const YAML::ParserException &e) {
            size += std::string(e.what()).size();
        }
    }
    return size < 1000;
}
