// Counts durable sends that a broker confirmed before it had synced its journal: without a mirror, and with one.
//
//     java -cp "$ARTEMIS_HOME/lib/*" MirrorUnsynced.java
//
// Artemis 2.44.0 without a mirror: of 100 confirmed sends, 100 returned after a sync and 0 without one; 100 syncs
// Artemis 2.44.0 with a mirror: of 100 confirmed sends, 0 returned after a sync and 100 without one; 0 syncs
// Artemis 2.40.0 without a mirror: of 100 confirmed sends, 100 returned after a sync and 0 without one; 100 syncs
// Artemis 2.40.0 with a mirror: of 100 confirmed sends, 100 returned after a sync and 0 without one; 104 syncs
//
// Needs Java 17. The broker is embedded and has an NIO journal, which syncs every write by default. The target of the mirror does
// not exist, so messages wait on the mirror's own queue. A send blocks until the broker has confirmed the message.
// JDK Flight Recorder records sends and syncs with one clock (jdk.FileForce is FileChannel.force, which calls fdatasync).
// A message is safe from a power failure once a sync that began after the message was written has ended.

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import jdk.jfr.Event;
import jdk.jfr.Name;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.apache.activemq.artemis.api.core.QueueConfiguration;
import org.apache.activemq.artemis.api.core.RoutingType;
import org.apache.activemq.artemis.api.core.client.ActiveMQClient;
import org.apache.activemq.artemis.api.core.client.ClientMessage;
import org.apache.activemq.artemis.api.core.client.ClientSession;
import org.apache.activemq.artemis.api.core.client.ClientSessionFactory;
import org.apache.activemq.artemis.api.core.client.ServerLocator;
import org.apache.activemq.artemis.core.config.amqpBrokerConnectivity.AMQPBrokerConnectConfiguration;
import org.apache.activemq.artemis.core.config.amqpBrokerConnectivity.AMQPMirrorBrokerConnectionElement;
import org.apache.activemq.artemis.core.config.impl.ConfigurationImpl;
import org.apache.activemq.artemis.core.server.ActiveMQServer;
import org.apache.activemq.artemis.core.server.ActiveMQServers;
import org.apache.activemq.artemis.core.server.JournalType;

public class MirrorUnsynced {
    static final int MESSAGES = 100;
    static final long PAUSE_MS = 20;
    static final String QUEUE = "orders";

    @Name("Send")
    static class Send extends Event {
    }

    public static void main(String[] arguments) throws Exception {
        measure(false);
        measure(true);
        System.exit(0);  // the mirror still tries to connect
    }

    static void measure(boolean mirror) throws Exception {
        Path folder = Files.createTempDirectory("mirror-unsynced");
        ActiveMQServer broker = start(folder, mirror);
        Recording recording = new Recording();
        recording.enable("jdk.FileForce").withoutThreshold();
        recording.enable("Send").withoutThreshold();
        recording.start();
        send();
        recording.stop();
        recording.dump(folder.resolve("events.jfr"));
        broker.stop();

        List<RecordedEvent> events = RecordingFile.readAllEvents(folder.resolve("events.jfr"));
        List<RecordedEvent> sends = events.stream().filter(event -> event.getEventType().getName().equals("Send")).toList();
        List<RecordedEvent> syncs = events.stream().filter(event -> isJournal(event, folder)).toList();
        long synced = sends.stream().filter(send -> syncs.stream().anyMatch(sync -> isDuring(sync, send))).count();
        System.out.printf("Artemis %s %s a mirror: of %d confirmed sends, %d returned after a sync and %d without one; %d syncs%n",
                broker.getVersion().getFullVersion(), mirror ? "with" : "without", sends.size(), synced,
                sends.size() - synced, syncs.size());
    }

    static boolean isJournal(RecordedEvent event, Path folder) {
        return event.getEventType().getName().equals("jdk.FileForce")
                && event.getString("path").startsWith(folder.resolve("journal").toString());
    }

    static boolean isDuring(RecordedEvent sync, RecordedEvent send) {
        return !sync.getStartTime().isBefore(send.getStartTime()) && !sync.getEndTime().isAfter(send.getEndTime());
    }

    static ActiveMQServer start(Path folder, boolean mirror) throws Exception {
        ConfigurationImpl configuration = new ConfigurationImpl();
        configuration.setSecurityEnabled(false).setJournalType(JournalType.NIO);
        configuration.setJournalMinFiles(2).setJournalDirectory(folder.resolve("journal").toString());
        configuration.setBindingsDirectory(folder.resolve("bindings").toString());
        configuration.setPagingDirectory(folder.resolve("paging").toString());
        configuration.setLargeMessagesDirectory(folder.resolve("large").toString());
        configuration.addAcceptorConfiguration("in-vm", "vm://0");
        if (mirror) {
            var connection = new AMQPBrokerConnectConfiguration("mirror", "tcp://localhost:1");
            connection.addElement(new AMQPMirrorBrokerConnectionElement().setDurable(true));
            configuration.addAMQPConnection(connection.setReconnectAttempts(-1).setRetryInterval(1000));
        }
        ActiveMQServer broker = ActiveMQServers.newActiveMQServer(configuration, true);
        broker.start();
        broker.waitForActivation(60, java.util.concurrent.TimeUnit.SECONDS);
        return broker;
    }

    static void send() throws Exception {
        try (ServerLocator locator = ActiveMQClient.createServerLocator("vm://0").setBlockOnDurableSend(true);
             ClientSessionFactory factory = locator.createSessionFactory();
             ClientSession session = factory.createSession(true, true)) {
            session.createQueue(QueueConfiguration.of(QUEUE).setRoutingType(RoutingType.ANYCAST).setDurable(true));
            var producer = session.createProducer(QUEUE);
            for (int number = 0; number < MESSAGES; number++) {
                ClientMessage message = session.createMessage(true);
                message.getBodyBuffer().writeBytes(new byte[1000]);
                Send send = new Send();
                send.begin();
                producer.send(message);
                send.commit();
                Thread.sleep(PAUSE_MS);  // what the broker still writes is synced before the next send
            }
        }
    }
}
