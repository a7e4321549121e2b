// The program that `make demo` records: a small chat server. Clients join a room, talk and leave. The server holds
// memory for good reasons (a dictionary, the last messages of each room), and it leaks.

#include <chrono>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

struct Message {
    int from;
    std::string text;
};

struct Room {
    std::deque<Message> last; // the newest 100
    std::vector<int> present;
};

struct Client {
    int id;
    std::string name, address;
    std::vector<char> input;
};

class Server {
    std::map<std::string, Room> rooms;
    std::map<int, std::shared_ptr<Client>> clients;
    std::unordered_map<std::string, std::string> dictionary;

public:
    void load_dictionary(int words) {
        for (int i = 0; i < words; i++) {
            std::string word = "word " + std::to_string(i);
            dictionary[word] = "translation of " + word;
        }
    }

    void join(int id, const std::string &room) {
        auto client = std::make_shared<Client>();
        client->id = id;
        client->name = "visitor number " + std::to_string(id);
        client->address = "client.example.org, port " + std::to_string(id);
        client->input.resize(1024);
        clients[id] = client;
        rooms[room].present.push_back(id);
    }

    void say(int id, const std::string &room, const std::string &text) {
        std::deque<Message> &last = rooms[room].last;
        last.push_back(Message{ id, clients[id]->name + ": " + text });
        if (last.size() > 100) last.pop_front();
    }

    void leave(int id, const std::string &room) {
        std::vector<int> &present = rooms[room].present;
        for (size_t i = 0; i < present.size(); i++)
            if (present[i] == id) present.erase(present.begin() + (long)i--);
        if (id % 4 != 0) clients.erase(id); // the leak: one client in four stays in the map
    }
};

int main() {
    const std::string names[] = { "lobby", "games", "music", "films", "books" };
    Server server;
    server.load_dictionary(2000);
    for (int id = 0; id < 3000; id++) {
        const std::string &room = names[id % 5];
        server.join(id, room);
        for (int n = 0; n < 3; n++) server.say(id, room, "a message of some length, part " + std::to_string(n));
        if (id >= 50) server.leave(id - 50, names[(id - 50) % 5]);
        if (id % 30 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    std::_Exit(0); // stopped like a server: nothing is freed
}
