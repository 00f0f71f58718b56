package brokerbench;

/** The load loop's own rule, for tests in Python. */
public final class JavaReadiness {
    private final Readiness readiness = new Readiness();

    public void woke(long dueNs, long nowNs) {
        readiness.woke(dueNs, nowNs);
    }

    public void released(long atNs) {
        readiness.released(atNs);
    }

    public void wrote(long dueNs, long beganNs, long endedNs) {
        readiness.wrote(dueNs, beganNs, endedNs);
    }

    public long readyNs(long dueNs) {
        return readiness.readyNs(dueNs);
    }

    public boolean catchesUp(long nowNs) {
        return readiness.catchesUp(nowNs);
    }
}
