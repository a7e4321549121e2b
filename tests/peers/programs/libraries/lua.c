/* Runs a script that makes tables, strings, closures, coroutines and patterns. */
#include <stdio.h>
#include "lua.h"
#include "lauxlib.h"
#include "lualib.h"

static const char *script =
    "local words, count = {}, {}\n"
    "for i = 1, 3000 do words[#words + 1] = ('w%d'):format(i * 7919 % 700) .. ('x'):rep(i % 60) end\n"
    "for _, w in ipairs(words) do count[w] = (count[w] or 0) + 1 end\n"
    "table.sort(words, function(a, b) return a < b end)\n"
    "local class = setmetatable({}, { __call = function(c, x) return setmetatable({ x = x }, { __index = c, __gc = function() end }) end })\n"
    "local all = {}\n"
    "for i = 1, 500 do all[i] = class(i) end\n"
    "local co = coroutine.wrap(function() for i = 1, 200 do coroutine.yield({ i, tostring(i) }) end end)\n"
    "for i = 1, 200 do assert(co()[1] == i) end\n"
    "local text = table.concat(words, ' '):gsub('(%a+)(%d+)', '%2%1')\n"
    "for k, v in text:gmatch('(%d)(%a)') do count[k .. v] = true end\n"
    "for i = 1, 100 do assert(load('local a, b = ... ; return function() return a + b * ' .. i .. ' end'))(i, 2) end\n"
    "pcall(error, { code = 1 })\n"
    "all = nil; collectgarbage() collectgarbage('generational')\n"
    "for i = 1, 2000 do local t = { i, { i }, name = 'n' .. i } end\n"
    "return #text + select('#', table.unpack(words, 1, 100))";

int main(void) {
    lua_State *L = luaL_newstate();
    int failed;
    if (!L) return 1;
    luaL_openlibs(L);
    failed = luaL_dostring(L, script);
    if (failed) fprintf(stderr, "%s\n", lua_tostring(L, -1));
    lua_close(L);
    return failed;
}
