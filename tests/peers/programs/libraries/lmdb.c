/* Puts, finds, iterates and deletes keys in two tables, by several transactions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lmdb.h"

int main(void) {
    char name[] = "lmdb-XXXXXX", text[200], number[20], file[64];
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi db, many;
    MDB_cursor *cursor;
    MDB_val key, value;
    int found = 0;
    if (!mkdtemp(name) || mdb_env_create(&env)) return 1;
    mdb_env_set_maxdbs(env, 4);
    mdb_env_set_mapsize(env, 64 << 20);
    if (mdb_env_open(env, name, MDB_NOSYNC, 0644)) return 2;
    for (int round = 0; round < 5; round++) {
        if (mdb_txn_begin(env, NULL, 0, &txn) || mdb_dbi_open(txn, "one", MDB_CREATE, &db) ||
            mdb_dbi_open(txn, "many", MDB_CREATE | MDB_DUPSORT, &many))
            return 3;
        for (int i = 0; i < 4000; i++) {
            MDB_txn *inner = NULL;
            key.mv_size = (size_t)snprintf(number, sizeof number, "%08d", i * 7919 % 9973 + round);
            key.mv_data = number;
            memset(text, 'a' + i % 26, sizeof text);
            value.mv_size = (size_t)(i % 190 + 1);
            value.mv_data = text;
            if (i % 1000 == 7 && mdb_txn_begin(env, txn, 0, &inner)) return 4;
            if (mdb_put(inner ? inner : txn, db, &key, &value, 0)) return 5;
            if (inner && mdb_txn_commit(inner)) return 6;
            key.mv_size = 5;
            if (i % 4 == 0) mdb_put(txn, many, &key, &value, 0);
        }
        if (mdb_txn_commit(txn)) return 7;
    }
    if (mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) || mdb_cursor_open(txn, many, &cursor)) return 8;
    while (!mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) found++;
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
    if (mdb_txn_begin(env, NULL, 0, &txn) || mdb_cursor_open(txn, db, &cursor)) return 9;
    for (int i = 0; !mdb_cursor_get(cursor, &key, &value, MDB_NEXT); i++)
        if (i % 3) mdb_cursor_del(cursor, 0);
    mdb_cursor_close(cursor);
    if (mdb_txn_commit(txn)) return 10;
    mdb_env_close(env);
    snprintf(file, sizeof file, "%s/data.mdb", name), unlink(file);
    snprintf(file, sizeof file, "%s/lock.mdb", name), unlink(file);
    rmdir(name);
    return found < 100;
}
