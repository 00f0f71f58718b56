package brokerbench;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.HashMap;
import java.util.Map;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;

/** The certificates to trust: those in a text of PEM, or with an empty one those that Java trusts. */
final class Tls {
    private static final Map<String, RecordingTrustManager> MANAGERS = new HashMap<>(); // by the PEM

    private Tls() {}

    /** Every connection of this process that asks for Java's own trust gets this one from now on; '': no other. */
    static void use(String pem) throws Exception {
        if (!pem.isEmpty()) {
            SSLContext.setDefault(context(pem));
        }
    }

    /** A new context for each connection, as if each were a process: no handshake resumes the session of another. */
    static SSLContext context(String pem) throws Exception {
        if (pem.isEmpty()) {
            return SSLContext.getDefault();
        }
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, new TrustManager[] {manager(pem)}, null);
        return context;
    }

    /**
     * Shared by all connections: if each read the system's authorities, they would take most of a connection's memory.
     */
    static RecordingTrustManager manager(String pem) throws Exception {
        synchronized (MANAGERS) {
            RecordingTrustManager known = MANAGERS.get(pem);
            if (known == null) {
                known = new RecordingTrustManager(javasOwn(pem));
                MANAGERS.put(pem, known);
            }
            return known;
        }
    }

    private static X509ExtendedTrustManager javasOwn(String pem) throws Exception {
        TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        managers.init(authorities(pem));
        return (X509ExtendedTrustManager) managers.getTrustManagers()[0]; // Java's only kind
    }

    private static KeyStore authorities(String pem) throws Exception {
        KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
        trusted.load(null, null);
        var text = new ByteArrayInputStream(pem.getBytes(StandardCharsets.US_ASCII));
        int number = 0;
        for (var each : CertificateFactory.getInstance("X.509").generateCertificates(text)) {
            trusted.setCertificateEntry("authority-" + number++, each);
        }
        return trusted;
    }
}
