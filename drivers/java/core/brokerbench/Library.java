package brokerbench;

import java.io.IOException;
import javax.jms.CompletionListener;
import javax.jms.Connection;
import javax.jms.Destination;
import javax.jms.IllegalStateException;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.Session;
import org.apache.activemq.artemis.api.core.ActiveMQException;
import org.apache.activemq.artemis.api.core.client.ClientSessionFactory;
import org.apache.activemq.artemis.core.client.impl.ClientSessionFactoryInternal;
import org.apache.activemq.artemis.jms.client.ActiveMQConnection;
import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;
import org.apache.activemq.artemis.jms.client.ActiveMQDestination;
import org.apache.activemq.artemis.spi.core.protocol.RemotingConnection;

/** Hides the differences between the brokers' client libraries behind common names: Artemis's own, Core. */
final class Library {
    static final int OF_A_LOAD = Session.AUTO_ACKNOWLEDGE; // when the listener is done; one by one costs a commit each
    static final int ANSWERED_BYTES = 1 << 20; // sent ahead of the answers; without, each durable send waits for its own

    private Library() {}

    static ActiveMQConnection connected(ActiveMQConnectionFactory factory, Login login) throws JMSException {
        try {
            Connection connection = factory.createConnection(login.user(), login.password());
            if (!login.clientId().isEmpty()) {
                named(connection, login.clientId());
            }
            return (ActiveMQConnection) connection;
        } catch (JMSException error) {
            factory.close();
            throw error;
        }
    }

    private static void named(Connection connection, String clientId) throws JMSException {
        try {
            connection.setClientID(clientId);
        } catch (JMSException error) {
            connection.close();
            throw error;
        }
    }

    /** The connection is gone at once, without a goodbye. */
    static void cut(Connection connection) throws Exception {
        ClientSessionFactory factory = ((ActiveMQConnection) connection).getSessionFactory();
        RemotingConnection wire = ((ClientSessionFactoryInternal) factory).getConnection();
        if (wire != null) {
            wire.getTransportConnection().forceClose();
        }
        factory.getServerLocator().close();
    }

    /** Polite, and the threads that waited for the broker's word end too. */
    static void leave(Connection connection) throws JMSException {
        ClientSessionFactory factory = ((ActiveMQConnection) connection).getSessionFactory();
        connection.close();
        factory.getServerLocator().close();
    }

    /** How many messages the consumers that are made next may hold: Core counts bytes, so the listener waits instead. */
    static void expect(Connection connection, int prefetch) {}

    static Destination destination(boolean topic, String name) {
        return topic ? ActiveMQDestination.createTopic(name) : ActiveMQDestination.createQueue(name);
    }

    /** The library's answer, for the waiting caller. */
    record Told(Answer answer) implements CompletionListener {
        @Override
        public void onCompletion(Message sent) {
            answer.acknowledged();
        }

        @Override
        public void onException(Message unsent, Exception error) {
            answer.failed(Errors.asJms(error));
        }
    }

    static Body body(Message message) throws JMSException {
        return Body.of(message);
    }

    /** A message of a load is on record: the client acknowledges it when the listener returns. */
    static void recorded(Message message) {}

    /** It is not: a listener that returns from it would have it acknowledged. */
    static void unrecorded(JMSException error) {
        throw new RuntimeException(error);
    }

    /**
     * Whether this error means that the connection broke, without an answer of the broker. That the outcome of a
     * transaction is unknown is the library's own word after a failover.
     */
    static boolean broke(Throwable cause) {
        if (!(cause instanceof ActiveMQException told)) {
            return cause instanceof IOException || cause instanceof IllegalStateException; // closed, as it was lost
        }
        return switch (told.getType()) {
            case NOT_CONNECTED, CONNECTION_TIMEDOUT, DISCONNECTED, REMOTE_DISCONNECT, UNBLOCKED, OBJECT_CLOSED,
                TRANSACTION_OUTCOME_UNKNOWN -> true;
            default -> false;
        };
    }
}
