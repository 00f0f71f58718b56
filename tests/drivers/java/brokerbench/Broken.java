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
        return new Receiver(this, new ReceiptRows(null, 1), names, 1, 2, 3, 4);
    }

    Connection made(String uri, String user, String password, String clientId, String pem) {
        throw lacking();
    }

    Session session(boolean durable) {
        throw lacking();
    }

    Sender sender(Session session, Task task) {
        throw lacking();
    }

    int broker() {
        throw lacking();
    }

    void tellConnected(long atNs) {}

    public void onException(JMSException error) {}

    private static NoClassDefFoundError lacking() {
        return new NoClassDefFoundError("org/example/Lacking");
    }
}
