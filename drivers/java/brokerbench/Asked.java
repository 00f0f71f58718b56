package brokerbench;

import java.util.concurrent.locks.LockSupport;
import javax.jms.JMSException;

/**
 * Something that Python asked of a client, and that takes its broker: where the connection goes meanwhile, the next one
 * is asked. Told as `inVain`, with why and whether the broker said so, where none will answer or one says no, or where
 * the client leaves meanwhile.
 */
abstract class Asked implements Runnable {
    private static final long AGAIN_AFTER_NS = 100000000L; // the library tells of a loss on a thread of its own

    private final LoadClient client;
    private final String inVain;
    private final Long request;

    Asked(LoadClient client, String inVain, long request) {
        this.client = client;
        this.inVain = inVain;
        this.request = Long.valueOf(request);
    }

    /** Do it, and tell so. */
    abstract void ask() throws Exception;

    public void run() {
        try {
            while (!asked()) {
                LockSupport.parkNanos(AGAIN_AFTER_NS);
                client.waitConnected(0L);
            }
        } catch (Throwable error) {
            boolean refused = client.asks() && Words.refused(error); // a client that has given up asks nobody
            client.hub.tell(client.id, inVain, Words.of(error), Boolean.valueOf(refused), request);
        }
    }

    /** False when the connection went before the answer, and there may be another one. */
    boolean asked() throws Exception {
        if (client.leaves()) {
            throw new JMSException("the client leaves");
        }
        try {
            ask();
            return true;
        } catch (JMSException error) {
            if (Words.refused(error) || !client.asks()) {
                throw error;
            }
            return false;
        }
    }
}
