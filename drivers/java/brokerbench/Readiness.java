package brokerbench;

/**
 * Since when a sender could have sent a message: due, and not held back by the brokers. The rest of the message's delay
 * is the load generator's own. drivers/client/readiness.py has the same rule, and the reasons. Any thread may ask.
 */
final class Readiness {
    static final long LONG_WRITE_NS = 100_000_000L;

    private long heldUntilNs;
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
        if (atNs > releasedNs) {
            heldUntilNs = releasedNs = atNs;
        }
    }

    /** The write of this message took so long: a broker may have blocked it. */
    synchronized void wrote(long dueNs, long beganNs, long endedNs) {
        if (endedNs - beganNs >= LONG_WRITE_NS) {
            released(endedNs);
        } else if (dueNs < heldUntilNs) {
            releasedNs = Math.max(releasedNs, endedNs);
        }
    }

    /** Since when the message could have been sent. */
    synchronized long readyNs(long dueNs) {
        return Math.max(dueNs, releasedNs - (dueNs < wokeNs ? lateNs : 0));
    }
}
