package brokerbench;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Rows of one event table on their way to Python, in the very layout in which its recorder packs them.
 *
 * The clients' threads fill one buffer while Python reads the other; taking exchanges the two. If Python is late and a
 * buffer is full, the recording thread waits. Thus no row is dropped, and a message is not acknowledged before its
 * receipt is recorded.
 */
public abstract class Rows {
    public static final long NO_TIME = Long.MIN_VALUE; // a packed null
    public static final int NO_NUMBER = Integer.MIN_VALUE;

    private final ByteBuffer[] buffers = new ByteBuffer[2];
    private final int rowBytes;
    private final Hub hub;
    private int filling;

    protected Rows(Hub hub, int rowBytes, int capacity) {
        this.hub = hub;
        this.rowBytes = rowBytes;
        this.buffers[0] = empty(rowBytes * capacity);
        this.buffers[1] = empty(rowBytes * capacity);
    }

    private static ByteBuffer empty(int bytes) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(bytes);
        buffer.order(ByteOrder.LITTLE_ENDIAN);
        return buffer;
    }

    /** The two buffers, for Python to look into. */
    public ByteBuffer buffer(int which) {
        return buffers[which];
    }

    /** Exchange the buffers. Returns 2 * bytes + which: that buffer holds this many bytes until the next call. */
    public synchronized long take() {
        int full = filling;
        int bytes = buffers[full].position();
        filling = 1 - full;
        buffers[filling].clear();
        notifyAll();
        return 2L * bytes + full;
    }

    /** Where to write the next row; to be called, and used, while holding this object's lock. */
    protected final ByteBuffer next() {
        while (buffers[filling].remaining() < rowBytes) {
            hub.ring();
            waitForPython();
        }
        return buffers[filling];
    }

    private void waitForPython() {
        try {
            wait();
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException("interrupted while a full buffer of rows waited to be read", interrupted);
        }
    }
}
