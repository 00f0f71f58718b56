package brokerbench;

import javax.jms.DeliveryMode;
import javax.jms.Destination;
import javax.jms.JMSException;
import org.apache.activemq.ActiveMQMessageProducer;
import org.apache.activemq.ActiveMQSession;
import org.apache.activemq.command.ActiveMQDestination;

/** Sends by ActiveMQ Classic's client. Its failover transport itself resends messages without an answer. */
final class OpenWireSender extends Sender {
    private final ActiveMQDestination to;
    private final ActiveMQMessageProducer producer;

    OpenWireSender(LoadClient client, Task task, ActiveMQSession session) throws JMSException {
        super(client, task, session);
        this.to = (ActiveMQDestination) task.to();
        this.producer = (ActiveMQMessageProducer) session.createProducer(null);
    }

    @Override
    void send(ScheduledSend send) throws JMSException {
        ScheduledMessage message = new ScheduledMessage(send);
        int mode = durable ? DeliveryMode.PERSISTENT : DeliveryMode.NON_PERSISTENT;
        Destination own = send.repliesTo();
        producer.send(own == null ? to : own, message, mode, headers.priority(), headers.timeToLiveMs(), each ? message : null);
    }

    /** The transport would have sent it again: it has given up. */
    @Override
    void unanswered(ScheduledSend send) {
        send.giveUp();
    }
}
