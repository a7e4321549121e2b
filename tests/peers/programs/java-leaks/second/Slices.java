// Small views hold the large buffers that they were cut from.
// truth: headers | java.nio.HeapByteBuffer | 9600000
import java.nio.*;
import java.util.*;

public class Slices {
  static final class Index {
    final List<ByteBuffer> headers = new ArrayList<>();
  }

  static final Index INDEX = new Index();

  public static void main(String[] args) {
    Ordinary.work();
    for (int i = 0; i < 150; i++) {
      ByteBuffer file = ByteBuffer.wrap(new byte[64000]);
      INDEX.headers.add(file.slice(0, 16));
    }
    Ordinary.ready();
  }
}
