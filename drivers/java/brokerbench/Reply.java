package brokerbench;

import javax.jms.Destination;

/** Where a reply goes, and which request it answers. `template`: its body, but for the number and the attempt. */
record Reply(Destination to, String correlationId, byte[] template) {}
