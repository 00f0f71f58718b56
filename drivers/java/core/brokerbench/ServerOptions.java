package brokerbench;

import org.apache.activemq.artemis.core.client.impl.ServerLocatorImpl;
import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;

/** Checks the options in the URI of one broker. The library would silently ignore unknown ones. */
public final class ServerOptions {
    private ServerOptions() {}

    /** The problem of the options; '' if the connector accepts them. Nothing is connected. */
    public static String misread(String server) {
        try (var made = new ActiveMQConnectionFactory("(" + server + ")")) {
            var locator = (ServerLocatorImpl) made.getServerLocator();
            var unknown = locator.getStaticTransportConfigurations()[0].getExtraParams().keySet();
            return unknown.isEmpty() ? "" : "its connector knows no " + String.join(", ", unknown);
        }
    }
}
