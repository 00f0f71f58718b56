package brokerbench;

import java.io.FileOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * How Java's threads reach Python: events in a list, and one byte into a pipe that says there are some.
 *
 * No Java thread ever runs Python, and Python never waits inside Java: its event loop watches the pipe.
 */
public final class Hub {
    private final FileOutputStream bell;
    private List events = new ArrayList();
    private boolean rung;

    /** pipe: the number of the writing end, a file descriptor of this process. */
    public Hub(int pipe) throws IOException {
        this.bell = new FileOutputStream("/proc/self/fd/" + pipe);
    }

    /** Tell Python: what happened to whom, and up to three values. */
    public void tell(long whom, String what, Object first, Object second, Object third) {
        synchronized (this) {
            events.add(new Object[] {Long.valueOf(whom), what, first, second, third});
        }
        ring();
    }

    public void tell(long whom, String what) {
        tell(whom, what, null, null, null);
    }

    /** All events since the last call, each an array of five. Python reads the pipe empty first. */
    public Object[] take() {
        List taken;
        synchronized (this) {
            taken = events;
            events = new ArrayList();
            rung = false;
        }
        return taken.toArray();
    }

    /** Wake Python, unless it is to wake already: the pipe never holds more than a few bytes, so this never blocks. */
    public synchronized void ring() {
        if (rung) {
            return;
        }
        rung = true;
        try {
            bell.write(1);
        } catch (IOException gone) {
            throw new IllegalStateException("the pipe to Python is closed", gone);
        }
    }

    public void close() throws IOException {
        bell.close();
    }

    /** System.nanoTime(), for the test that it is the clock of Python's time.perf_counter_ns(). */
    public static long now() {
        return System.nanoTime();
    }
}
