package brokerbench;

/** A thread that has Java collect its garbage all the time. */
public final class Collects extends Thread {
    @Override
    public void run() {
        for (;;) {
            System.gc();
        }
    }
}
