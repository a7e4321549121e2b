/* A shop in memory: tables, an index, joins, a trigger, JSON, updates and rollbacks. */
#include <stdio.h>
#include <stdlib.h>
#include "sqlite3.h"

static int row(void *count, int n, char **values, char **names) {
    (void)n, (void)values, (void)names;
    ++*(int *)count;
    return 0;
}

int main(void) {
    sqlite3 *db;
    sqlite3_stmt *insert;
    int rows = 0;
    char *message = NULL;
    const char *made =
        /* tables and an index */
        "create table item(id integer primary key, name text, price real, kind int);"
        "create table sold(item int, day int, n int); create index by_item on sold(item, day);"
        /* a trigger */
        "create table log(what text); create trigger t after update on item begin"
        " insert into log values(new.name || ' ' || old.price); end; begin;";
    const char *asked =
        "commit; update item set price = price * 1.5 where kind = 3;"
        "select name, sum(n * price) s from item join sold on item.id = sold.item group by name having s > 100"
        " order by s desc limit 50;"
        "with recursive c(x) as (select 1 union all select x + 1 from c where x < 500) select group_concat(x) from c;"
        "select kind, count(distinct name), max(printf('%08.2f', price)) from item group by kind;"
        "select json_extract(json_group_array(json_object('n', name)), '$[7].n') from item;"
        "begin; delete from sold where day % 3 = 0; savepoint s; drop table log; rollback;"
        "create view v as select * from item where name like '%1%'; select * from v order by price limit 20;"
        "vacuum; analyze; select count(*) from log;";
    if (sqlite3_open(":memory:", &db) || sqlite3_exec(db, made, NULL, NULL, &message)) return 1;
    if (sqlite3_prepare_v2(db, "insert into item values(?, ?, ?, ?)", -1, &insert, NULL)) return 2;
    for (int i = 0; i < 2000; i++) {
        char *name = sqlite3_mprintf("item-%d-%s", i % 300, i % 7 ? "small" : "a longer name than the others have");
        sqlite3_bind_int(insert, 1, i);
        sqlite3_bind_text(insert, 2, name, -1, sqlite3_free);
        sqlite3_bind_double(insert, 3, i / 7.0);
        sqlite3_bind_int(insert, 4, i % 11);
        if (sqlite3_step(insert) != SQLITE_DONE || sqlite3_reset(insert)) return 3;
    }
    sqlite3_finalize(insert);
    if (sqlite3_prepare_v2(db, "insert into sold values(?, ?, ?)", -1, &insert, NULL)) return 4;
    for (int i = 0; i < 6000; i++) {
        sqlite3_bind_int(insert, 1, i * 7919 % 2000);
        sqlite3_bind_int(insert, 2, i % 365);
        sqlite3_bind_int(insert, 3, i % 5 + 1);
        if (sqlite3_step(insert) != SQLITE_DONE || sqlite3_reset(insert)) return 5;
    }
    sqlite3_finalize(insert);
    if (sqlite3_exec(db, asked, row, &rows, &message)) {
        fprintf(stderr, "%s\n", message);
        return 6;
    }
    sqlite3_close(db);
    return rows < 50;
}
