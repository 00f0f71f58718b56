package brokerbench;

/**
 * Since when a sender could have sent a message: due, and not held back by the brokers. The rest of the message's delay
 * is the load generator's own. drivers/client/readiness.py has the same rule, and the reasons. Any thread may ask.
 */
final class Readiness {
    static final long LONG_WRITE_NS = 100_000_000L;

    private long releasedNs;
    private long wokeNs;
    private long lateNs;

    /** The sender waited until this due time, and woke now. */
    synchronized void woke(long dueNs, long nowNs) {
        wokeNs = nowNs;
        lateNs = Math.max(0, nowNs - dueNs);
    }

    /** The brokers held the sender back until then. */
    synchronized void released(long atNs) {
        releasedNs = Math.max(releasedNs, atNs);
    }

    /** A write took this long: a broker may have blocked it. */
    void wrote(long beganNs, long endedNs) {
        if (endedNs - beganNs >= LONG_WRITE_NS) {
            released(endedNs);
        }
    }

    /** Since when the message could have been sent. */
    synchronized long readyNs(long dueNs) {
        return Math.max(dueNs, releasedNs - (dueNs < wokeNs ? lateNs : 0));
    }
}
