package brokerbench;

/** The load loop's own rule, for tests in Python. */
public final class JavaReadiness {
    private final Readiness readiness = new Readiness();

    public void onWake(long dueNs, long nowNs) {
        readiness.onWake(dueNs, nowNs);
    }

    public void released(long atNs) {
        readiness.released(atNs);
    }

    public void onWritten(long dueNs, long beganNs, long endedNs) {
        readiness.onWritten(dueNs, beganNs, endedNs);
    }

    public long readyNs(long dueNs) {
        return readiness.readyNs(dueNs);
    }

    public boolean catchesUp(long nowNs) {
        return readiness.catchesUp(nowNs);
    }
}
