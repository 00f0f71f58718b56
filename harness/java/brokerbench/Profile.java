package brokerbench;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import jdk.jfr.consumer.RecordedClass;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedMethod;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordingFile;

/**
 * Prints a profile of one JVM's recordings as lines of tab-separated fields.
 *
 * <p>Arguments: the beginning and the end of the load in nanoseconds since the epoch, and the recordings, one for each
 * time that the JVM was started. Execution samples
 * and lock waits count if they began in between. Pauses of the garbage collector are printed for the whole recording.
 *
 * <pre>
 * pause   began_epoch_ns   duration_ns   cause
 * sample  method   nearest method of ActiveMQ, or empty   samples
 * lock    class of the lock   nearest method of ActiveMQ, or empty   waits   waited_ns
 * events  number of events
 * </pre>
 */
public final class Profile {
    private static final String ACTIVEMQ = "org.apache.activemq.";
    private static final long NS_PER_S = 1_000_000_000L;

    private final Instant from;
    private final Instant to;
    private final Map<String, long[]> samples = new HashMap<>();
    private final Map<String, long[]> locks = new HashMap<>();
    private final Map<Long, String> causes = new HashMap<>();
    private final List<RecordedEvent> pauses = new java.util.ArrayList<>();

    private Profile(Instant from, Instant to) {
        this.from = from;
        this.to = to;
    }

    public static void main(String[] arguments) throws Exception {
        Profile profile = new Profile(instant(arguments[0]), instant(arguments[1]));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        long events = 0;
        for (String file : List.of(arguments).subList(2, arguments.length)) {
            try (RecordingFile recording = new RecordingFile(Path.of(file))) {
                while (recording.hasMoreEvents()) {
                    profile.take(recording.readEvent());
                    events++;
                }
            }
            profile.printPauses(out); // their numbers begin again in the next recording
        }
        profile.print(out);
        out.println("events\t" + events);
        out.flush();
    }

    private static Instant instant(String epochNs) {
        long ns = Long.parseLong(epochNs);
        return Instant.ofEpochSecond(ns / NS_PER_S, ns % NS_PER_S);
    }

    private void take(RecordedEvent event) {
        switch (event.getEventType().getName()) {
            case "jdk.GCPhasePause" -> pauses.add(event);
            case "jdk.GarbageCollection" -> causes.put((long) event.getInt("gcId"), event.getString("cause"));
            case "jdk.ExecutionSample" -> sample(event);
            case "jdk.JavaMonitorEnter" -> lock(event, event.getClass("monitorClass"));
            case "jdk.ThreadPark" -> {
                RecordedClass parked = event.getClass("parkedClass");
                if (parked != null && parked.getName().contains("Lock$")) { // not an idle thread of a pool
                    lock(event, parked);
                }
            }
            default -> { }
        }
    }

    private boolean inLoad(RecordedEvent event) {
        return !event.getStartTime().isBefore(from) && event.getStartTime().isBefore(to);
    }

    private void sample(RecordedEvent event) {
        RecordedStackTrace stack = event.getStackTrace();
        if (inLoad(event) && stack != null && !stack.getFrames().isEmpty()) {
            String key = name(stack.getFrames().get(0).getMethod()) + "\t" + ofActiveMq(stack);
            samples.computeIfAbsent(key, any -> new long[1])[0]++;
        }
    }

    private void lock(RecordedEvent event, RecordedClass lockClass) {
        if (inLoad(event)) {
            String key = (lockClass == null ? "unknown" : lockClass.getName()) + "\t" + ofActiveMq(event.getStackTrace());
            long[] sum = locks.computeIfAbsent(key, any -> new long[2]);
            sum[0]++;
            sum[1] += event.getDuration().toNanos();
        }
    }

    private static String ofActiveMq(RecordedStackTrace stack) {
        if (stack != null) {
            for (RecordedFrame frame : stack.getFrames()) {
                RecordedMethod method = frame.getMethod();
                if (method.getType().getName().startsWith(ACTIVEMQ)) {
                    return name(method);
                }
            }
        }
        return "";
    }

    private static String name(RecordedMethod method) {
        return method.getType().getName() + "." + method.getName();
    }

    private void printPauses(PrintStream out) {
        pauses.sort(Comparator.comparing(RecordedEvent::getStartTime));
        for (RecordedEvent pause : pauses) {
            Instant began = pause.getStartTime();
            long epochNs = began.getEpochSecond() * NS_PER_S + began.getNano();
            String cause = causes.getOrDefault((long) pause.getInt("gcId"), "unknown");
            out.println("pause\t" + epochNs + "\t" + pause.getDuration().toNanos() + "\t" + cause);
        }
        pauses.clear();
        causes.clear();
    }

    private void print(PrintStream out) {
        samples.forEach((key, count) -> out.println("sample\t" + key + "\t" + count[0]));
        locks.forEach((key, sum) -> out.println("lock\t" + key + "\t" + sum[0] + "\t" + sum[1]));
    }
}
