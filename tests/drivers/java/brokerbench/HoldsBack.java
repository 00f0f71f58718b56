package brokerbench;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import javax.jms.Connection;
import javax.jms.JMSException;
import javax.jms.Session;

/** A client whose broker holds its sender back when a test says so, and lets it go on when the test says so. */
public final class HoldsBack extends LoadClient {
    private static final long ID = 4244L; // of no other client in the process
    private static final String ADDRESS = "first.example:1";
    public volatile boolean answers = true;
    public volatile long nextWriteMs; // how long the next write is blocked
    public Session session; // of transactions
    private final Queue<ScheduledSend> unanswered = new ConcurrentLinkedQueue<>();

    public HoldsBack(Hub hub, Names names, SendRows sends, ReceiptRows receipts) {
        super(hub, ID, names, sends, receipts);
        this.loggedIn = true;
        connect(1L);
    }

    public synchronized void connect(long atNs) {
        joined(ADDRESS, atNs, "");
    }

    public synchronized void disconnect() {
        lost("a test wants it");
    }

    /** What was not answered yet is acknowledged, and all that follows. */
    public void answer() {
        answers = true;
        for (ScheduledSend send = unanswered.poll(); send != null; send = unanswered.poll()) {
            send.acknowledged();
        }
    }

    @Override
    Connection made(Login login) throws Exception {
        throw new Exception("it is connected already");
    }

    @Override
    Session session(boolean durable) {
        return null;
    }

    @Override
    Session transacted() {
        return session;
    }

    @Override
    Sender sender(Session session, Task task) {
        return new Obedient(this, task, session);
    }

    @Override
    int broker() {
        return 0;
    }

    @Override
    void tellConnected(long atNs) {}

    @Override
    public void onException(JMSException error) {}

    /** Writes once there is a connection. */
    private static final class Obedient extends Sender {
        private final HoldsBack client;

        Obedient(HoldsBack client, Task task, Session session) {
            super(client, task, session);
            this.client = client;
        }

        @Override
        void send(ScheduledSend send) throws JMSException {
            try {
                client.waitConnected(0);
                send.writing(ADDRESS);
                Thread.sleep(client.nextWriteMs);
            } catch (InterruptedException unwanted) {
                throw new JMSException(unwanted.toString());
            }
            client.nextWriteMs = 0;
            if (client.answers && each) {
                send.acknowledged();
            } else if (each) {
                client.unanswered.add(send);
            }
        }

        @Override
        void unanswered(ScheduledSend send) {}
    }
}
