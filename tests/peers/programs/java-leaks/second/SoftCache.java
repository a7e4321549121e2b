// A cache of soft references, which the collector empties only when memory is short.
// truth: images | SoftCache$Image | 9000000
import java.lang.ref.*;
import java.util.*;

public class SoftCache {
  static final class Image {
    final int[] pixels = new int[2250];
  }

  static final class Gallery {
    final Map<String, SoftReference<Image>> images = new HashMap<>();
  }

  static final Gallery GALLERY = new Gallery();

  public static void main(String[] args) {
    Ordinary.work();
    for (int i = 0; i < 1000; i++) GALLERY.images.put("image " + i, new SoftReference<>(new Image()));
    Ordinary.ready();
  }
}
