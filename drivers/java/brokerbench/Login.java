package brokerbench;

/**
 * The address, user and trusted certificates of a connection. Empty client id: none. Empty PEM: Java's own
 * certificates.
 */
record Login(String uri, String user, String password, String clientId, String pem) {
    /** Without the password: it may end up in an error. */
    @Override
    public String toString() {
        return user + " at " + uri;
    }
}
