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
    private long wroteNs;
    private long lastDueNs;
    private boolean wroteAny;
    private long catchUpNs; // until when it may catch up

    /** The sender waited until this due time, and woke now. */
    synchronized void onWake(long dueNs, long nowNs) {
        wokeNs = nowNs;
        lateNs = Math.max(0, nowNs - dueNs);
    }

    /** The brokers held the sender back until then. */
    synchronized void released(long atNs) {
        held(Math.max(wroteNs, wokeNs), atNs);
    }

    private void held(long sinceNs, long untilNs) {
        if (untilNs <= releasedNs) {
            return;
        }
        if (sinceNs != 0) { // otherwise nothing was due yet
            catchUpNs = Math.max(catchUpNs, untilNs + Math.max(0, untilNs - sinceNs));
        }
        heldUntilNs = releasedNs = untilNs;
    }

    /** The write of this message took so long: a broker may have blocked it. */
    synchronized void onWritten(long dueNs, long beganNs, long endedNs) {
        if (endedNs - beganNs >= LONG_WRITE_NS) {
            held(beganNs, endedNs);
        } else if (dueNs < heldUntilNs) {
            releasedNs = Math.max(releasedNs, endedNs);
        }
        wroteNs = endedNs;
        lastDueNs = dueNs;
        wroteAny = true;
    }

    /** Whether the sender still sends messages that became due while the brokers held it back. */
    synchronized boolean catchesUp(long nowNs) {
        return wroteAny && lastDueNs < heldUntilNs && nowNs < catchUpNs;
    }

    /** Since when the message could have been sent. */
    synchronized long readyNs(long dueNs) {
        return Math.max(dueNs, releasedNs - (dueNs < wokeNs ? lateNs : 0));
    }
}
