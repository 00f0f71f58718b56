package brokerbench;

import java.util.Arrays;

/**
 * Tells when this JVM stood still, from the times at which a thread woke that does nothing but sleep.
 *
 * Whatever keeps that thread from waking keeps the clients' threads from reading: the garbage collector, a stopped
 * process, a machine that gives the process no core. drivers/users/stall_sampler.py has the same rule for Python.
 */
public final class Stalls {
    public static final long LEAST_STALL_NS = 3_000_000L; // drivers/users/stall_sampler.py

    private static final int FEW = 16;

    private final Hub hub;
    private final long whom;
    private final long periodNs;
    private long lastNs;
    private long[] times = new long[2 * FEW]; // grows only at a stall: the garbage of a sampler would cause stalls
    private int filled;

    /** nowNs: the thread begins to sleep. It wants to wake every `periodNs`. */
    public Stalls(Hub hub, long whom, long periodNs, long nowNs) {
        this.hub = hub;
        this.whom = whom;
        this.periodNs = periodNs;
        this.lastNs = nowNs;
    }

    /** The thread woke. `whom` is told of a stall: that there is one to take. */
    public void woke(long nowNs) {
        if (noted(nowNs)) {
            hub.tell(whom, "stalled");
        }
    }

    private synchronized boolean noted(long nowNs) {
        long dueNs = lastNs + periodNs;
        lastNs = nowNs;
        if (nowNs - dueNs <= LEAST_STALL_NS) {
            return false;
        }
        if (filled == times.length) {
            times = Arrays.copyOf(times, 2 * filled);
        }
        times[filled++] = dueNs;
        times[filled++] = nowNs;
        return true;
    }

    /** The stalls since the last call: when the thread should have woken, and when it did, one after the other. */
    public synchronized long[] take() {
        long[] taken = Arrays.copyOf(times, filled);
        filled = 0;
        return taken;
    }
}
