/* Threads in several states with local variables of known size, and collections of known fill. Prints the size of a
   map that many threads have filled, then "ready", and waits. */
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.locks.*;

public class Threads {
    static final Object lock = new Object();
    static final List<Object> all = new ArrayList<>();
    enum Color { RED, GREEN, BLUE }

    static void collections() {
        Map<Integer, String> hash = new HashMap<>(3000);
        for (int i = 0; i < 12; i++) hash.put(i, "v" + i);
        List<Integer> list = new ArrayList<>(100);
        for (int i = 0; i < 7; i++) list.add(i);
        ArrayDeque<Integer> deque = new ArrayDeque<>(30);
        for (int i = 0; i < 20; i++) deque.add(i);
        for (int i = 0; i < 15; i++) { deque.poll(); deque.add(i); }
        ConcurrentHashMap<Integer, Integer> concurrent = new ConcurrentHashMap<>(100);
        for (int i = 0; i < 50; i++) concurrent.put(i, i);
        Set<String> set = new HashSet<>(Arrays.asList("a", "b", "c"));
        Map<String, String> linked = new LinkedHashMap<>();
        linked.put("x", "y");
        Set<String> linkedSet = new LinkedHashSet<>(Arrays.asList("p", "q"));
        Vector<Integer> vector = new Vector<>(33);
        vector.add(1);
        Hashtable<String, String> table = new Hashtable<>(17);
        table.put("k", "v"); table.put("k2", "v");
        TreeMap<Integer, Integer> tree = new TreeMap<>();
        for (int i = 0; i < 9; i++) tree.put(i, i);
        TreeSet<Integer> treeSet = new TreeSet<>(Arrays.asList(5, 6));
        PriorityQueue<Integer> queue = new PriorityQueue<>(40);
        queue.add(3);
        IdentityHashMap<Object, Object> identity = new IdentityHashMap<>();
        identity.put(lock, lock);
        WeakHashMap<Object, Object> weak = new WeakHashMap<>();
        weak.put(lock, lock);
        LinkedList<String> chain = new LinkedList<>(Arrays.asList("1", "2", "3", "4"));
        Stack<String> stack = new Stack<>();
        stack.push("s");
        Properties properties = new Properties();
        properties.put("a", "b");
        EnumMap<Color, String> enums = new EnumMap<>(Color.class);
        enums.put(Color.RED, "r");
        Collections.addAll(all, hash, list, deque, concurrent, set, linked, linkedSet, vector, table, tree, treeSet, queue,
                           identity, weak, chain, stack, properties, enums);
    }

    static void contended(ConcurrentHashMap<Integer, Integer> map) throws Exception {
        Thread[] writers = new Thread[8];
        for (int t = 0; t < writers.length; t++) {
            int from = t * 100000;
            writers[t] = new Thread(() -> { for (int i = 0; i < 50000; i++) map.put(from + i, i); });
            writers[t].start();
        }
        for (Thread w : writers) w.join();
    }

    static void sleeper(byte[] own, int depth) {
        byte[] local = new byte[10000 * (depth + 1)];
        if (depth < 3) sleeper(local, depth + 1);
        else try { Thread.sleep(1000000000L); } catch (InterruptedException e) { }
        if (own.length + local.length == 0) System.out.println(own);
    }

    static void spin(long[] counter) { while (true) counter[0]++; }

    static class Worker extends Thread {
        final byte[] field = new byte[500000];
        Worker(String name) { super(name); setDaemon(true); start(); }
    }

    public static void main(String[] args) throws Exception {
        collections();
        ConcurrentHashMap<Integer, Integer> busy = new ConcurrentHashMap<>();
        contended(busy);
        all.add(busy);
        System.out.println("busy " + busy.size());
        new Worker("sleeps") { public void run() { sleeper(new byte[1], 0); } };
        new Worker("spins \u00fc") { public void run() { spin(new long[100]); } };
        new Worker("waits") { public void run() { Object o = new int[2000]; synchronized (o) { try { o.wait(); } catch (InterruptedException e) { } } } };
        new Worker("parks") { public void run() { while (true) LockSupport.park(); } };
        synchronized (lock) {
            new Worker("blocked") { public void run() { synchronized (lock) { System.out.println(); } } };
            Thread.sleep(500);
            System.out.println("ready");
            Thread.sleep(1000000000L);
        }
    }
}
