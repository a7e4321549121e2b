// Prints a heap dump as VisualVM's library has it: instances of each class, the shallow size of each live object, the
// retained size of up to 60 instances of each class, and the number of roots.
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
      for (Instance i : (List<Instance>) c.getInstances())
        System.out.println("object\t" + i.getInstanceId() + "\t" + i.getSize() + "\t" + (n++ < 60 ? i.getRetainedSize() : "-"));
    }
    System.out.println("roots\t" + heap.getGCRoots().size());
    System.exit(0);
  }
}
