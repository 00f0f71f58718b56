package brokerbench;

import javax.jms.Destination;

/**
 * The task of a sender, except for the times: the messages, the destination and the producer.
 *
 * `transaction`: messages that arrive together; 0: each by itself.
 */
record Task(
        Destination to, int number, int destination, boolean durable, boolean resend, int inFlight, int transaction,
        byte[] template, MessageHeaders headers) {}
