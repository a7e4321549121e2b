// Prints a heap dump as VisualVM's library has it: instances of each class, sizes of up to 400 instances of each class
// whose name begins with a prefix, and the number of roots.
import java.io.File;
import java.util.*;
import org.graalvm.visualvm.lib.jfluid.heap.*;

public class Visualvm {
  @SuppressWarnings("unchecked")
  public static void main(String[] args) throws Exception {
    Heap heap = HeapFactory.createHeap(new File(args[0]));
    for (JavaClass c : (List<JavaClass>) heap.getAllClasses()) {
      System.out.println("class\t" + c.getName() + "\t" + c.getInstancesCount());
      int n = 0;
      if (!c.getName().startsWith(args[1])) continue;
      for (Instance i : (List<Instance>) c.getInstances())
        if (n++ < 400)
          System.out.println("object\t" + i.getInstanceId() + "\t" + i.getSize() + "\t" + i.getRetainedSize());
    }
    System.out.println("roots\t" + heap.getGCRoots().size());
    System.exit(0);
  }
}
