package brokerbench;

import javax.jms.JMSException;

/** What a durable send hears, once: the broker's answer, or that there will be none. */
interface Answer {
    void acknowledged();

    void failed(JMSException error);
}
