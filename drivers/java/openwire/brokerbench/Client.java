package brokerbench;

import java.io.IOException;
import javax.jms.Connection;
import javax.jms.JMSException;
import javax.jms.Session;
import org.apache.activemq.ActiveMQConnection;
import org.apache.activemq.ActiveMQConnectionFactory;
import org.apache.activemq.ActiveMQSession;
import org.apache.activemq.broker.SslContext;
import org.apache.activemq.transport.Transport;
import org.apache.activemq.transport.TransportListener;
import org.apache.activemq.transport.failover.FailoverTransport;

/** A client of a load by OpenWire: ActiveMQ Classic's client, with its failover transport. */
public final class Client extends LoadClient implements TransportListener {
    static {
        TcpWatch.install();
    }

    private volatile ActiveMQConnection connection;
    private Wire wire; // the one that the failover transport uses, or used last
    private volatile Wire heard; // the one by which the last message came
    private volatile int broker;
    private volatile Wire started; // the last one that reached a broker
    private Wire early; // one that the failover transport used before the client was logged in
    private long earlyNs;

    public Client(Hub hub, long id, Names names, SendRows sends, ReceiptRows receipts) {
        super(hub, id, names, sends, receipts);
        this.broker = names.nobody;
    }

    Connection made(String uri, String user, String password, String clientId, String pem) throws Exception {
        ActiveMQConnectionFactory factory = new ActiveMQConnectionFactory(uri);
        factory.setUserName(user);
        factory.setPassword(password);
        factory.setCopyMessageOnSend(false); // a message is sent once, and knows itself by what it is
        factory.setTransportListener(this);
        if (!clientId.isEmpty()) {
            factory.setClientID(clientId);
        }
        SslContext.setCurrentSslContext(new Watch(this, pem));
        try {
            connection = (ActiveMQConnection) factory.createConnection();
        } finally {
            SslContext.setCurrentSslContext(null);
        }
        return connection;
    }

    Sender sender(Session session, Task task) throws JMSException {
        return new OpenWireSender(this, task, (ActiveMQSession) session);
    }

    int broker() {
        return broker;
    }

    /** A message comes by that connection. */
    void hears(Wire by) {
        if (heard != by) {
            heard = by;
            broker = names.broker(by.address);
        }
    }

    void attempted(Wire made, long beganNs, String trouble) {
        if (trouble.isEmpty()) {
            started = made;
        }
        attempted(made.address, beganNs, trouble);
    }

    // What the failover transport tells.

    public void transportResumed() {
        synchronized (this) {
            if (loggedIn && !closing) {
                tellConnected(System.nanoTime());
            } else if (!closing) {
                resumedEarly(connection == null ? started : current(), System.nanoTime());
            }
        }
    }

    /** Before the client knows that it is logged in: a broker that told it to move had accepted it. */
    private void resumedEarly(Wire by, long atNs) {
        if (!connected && early != null && early != by && early.told()) {
            wire = early;
            joined(early.address, earlyNs, "");
        }
        if (connected) {
            tellConnected(atNs);
        }
        early = by;
        earlyNs = atNs;
    }

    public void transportInterupted() {
        synchronized (this) {
            if (connected && !closing) {
                lost(wire.trouble().isEmpty() ? "left for another broker" : wire.trouble());
            }
        }
    }

    public void onCommand(Object command) {}

    public void onException(IOException error) {}

    /** The failover transport gave up, or the broker ended the connection for good. */
    public void onException(JMSException error) {
        if (!Words.refused(error)) {
            end(Words.of(error));
        }
    }

    void tellConnected(long atNs) {
        Wire current = current();
        if (current == null || connected && current == wire) {
            return;
        }
        String why = connected ? leftFor() : "";
        wire = current;
        joined(wire.address, atNs, why);
    }

    /** The failover transport left a working connection, which it does not tell: why. */
    private String leftFor() {
        String why = wire.told() ? "broker" : "priority";
        left(wire.leftNs(), why);
        return why;
    }

    /** Which of the connections the failover transport uses: it may hold others in reserve. */
    Wire current() {
        FailoverTransport failover = (FailoverTransport) connection.getTransport().narrow(FailoverTransport.class);
        Transport used = failover == null ? null : failover.getConnectedTransport();
        return used instanceof Wire ? (Wire) used : null;
    }
}
