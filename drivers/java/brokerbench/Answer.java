package brokerbench;

import javax.jms.JMSException;

/** Hears what becomes of a send, once: the broker's answer, or that there will be none. */
interface Answer {
    void acknowledged();

    void failed(JMSException error);
}
