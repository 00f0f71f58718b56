package brokerbench;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.zip.CRC32;

/** The identity of a message, and whether its body is as it was sent: the 32 bytes of records/loads/identity.py. */
record Identity(Integrity integrity, int producer, long seq, int attempt) {
    static final int BYTES = 32;
    private static final int MAGIC = 0x6262, VERSION = 1;
    private static final int RUN_AT = 4, PRODUCER_AT = 8, ATTEMPT_AT = 12, SEQ_AT = 16;
    private static final int BODY_CRC_AT = 24, HEADER_CRC_AT = 28;
    private static final int MOST_DAMAGED_BYTES = 2; // of those that name the run
    private static final Identity UNREADABLE = new Identity(Integrity.UNREADABLE, -1, -1, -1);
    private static final Identity FOREIGN = new Identity(Integrity.FOREIGN, -1, -1, -1);

    enum Integrity { INTACT, CORRUPTED, UNREADABLE, FOREIGN }

    /** A body that Python stamped, with another number and attempt. */
    static byte[] stamped(byte[] template, long seq, int attempt) {
        byte[] body = template.clone();
        ByteBuffer header = ByteBuffer.wrap(body, 0, BYTES);
        header.putInt(ATTEMPT_AT, attempt);
        header.putLong(SEQ_AT, seq);
        header.putInt(HEADER_CRC_AT, crc(body, 0, HEADER_CRC_AT));
        return body;
    }

    /** A copy of a body of this run as another producer sends it, to be `stamped`. */
    static byte[] template(Body of, int producer) {
        byte[] body = Arrays.copyOfRange(of.data(), of.offset(), of.offset() + of.length());
        ByteBuffer header = ByteBuffer.wrap(body, 0, BYTES);
        header.putInt(PRODUCER_AT, producer);
        header.putInt(BODY_CRC_AT, crc(body, BYTES, body.length - BYTES));
        return body;
    }

    /** The identity that a body has for a consumer of that run. */
    static Identity read(Body body, int run) {
        if (body.length() < BYTES) {
            return damaged(body, run);
        }
        ByteBuffer bytes = ByteBuffer.wrap(body.data());
        int at = body.offset();
        if (crc(body.data(), at, HEADER_CRC_AT) != bytes.getInt(at + HEADER_CRC_AT)) {
            return damaged(body, run);
        }
        if (bytes.getShort(at) != MAGIC || bytes.get(at + 2) != VERSION || bytes.getInt(at + RUN_AT) != run) {
            return FOREIGN;
        }
        int found = crc(body.data(), at + BYTES, body.length() - BYTES);
        var integrity = found == bytes.getInt(at + BODY_CRC_AT) ? Integrity.INTACT : Integrity.CORRUPTED;
        long seq = bytes.getLong(at + SEQ_AT);
        return new Identity(integrity, bytes.getInt(at + PRODUCER_AT), seq, bytes.getInt(at + ATTEMPT_AT));
    }

    /** A body without a valid identity: damaged if its beginning still names this run, or else foreign. */
    private static Identity damaged(Body body, int run) {
        byte[] namesRun = ByteBuffer.allocate(PRODUCER_AT).putShort((short) MAGIC).put((byte) VERSION).put((byte) 0)
            .putInt(run).array();
        int same = 0;
        for (int at = 0; at < Math.min(namesRun.length, body.length()); at++) {
            same += body.data()[body.offset() + at] == namesRun[at] ? 1 : 0;
        }
        return same >= namesRun.length - MOST_DAMAGED_BYTES ? UNREADABLE : FOREIGN;
    }

    private static int crc(byte[] bytes, int from, int length) {
        CRC32 crc = new CRC32();
        crc.update(bytes, from, length);
        return (int) crc.getValue();
    }
}
