"""Makes the durability table: messages that survive a kill or a power failure, by product, settings and topology."""
