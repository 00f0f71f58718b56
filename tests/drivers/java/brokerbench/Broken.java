package brokerbench;

import javax.jms.Connection;
import javax.jms.JMSException;
import javax.jms.Session;

/** A client whose library turns out to lack a class, whatever it is asked for. */
public final class Broken extends LoadClient {
    private static final long ID = 4242L; // of no other client in the process

    public Broken(Hub hub, Names names, SendRows sends, ReceiptRows receipts) {
        super(hub, ID, names, sends, receipts);
    }

    /** What takes one consumer's messages, of a client that is connected. */
    public Receiver receiver() {
        loggedIn = true;
        return new Receiver(this, new ReceiptRows(null, 1), names, 1, 2, 3, 4, null, null);
    }

    @Override
    Connection made(Login login) {
        throw lacking();
    }

    @Override
    Session session(boolean durable) {
        throw lacking();
    }

    @Override
    Sender sender(Session session, Task task) {
        throw lacking();
    }

    @Override
    int broker() {
        throw lacking();
    }

    @Override
    void tellConnected(long atNs) {}

    @Override
    public void onException(JMSException error) {}

    private static NoClassDefFoundError lacking() {
        return new NoClassDefFoundError("org/example/Lacking");
    }
}
