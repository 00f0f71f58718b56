package brokerbench;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

/**
 * Waits for due times at a steady rate and does nothing else, until its standard input ends. For each due time it
 * writes two numbers to a file: the due time and the time when the wait ended (ns, on the clock of the load generators).
 *
 * <p>Arguments: due times per second; the file.
 */
public final class BareLoop {
    private static final int BUFFER_BYTES = 1 << 20;
    private static volatile boolean over;

    public static void main(String[] arguments) throws IOException {
        double periodNs = 1e9 / Double.parseDouble(arguments[0]);
        Thread listener = new Thread(BareLoop::listen, "listener");
        listener.setDaemon(true);
        listener.start();
        try (DataOutputStream file = new DataOutputStream(
                new BufferedOutputStream(Files.newOutputStream(Path.of(arguments[1])), BUFFER_BYTES))) {
            long beganNs = System.nanoTime();
            for (long slot = 1;; slot++) {
                long dueNs = beganNs + Math.round(slot * periodNs);
                if (over && dueNs > System.nanoTime()) {
                    return; // all times that were due are written, even late ones
                }
                long wokeNs = waitUntil(dueNs);
                file.writeLong(dueNs);
                file.writeLong(wokeNs);
            }
        }
    }

    private static long waitUntil(long dueNs) {
        long nowNs = System.nanoTime();
        while (nowNs < dueNs) {
            LockSupport.parkNanos(dueNs - nowNs);
            nowNs = System.nanoTime();
        }
        return nowNs;
    }

    private static void listen() {
        try {
            while (System.in.read() >= 0) {
                continue; // ignore the input
            }
        } catch (IOException gone) {
            // the parent process has ended
        }
        over = true;
    }

    private BareLoop() {}
}
