// The plugin of Redeployed.java.
public class RedeployedPlugin implements Runnable {
  static final byte[] TABLE = new byte[200000];
  public void run() { TABLE[0]++; }
}
