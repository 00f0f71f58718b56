// Sends durable messages to a broker of its own, kills it (SIGKILL), starts it again, and counts confirmed messages that are gone.
//
//     java -cp "$ARTEMIS_HOME/lib/*" UnsyncedLoss.java ARTEMIS_HOME --mapped --no-fsync
//     java -cp "$ARTEMIS_HOME/lib/*" UnsyncedLoss.java ARTEMIS_HOME --nio --no-fsync
//     java -cp "$ARTEMIS_HOME/lib/*" UnsyncedLoss.java ARTEMIS_HOME --mapped
//
// The options after ARTEMIS_HOME are those of `artemis create`. Needs Java 17 and port 61716.
// A durable message counts as confirmed when ClientProducer.send has returned, which blocks until the broker has answered.

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import org.apache.activemq.artemis.api.core.QueueConfiguration;
import org.apache.activemq.artemis.api.core.RoutingType;
import org.apache.activemq.artemis.api.core.client.ActiveMQClient;
import org.apache.activemq.artemis.api.core.client.ClientMessage;
import org.apache.activemq.artemis.api.core.client.ClientSession;
import org.apache.activemq.artemis.api.core.client.ClientSessionFactory;
import org.apache.activemq.artemis.api.core.client.ServerLocator;

public class UnsyncedLoss {
    static final String URL = "tcp://localhost:61716?blockOnDurableSend=true&reconnectAttempts=0&callTimeout=5000";
    static final String QUEUE = "unsynced";
    static final int PRODUCERS = 4, SECONDS = 6;

    public static void main(String[] arguments) throws Exception {
        Path broker = Files.createTempDirectory("unsynced-loss").resolve("broker");
        List<String> create = new ArrayList<>(List.of(arguments[0] + "/bin/artemis", "create", broker.toString()));
        create.addAll(List.of("--silent", "--user", "u", "--password", "p", "--require-login", "--no-autotune"));
        create.addAll(List.of("--default-port", "61716", "--no-web", "--no-amqp-acceptor", "--no-hornetq-acceptor"));
        create.addAll(List.of("--no-mqtt-acceptor", "--no-stomp-acceptor"));
        create.addAll(List.of(arguments).subList(1, arguments.length));
        if (new ProcessBuilder(create).redirectOutput(ProcessBuilder.Redirect.DISCARD).start().waitFor() != 0) {
            throw new IllegalStateException("artemis create failed");
        }
        turnSyncsOff(broker.resolve("etc/broker.xml"), create.contains("--no-fsync"));

        Process running = start(broker);
        Map<Long, Long> confirmed = new ConcurrentSkipListMap<>();  // id: when it was confirmed, in ns
        List<Thread> producers = new ArrayList<>();
        for (int number = 0; number < PRODUCERS; number++) {
            long first = number * 1_000_000_000L;
            producers.add(new Thread(() -> send(first, confirmed)));
        }
        producers.forEach(Thread::start);
        Thread.sleep(SECONDS * 1000L);
        long killed = kill(running);
        for (Thread producer : producers) {
            producer.join();
        }

        Process again = start(broker);
        Map<Long, Long> lost = new TreeMap<>(confirmed);
        long received = receiveAll(lost);
        kill(again);
        long oldest = lost.values().stream().mapToLong(at -> killed - at).max().orElse(0);
        System.out.printf("confirmed %d, received %d, confirmed and gone %d, the oldest confirmed %.0f ms before the kill%n",
                confirmed.size(), received, lost.size(), oldest / 1e6);
        System.exit(lost.isEmpty() ? 0 : 1);
    }

    /** `artemis create --no-fsync` writes journal-datasync=false only. */
    static void turnSyncsOff(Path xml, boolean off) throws Exception {
        if (off) {
            String settings = "<journal-sync-transactional>false</journal-sync-transactional>"
                    + "<journal-sync-non-transactional>false</journal-sync-non-transactional>";
            String text = Files.readString(xml);
            Files.writeString(xml, text.replace("<journal-directory>", settings + "<journal-directory>"));
        }
    }

    static Process start(Path broker) throws Exception {
        File log = broker.resolve("out.log").toFile();
        Process process = new ProcessBuilder(broker + "/bin/artemis", "run")
                .redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.appendTo(log)).start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> kill(process)));
        for (int tries = 0; tries < 600; tries++) {
            try (ServerLocator locator = ActiveMQClient.createServerLocator(URL)) {
                locator.createSessionFactory().close();
                return process;
            } catch (Exception notYet) {
                Thread.sleep(200);
            }
        }
        throw new IllegalStateException("the broker did not start: see " + log);
    }

    /** SIGKILL; returns when it was sent, in ns. The script of the broker replaces itself by Java, or has it as its child. */
    static long kill(Process process) {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
        long killed = System.nanoTime();
        try {
            process.waitFor();
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
        return killed;
    }

    static void send(long first, Map<Long, Long> confirmed) {
        try (ServerLocator locator = ActiveMQClient.createServerLocator(URL);
             ClientSessionFactory factory = locator.createSessionFactory();
             ClientSession session = factory.createSession("u", "p", false, true, true, false, 0)) {
            if (first == 0) {
                session.createQueue(QueueConfiguration.of(QUEUE).setRoutingType(RoutingType.ANYCAST).setDurable(true));
            } else {
                Thread.sleep(1000);
            }
            var producer = session.createProducer(QUEUE);
            for (long id = first; ; id++) {
                ClientMessage message = session.createMessage(true);
                message.getBodyBuffer().writeLong(id);
                message.getBodyBuffer().writeBytes(new byte[1000]);
                producer.send(message);
                confirmed.put(id, System.nanoTime());
            }
        } catch (Exception theBrokerIsGone) {
            // the message in flight is in doubt, and does not count
        }
    }

    static long receiveAll(Map<Long, Long> lost) throws Exception {
        long received = 0;
        try (ServerLocator locator = ActiveMQClient.createServerLocator(URL);
             ClientSessionFactory factory = locator.createSessionFactory();
             ClientSession session = factory.createSession("u", "p", false, true, true, false, 0)) {
            session.start();
            var consumer = session.createConsumer(QUEUE);
            for (ClientMessage message; (message = consumer.receive(3000)) != null; received++) {
                lost.remove(message.getBodyBuffer().readLong());
                message.acknowledge();
            }
        }
        return received;
    }
}
