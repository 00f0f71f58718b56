package brokerbench;

/** Bytes where they lie. */
final class Body {
    final byte[] data;
    final int offset, length;

    Body(byte[] data, int offset, int length) {
        this.data = data;
        this.offset = offset;
        this.length = length;
    }

    Body(byte[] data) {
        this(data, 0, data.length);
    }

    byte[] copy() {
        byte[] bytes = new byte[length];
        System.arraycopy(data, offset, bytes, 0, length);
        return bytes;
    }
}
