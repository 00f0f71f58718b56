package brokerbench;

/** One message that a library held back until it was connected to another broker, which went before its answer. */
public final class Held {
    private Held() {}

    public static void send(LoadClient client, int broker) {
        var settings = new ProducerSettings(true, true, 1, 0, new byte[Identity.BYTES], MessageHeaders.PLAIN);
        var task = new Task(null, null, 1, 2, settings);
        var send = new ScheduledSend(new Fleeting.Mute(client, task), 0L, System.nanoTime(), 0L, 0L, false, null);
        send.writing("first.example:1");
        send.writtenTo(broker);
        send.giveUp();
    }
}
