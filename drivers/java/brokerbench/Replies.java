package brokerbench;

import javax.jms.Destination;
import javax.jms.JMSException;
import javax.jms.Message;

/** Answers the requests of one consumer, each by a message of its own. drivers/client/request_reply.py has the same rules. */
record Replies(Sender sender) {
    /**
     * Answer a request with as many bytes, on the caller's thread. A message that asks for no reply, or is not ours, gets
     * none. The correlation id says when the request was due, and its reply is due then too.
     */
    void answer(Message request, Identity of, Body body) throws JMSException {
        Destination to = request.getJMSReplyTo();
        String dueNs = request.getJMSCorrelationID();
        if (to != null && dueNs != null && dueNs.matches("\\d{1,18}") && of.seq() >= 0) {
            sender.reply(Long.parseLong(dueNs), new Reply(to, dueNs, Identity.template(body, sender.number)));
        }
    }
}
