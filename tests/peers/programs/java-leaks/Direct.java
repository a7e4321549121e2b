// Buffers outside the heap: 16 MB of them, but little in the heap.
// truth: Direct.FREE | java.nio.DirectByteBuffer | 16384000
import java.nio.*;
import java.util.*;

public class Direct {
  static final Deque<ByteBuffer> FREE = new ArrayDeque<>();

  public static void main(String[] args) {
    Ordinary.work();
    for (int i = 0; i < 250; i++) FREE.push(ByteBuffer.allocateDirect(65536));
    Ordinary.ready();
  }
}
