// Compiles expressions, matches them over a text, replaces, matches sets, and filters by required substrings.
#include <memory>
#include <string>
#include <vector>
#include "re2/filtered_re2.h"
#include "re2/re2.h"
#include "re2/set.h"

int main() {
    const char *patterns[] = {"(\\w+)@(\\w+)\\.com", "a*b+c?", "(?i)straße|weiß", "\\d{2,4}-\\d{2}-\\d{2}", "[^\\s]+\\s(x|y|zz)$",
                              "(?:(?:a|b)*abb){1,20}", "\\p{Greek}+", "^(.*)(.*)(.*)$", "(((a))((b)))*", "[[:alpha:]_]\\w*\\("};
    std::string text;
    for (int i = 0; i < 300; i++)
        text += "name" + std::to_string(i) + "@host" + std::to_string(i % 17) + ".com aabbc 2026-11-" + std::to_string(10 + i % 20) + " call(αβγ) \n";
    int found = 0;
    for (int round = 0; round < 3; round++)
        for (const char *p : patterns) {
            RE2::Options options;
            options.set_longest_match(round == 1);
            options.set_case_sensitive(round != 2);
            RE2 expression(p, options);
            if (!expression.ok()) return 1;
            re2::StringPiece left(text), a;
            while (RE2::FindAndConsume(&left, expression) && ++found % 1000) {}
            std::string copy = text;
            RE2::GlobalReplace(&copy, expression, "<\\0>");
            std::string least, greatest;
            if (expression.PossibleMatchRange(&least, &greatest, 10)) found++;
        }
    re2::RE2::Set set(RE2::DefaultOptions, RE2::UNANCHORED);
    re2::FilteredRE2 filtered;
    for (const char *p : patterns) {
        int id;
        set.Add(p, nullptr);
        filtered.Add(p, RE2::DefaultOptions, &id);
    }
    std::vector<int> which;
    std::vector<std::string> atoms;
    set.Compile();
    set.Match(text, &which);
    filtered.Compile(&atoms);
    which.clear();
    for (size_t i = 0; i < atoms.size(); i++)
        if (text.find(atoms[i]) != std::string::npos) which.push_back(static_cast<int>(i));
    filtered.FirstMatch(text, which);
    return found < 10;
}
