package brokerbench;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import javax.jms.Connection;
import javax.jms.JMSException;
import javax.jms.Session;

/**
 * A client that is connected, but not when something is asked of it: its connection goes so many times at that. After
 * fewer than none it is answered only once the client has left.
 */
public final class Fleeting extends LoadClient {
    private static final long ID = 4243L; // of no other client in the process
    private int losses;
    public volatile int asked;
    public volatile int written;
    private final CountDownLatch left = new CountDownLatch(1);

    public Fleeting(Hub hub, Names names, SendRows sends, ReceiptRows receipts, int losses) {
        super(hub, ID, names, sends, receipts);
        this.losses = losses;
        this.loggedIn = true;
        this.connected = true;
    }

    /** The library has given up. */
    public void give() {
        end("there is nobody");
    }

    @Override
    Connection made(Login login) throws Exception {
        throw new Exception("it is connected already");
    }

    @Override
    void leave() {
        super.leave();
        left.countDown();
    }

    @Override
    Session session(boolean durable) throws JMSException {
        asked++;
        if (losses < 0) {
            waitUntilLeft();
        }
        if (losses == 0) {
            return null;
        }
        losses--;
        JMSException error = new JMSException("the connection is gone");
        error.initCause(new IOException("reset"));
        throw error;
    }

    private void waitUntilLeft() {
        try {
            left.await();
        } catch (InterruptedException unwanted) {
            throw new RuntimeException(unwanted);
        }
    }

    @Override
    Sender sender(Session session, Task task) {
        return new Mute(this, task);
    }

    @Override
    int broker() {
        return 0;
    }

    @Override
    void tellConnected(long atNs) {}

    @Override
    public void onException(JMSException error) {}

    /** Nobody answers what it sends. */
    static final class Mute extends Sender {
        private final LoadClient client;

        Mute(LoadClient client, Task task) {
            super(client, task, null);
            this.client = client;
        }

        @Override
        void send(ScheduledSend send) {
            send.writing("first.example:1");
            ((Fleeting) client).written++;
        }

        @Override
        void unanswered(ScheduledSend send) {}
    }
}
