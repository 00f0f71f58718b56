package brokerbench;

import java.io.IOException;
import javax.jms.Connection;
import javax.jms.Destination;
import javax.jms.JMSException;
import javax.jms.Message;
import org.apache.activemq.ActiveMQConnection;
import org.apache.activemq.ActiveMQSession;
import org.apache.activemq.AsyncCallback;
import org.apache.activemq.command.ActiveMQBytesMessage;
import org.apache.activemq.command.ActiveMQDestination;
import org.apache.activemq.util.ByteSequence;

/** Hides the differences between the brokers' client libraries behind common names: ActiveMQ Classic's, OpenWire. */
final class Library {
    static final int OF_A_LOAD = ActiveMQSession.INDIVIDUAL_ACKNOWLEDGE;

    private Library() {}

    /** The connection is gone at once, without a goodbye. */
    static void cut(Connection connection) throws Exception {
        ((ActiveMQConnection) connection).getTransport().stop();
    }

    static void leave(Connection connection) throws JMSException {
        connection.close();
    }

    /** How many messages the consumers that are made next may hold. */
    static void expect(Connection connection, int prefetch) {
        ((ActiveMQConnection) connection).getPrefetchPolicy().setAll(prefetch);
    }

    static Destination destination(boolean topic, String name) {
        return ActiveMQDestination.createDestination(
            name, topic ? ActiveMQDestination.TOPIC_TYPE : ActiveMQDestination.QUEUE_TYPE);
    }

    /** The library's answer, for the waiting caller. */
    record Told(Answer answer) implements AsyncCallback {
        @Override
        public void onSuccess() {
            answer.acknowledged();
        }

        @Override
        public void onException(JMSException error) {
            answer.failed(error);
        }
    }

    /** The message's body, without a copy if possible. */
    static Body body(Message message) throws JMSException {
        if (message instanceof ActiveMQBytesMessage bytes && !bytes.isCompressed()) {
            ByteSequence content = bytes.getContent();
            return content == null ? new Body(new byte[0]) : new Body(content.data, content.offset, content.length);
        }
        return Body.of(message);
    }

    /** A message of a load is on record: it need not come again. */
    static void recorded(Message message) throws JMSException {
        message.acknowledge();
    }

    /** It is not: nobody acknowledges it. */
    static void unrecorded(JMSException error) {}

    /** Whether this error means that the connection broke, without an answer of the broker. */
    static boolean broke(Throwable cause) {
        return cause instanceof IOException;
    }
}
