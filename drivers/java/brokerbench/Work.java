package brokerbench;

import java.util.Random;
import java.util.concurrent.locks.LockSupport;

/** How long a consumer takes for a message: from `lowMs` to `highMs`, or exponentially distributed about both. */
record Work(double lowMs, double highMs, boolean exponential, Random random) {
    private static final double NS_PER_MS = 1e6;

    /** Holds up the listener, and with it the consumer's session, for the next message's time. */
    void pause() {
        long untilNs = System.nanoTime() + drawNs();
        for (long left = untilNs - System.nanoTime(); left > 0; left = untilNs - System.nanoTime()) {
            if (Thread.interrupted()) {
                Thread.currentThread().interrupt(); // the session ends
                return;
            }
            LockSupport.parkNanos(left);
        }
    }

    private long drawNs() {
        double part = random.nextDouble();
        double ms = exponential ? -Math.log(1 - part) * lowMs : lowMs + part * (highMs - lowMs);
        return Math.round(ms * NS_PER_MS);
    }
}
