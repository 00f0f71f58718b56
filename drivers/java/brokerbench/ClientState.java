package brokerbench;

import javax.jms.JMSException;

/** The connection state of a client of a load. It reports its library's events to Python. */
public abstract class ClientState {
    private static final String DOUBTED = "its certificate is not to be trusted"; // drivers/jvm/trust.py knows it by this

    final Hub hub;
    final long id;
    private String at = ""; // the address of the broker that it is connected to, or was last
    boolean loggedIn; // once the broker has accepted the first connection
    boolean connected; // told so
    private volatile long connectedNs = Long.MAX_VALUE; // since when; the end of time while it is not
    boolean closing;
    private boolean leaving; // or about to, once it has heard the answers that are under way
    private boolean over; // there will be no connection again

    ClientState(Hub hub, long id) {
        this.hub = hub;
        this.id = id;
    }

    /** No answer will come to messages sent until then. */
    abstract void interruptSenders(long atNs);

    /** Wait for a connection, at most this long (0: without limit); false if there is none then. */
    synchronized boolean waitConnected(long atMostMs) throws InterruptedException {
        long endNs = System.nanoTime() + atMostMs * 1_000_000L;
        long leftMs = atMostMs;
        while (!connected && !closing && !over && (atMostMs == 0 || leftMs > 0)) {
            wait(atMostMs == 0 ? 0 : leftMs);
            leftMs = (endNs - System.nanoTime()) / 1_000_000L;
        }
        return connected;
    }

    synchronized boolean isClosing() {
        return closing;
    }

    /** Ends the sender of a client that has given up. Otherwise each further message would be recorded as failed. */
    synchronized void requireHope() throws JMSException {
        if (over && !closing) {
            throw new JMSException("there will be no connection again");
        }
    }

    /** Whether there may be a connection again. */
    synchronized boolean stays() {
        return !closing && !over;
    }

    synchronized void leaving() {
        leaving = true;
    }

    synchronized boolean leaves() {
        return leaving || closing;
    }

    /** Whether anything is asked of a broker yet, or will be. */
    synchronized boolean asks() {
        return stays() && !leaving;
    }

    /** Since when it has the connection that it has; the end of time while it has none. */
    long connectedNs() {
        return connectedNs;
    }

    synchronized String address() {
        return at;
    }

    // The library's events.

    /** Not for a client that closes: the broker then ends the connection, and a library may take that for a loss. */
    void attempted(String address, long beganNs, String trouble, boolean refused) {
        if (isClosing()) {
            return;
        }
        // A library may not say so, or not clearly.
        String doubt = trouble.isEmpty() ? "" : RecordingTrustManager.doubt(address, beganNs);
        long[] times = {beganNs, System.nanoTime()};
        String told = doubt.isEmpty() ? trouble : DOUBTED + " (" + doubt + ")";
        hub.tell(id, refused ? "attempt refused" : "attempt", times, told, address);
    }

    /** A broker took nothing from a sender for so long. */
    void blocked(String address, long beganNs, long endedNs, String reason) {
        tell("blocked", beganNs, reason, address);
        tell("unblocked", endedNs, reason, address);
    }

    /** There is a connection. Call this and the next two only with this object's lock held. */
    void joined(String address, long atNs, String why) {
        connected = true;
        connectedNs = atNs;
        at = address;
        tell("connected", atNs, why, address);
        notifyAll();
    }

    /** There is none any more. */
    void lost(String reason) {
        connected = false;
        connectedNs = Long.MAX_VALUE;
        interruptSenders(System.nanoTime());
        tell("lost", System.nanoTime(), reason, at);
    }

    /** It was left for another one. */
    void left(long atNs, String why) {
        interruptSenders(atNs);
        tell("left", atNs, why, at);
    }

    /** The library gave up. */
    void end(String reason) {
        synchronized (this) {
            if (closing || !loggedIn) {
                return;
            }
            over = true;
            notifyAll();
        }
        hub.tell(id, "over", reason);
    }

    void tell(String event, long atNs, String reason, String address) {
        hub.tell(id, event, atNs, reason, address);
    }
}
