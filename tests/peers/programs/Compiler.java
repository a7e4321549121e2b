// Compiles the source files that are its arguments, keeps the compiler's trees and symbols, prints "ready" and waits.
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.util.JavacTask;
import java.util.*;
import javax.tools.*;

public class Compiler {
  static JavacTask task;
  static final List<CompilationUnitTree> UNITS = new ArrayList<>();

  public static void main(String[] args) throws Exception {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null);
    task = (JavacTask) compiler.getTask(null, files, null, List.of("-proc:none"), null, files.getJavaFileObjects(args));
    for (CompilationUnitTree unit : task.parse()) UNITS.add(unit);
    task.analyze();
    System.out.println("ready");
    Thread.sleep(1000000000L);
  }
}
