package brokerbench;

import javax.jms.Destination;

/** What a sender is to do, but for the times: which messages, to where, in whose name. */
final class Task {
    final Destination to;
    final int number, destination, inFlight;
    final int transaction; // messages that arrive together; 0: each by itself
    final boolean durable, resend;
    final byte[] template;

    Task(
            Destination to, int number, int destination, boolean durable, boolean resend, int inFlight, int transaction,
            byte[] template) {
        this.to = to;
        this.number = number;
        this.destination = destination;
        this.durable = durable;
        this.resend = resend;
        this.inFlight = inFlight;
        this.transaction = transaction;
        this.template = template;
    }
}
