// Writes, reads, iterates, compacts, reopens and destroys a store.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include "leveldb/cache.h"
#include "leveldb/db.h"
#include "leveldb/filter_policy.h"
#include "leveldb/write_batch.h"

static std::string key(int i) { return "key-" + std::to_string(i * 7919 % 20011); }

int main() {
    char name[] = "leveldb-XXXXXX";
    if (!mkdtemp(name)) return 1;
    leveldb::Options options;
    options.create_if_missing = true;
    options.write_buffer_size = 1 << 17;
    std::unique_ptr<const leveldb::FilterPolicy> bloom(leveldb::NewBloomFilterPolicy(10));
    std::unique_ptr<leveldb::Cache> cache(leveldb::NewLRUCache(1 << 16));
    options.filter_policy = bloom.get();
    options.block_cache = cache.get();
    int found = 0;
    for (int round = 0; round < 2; round++) {
        leveldb::DB *db = nullptr;
        if (!leveldb::DB::Open(options, name, &db).ok()) return 2;
        for (int i = 0; i < 8000; i++) {
            leveldb::WriteBatch batch;
            batch.Put(key(i + round), std::string(static_cast<size_t>(i % 150), 'x'));
            if (i % 9 == 0) batch.Delete(key(i / 2));
            if (!db->Write(leveldb::WriteOptions(), &batch).ok()) return 3;
        }
        const leveldb::Snapshot *before = db->GetSnapshot();
        std::string value;
        for (int i = 0; i < 3000; i++)
            if (db->Get(leveldb::ReadOptions(), key(i * 3), &value).ok()) found++;
        std::unique_ptr<leveldb::Iterator> it(db->NewIterator(leveldb::ReadOptions()));
        for (it->Seek("key-5"); it->Valid(); it->Next()) found++;
        it.reset();
        db->ReleaseSnapshot(before);
        db->CompactRange(nullptr, nullptr);
        db->GetProperty("leveldb.stats", &value);
        delete db;
    }
    return !leveldb::DestroyDB(name, options).ok() || found < 1000;
}
