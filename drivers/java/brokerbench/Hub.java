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
    private static final int VALUES_AT = 2, FIELDS = 5; // of an event: receiver, kind, three values

    private final FileOutputStream bell;
    private List<Object[]> events = new ArrayList<>();
    private boolean rung;

    /** pipe: the number of the writing end, a file descriptor of this process. */
    public Hub(int pipe) throws IOException {
        this.bell = new FileOutputStream("/proc/self/fd/" + pipe);
    }

    /** Tell Python: an event, its receiver, and up to three values. */
    public void tell(long whom, String what, Object... values) {
        var event = new Object[FIELDS];
        event[0] = whom;
        event[1] = what;
        System.arraycopy(values, 0, event, VALUES_AT, values.length);
        synchronized (this) {
            events.add(event);
        }
        ring();
    }

    /** All events since the last call, each an array of five. Python reads the pipe empty first. */
    public synchronized Object[] take() {
        var taken = events;
        events = new ArrayList<>();
        rung = false;
        return taken.toArray();
    }

    /**
     * Wake Python, unless it is about to wake already: the pipe never holds more than a few bytes, so this never
     * blocks.
     */
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
}
