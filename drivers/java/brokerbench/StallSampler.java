package brokerbench;

import java.util.concurrent.locks.LockSupport;

/** A thread that only sleeps, so that the JVM's stalls can be told from how late it wakes. */
public final class StallSampler implements Runnable {
    /** As in drivers/users/stall_sampler.py. A period of 1 ms costs 1.7 % of a core, one of 5 ms 0.6 %. */
    public static final long PERIOD_NS = 2_000_000L;

    private final Stalls stalls;
    private volatile boolean stopped;

    /** Begins at once. `whom` is told of each stall. */
    public StallSampler(Hub hub, long whom) {
        this.stalls = new Stalls(hub, whom, PERIOD_NS, System.nanoTime());
        Thread thread = new Thread(this, "stall-sampler");
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void run() {
        while (!stopped) {
            LockSupport.parkNanos(PERIOD_NS);
            stalls.woke(System.nanoTime());
        }
    }

    /** Ends the thread. A stall that has ended just now can be taken, though the thread has not woken yet. */
    public void stop() {
        stopped = true;
        stalls.woke(System.nanoTime());
    }

    /** See `Stalls.take`. */
    public long[] take() {
        return stalls.take();
    }
}
