package brokerbench;

import java.util.concurrent.locks.LockSupport;
import javax.jms.JMSException;

/**
 * Something that Python asked of a client and that takes its broker. If the connection drops meanwhile, the next one is
 * asked. `inVain` tells why nothing came of it and whether the broker said so: it refused, there will be no connection
 * again, or the client leaves.
 */
record BrokerRequest(LoadClient client, String inVain, long number, Question question) implements Runnable {
    private static final long AGAIN_AFTER_NS = 100_000_000L; // the library tells of a loss on a thread of its own

    /** Asks the broker, and tells its answer. */
    @FunctionalInterface
    interface Question {
        void ask() throws Exception;
    }

    @Override
    public void run() {
        try {
            while (!answered()) {
                LockSupport.parkNanos(AGAIN_AFTER_NS);
                client.waitConnected(0);
            }
        } catch (Throwable error) {
            boolean refused = client.asks() && Errors.refused(error); // a client that has given up sends no requests
            client.hub.tell(client.id, inVain, Errors.of(error), refused, number);
        }
    }

    /** False when the connection dropped before the answer, and there may be another one. */
    private boolean answered() throws Exception {
        if (client.leaves()) {
            throw new JMSException("the client leaves");
        }
        try {
            question.ask();
            return true;
        } catch (JMSException error) {
            if (Errors.refused(error) || !client.asks()) {
                throw error;
            }
            return false;
        }
    }
}
