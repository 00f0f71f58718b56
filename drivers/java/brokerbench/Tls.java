package brokerbench;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;

/** Whose certificates are believed: those in a text of PEM, or with an empty one those that Java trusts. */
final class Tls {
    private static final Map BELIEVING = new HashMap(); // by the PEM

    private Tls() {}

    /** Every connection of this process that asks for Java's own trust believes these from now on; '': no others. */
    static void use(String pem) throws Exception {
        if (!pem.isEmpty()) {
            SSLContext.setDefault(context(pem));
        }
    }

    /** One of its own for each connection, as if each were a process: none takes up what another one's handshake agreed. */
    static SSLContext context(String pem) throws Exception {
        if (pem.isEmpty()) {
            return SSLContext.getDefault();
        }
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, new TrustManager[] {believing(pem)}, null);
        return context;
    }

    /** The same for all connections: read for each, a system's authorities are most of what one keeps in memory. */
    static Believing believing(String pem) throws Exception {
        synchronized (BELIEVING) {
            Believing known = (Believing) BELIEVING.get(pem);
            if (known == null) {
                known = new Believing(manager(pem));
                BELIEVING.put(pem, known);
            }
            return known;
        }
    }

    private static X509ExtendedTrustManager manager(String pem) throws Exception {
        KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
        trusted.load(null, null);
        byte[] text = pem.getBytes(StandardCharsets.US_ASCII);
        CertificateFactory factory = CertificateFactory.getInstance("X.509");
        int number = 0;
        for (Iterator i = factory.generateCertificates(new ByteArrayInputStream(text)).iterator(); i.hasNext();) {
            trusted.setCertificateEntry("authority-" + number++, (Certificate) i.next());
        }
        TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        managers.init(trusted);
        return (X509ExtendedTrustManager) managers.getTrustManagers()[0]; // Java's only kind
    }
}
