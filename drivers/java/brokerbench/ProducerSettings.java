package brokerbench;

/**
 * How a sender sends: Python's `ProducerSettings` (drivers/client/contract.py), as far as the JVM needs it.
 *
 * `transactionSize`: messages that arrive together; 0: each by itself. `template`: the body, before it is stamped.
 */
public record ProducerSettings(
        boolean durable, boolean resendInDoubt, int inFlight, int transactionSize, byte[] template,
        MessageHeaders messages) {
    /** Each reply has its own body. */
    static final ProducerSettings OF_REPLIES =
        new ProducerSettings(true, true, Integer.MAX_VALUE, 0, new byte[0], MessageHeaders.PLAIN);
}
