// Finds the retained sizes of all objects with VisualVM's library: Retained FILE.
import java.io.File;
import org.graalvm.visualvm.lib.jfluid.heap.*;

public class Retained {
  public static void main(String[] args) throws Exception {
    Heap heap = HeapFactory.createHeap(new File(args[0]));
    Instance largest = (Instance) heap.getBiggestObjectsByRetainedSize(1).get(0);
    System.out.println(largest.getJavaClass().getName() + "\t" + largest.getRetainedSize());
    System.exit(0);
  }
}
